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

  /// Begins a request in parts. Few together, since each holds what is left; fewer of one key that
  /// may change its own graphs alone, so that it does not keep the others from asking.
  mutating func deferInParts(
    _ asker: Asker, _ action: DeferredRequest.Action
  ) throws(Refusal) {
    let isOwn = asker.mayChange != .allGraphs
    let ofKey = deferred.count { $0.action.hasParts && $0.asker.mayChange == asker.mayChange }
    if requestsInParts >= Limits.requestsInParts
      || (isOwn && ofKey >= Limits.requestsInPartsPerKey)
    {
      throw Refusal(
        .busy, "\(requestsInParts) changes of many operations are under way", hint: "ask again",
        retryAfter: .seconds(1))
    }
    requestsInParts += 1
    deferred.append(DeferredRequest(asker: asker, awaiting: [], action: action))
  }

  /// The unstarted ones and the running ones of operations that workers have.
  func byStart(_ operations: [OperationID]) -> (
    assigned: [OperationID], running: [OperationID]
  ) {
    var (assigned, running): ([OperationID], [OperationID]) = ([], [])
    for id in operations {
      let isAssigned = graphs[id.graph.number].cell(id.index).isAssigned
      if isAssigned { assigned.append(id) } else { running.append(id) }
    }
    return (assigned, running)
  }

  /// Answers a suspension once the recalls are answered.
  mutating func answerSuspension(
    _ asker: Asker, _ assigned: [OperationID], _ running: [OperationID]
  ) {
    deferred.append(
      DeferredRequest(
        asker: asker, awaiting: assigned.filter { state.isRecalling($0) },
        action: .answerSuspended(assigned + running)))
  }
}
