// Retries that avoid the workers where they failed (`avoid_worker`): while another worker could
// take them, they wait for it. Not durable: a restarted coordinator has forgotten the avoided
// workers. Used by the choice of a worker and by
// explanations.

import OpClusterModel

extension Scheduler {
  /// The workers of a pass where an operation has not failed; all of them if no other worker could
  /// take it soon, or if too many operations wait already. Visits workers until it finds one that
  /// could.
  func workers(
    _ candidates: [UInt32], besides avoided: [UInt32], notAvoidedBy id: OperationID
  ) -> [UInt32] {
    if avoided.isEmpty { return candidates }
    // Other workers of the pass may be full, or too small for it.
    let mayWait = doubtful.count < Limits.operationsAvoiding
    guard mayWait, isAnyAble(id, besides: avoided) else { return candidates }
    return candidates.filter { !avoided.contains($0) }
  }

  /// The reason why an operation in line waits despite free room; nil if it avoids no worker.
  func avoidanceLine(_ id: OperationID) -> String? {
    guard let avoided = graphs[id.graph.number].avoided[id.index] else { return nil }
    let names = avoided.compactMap { workers.find($0)?.name }
    guard !names.isEmpty, isAnyAble(id, besides: avoided) else { return nil }
    return "avoid_worker: it waits for another worker than \(names.joined(separator: ", ")), where "
      + "it failed"
  }
}
