// Retries that keep away from the workers at which they failed (`avoid_worker`): while there is
// another that could take them they wait for that one. Not durable: a coordinator that is started
// anew has forgotten which those were. Called by `apply` and by the choice of a worker.

import OpClusterModel

extension Scheduler {
  /// Those of a pass at which an operation has not failed; all of them, where no other could take
  /// it before long, or too many wait already. Looks at workers until it finds one that could.
  func workers(_ candidates: [UInt32], notAvoidedBy id: OperationID) -> [UInt32] {
    guard !graphs[id.graph.number].avoided.isEmpty,
      let avoided = graphs[id.graph.number].avoided[id.index]
    else { return candidates }
    // Others of the pass may be full, or too small for it.
    let mayWait = doubtful.count < Limits.operationsAvoiding
    guard mayWait, isAnyAble(id, besides: avoided) else { return candidates }
    return candidates.filter { !avoided.contains($0) }
  }

  /// Why an operation in line waits though there is room; nil where it avoids nobody.
  func avoidanceLine(_ id: OperationID) -> String? {
    guard let avoided = graphs[id.graph.number].avoided[id.index] else { return nil }
    let names = avoided.compactMap { workers.find($0)?.name }
    guard !names.isEmpty, isAnyAble(id, besides: avoided) else { return nil }
    return "avoid_worker: it waits for another worker than \(names.joined(separator: ", ")), where "
      + "it failed"
  }
}

extension ClusterState {
  /// An attempt has failed, and another follows.
  mutating func noteAvoided(
    _ id: OperationID, _ cell: OperationCell, _ stage: Int, after cause: FailureCause,
    into turn: Turn
  ) {
    let graph = id.graph.number
    guard graphs[graph].stages[stage].template.retry.avoidsWorker, !turn.isReplay,
      cell.worker != 0, cause != .workerStopped
    else { return }
    var avoided = graphs[graph].avoided[id.index] ?? []
    avoided.removeAll { $0 == cell.worker || !workers.contains($0) }
    if avoided.count >= Limits.workersAvoided { avoided.removeFirst() }
    avoided.append(cell.worker)
    graphs[graph].avoided[id.index] = avoided
  }
}
