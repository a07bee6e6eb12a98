// The deferral of a request whose answer depends on what workers return.

import OpClusterModel

extension Scheduler {
  /// Recalls the operations that a request needs, and pins the ones that it may change until it is
  /// decided.
  mutating func deferRequest(
    _ asker: Asker, awaiting: [OperationID], pinning: [OperationRuns],
    _ action: DeferredRequest.Action, into turn: inout SchedulingTurn
  ) {
    state.pin(pinning)
    for id in awaiting { state.askRecall(id, into: &turn) }
    deferred.append(DeferredRequest(asker: asker, awaiting: awaiting, action: action))
  }
}
