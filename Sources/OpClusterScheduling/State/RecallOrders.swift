// Orders to workers to return what they have not begun, or to forget it. Neither is a fact.

import OpClusterModel

extension ClusterState {
  /// Asks its worker to return an unstarted attempt; it answers `recalled` or reports the start.
  mutating func askRecall(_ id: OperationID, into turn: inout SchedulingTurn) {
    let graph = id.graph.number
    let cell = graphs[graph].cell(id.index)
    guard cell.isAssigned, !cell.flags.contains(.recalling), workers.contains(cell.worker)
    else { return }
    graphs[graph].update(id.index) { $0.flags.insert(.recalling) }
    let at = turn.orders(for: WorkerID(cell.worker))
    turn.orders[at].orders.recalls.append(AttemptID(operation: id, attempt: cell.attempt))
  }

  func isRecalling(_ id: OperationID) -> Bool {
    graphs.contains(id.graph.number)
      && graphs[id.graph.number].cell(id.index).flags.contains(.recalling)
  }

  /// Tells the worker to forget an attempt that has become impossible.
  mutating func dropAtWorker(
    _ id: OperationID, _ cell: OperationCell, into turn: inout SchedulingTurn
  ) {
    guard cell.worker != 0, workers.contains(cell.worker), !turn.isReplay else { return }
    let at = turn.orders(for: WorkerID(cell.worker))
    turn.orders[at].orders.stale.append(AttemptID(operation: id, attempt: cell.attempt))
  }

  /// Recalls the dependents that were sent ahead for this operation.
  mutating func recallAhead(of id: OperationID, into turn: inout SchedulingTurn) {
    for dependent in aheadDependents(of: id) { askRecall(dependent, into: &turn) }
  }

  /// Whether a dependent of this operation was sent ahead of time.
  func isAwaitedAhead(_ id: OperationID) -> Bool {
    let graph = id.graph.number
    return graphs[graph].dependents.range(of: id.index).contains { position in
      let index = graphs[graph].dependents[position].index
      let cell = graphs[graph].cell(index)
      return cell.flags.contains(.ahead) && cell.phase == .dispatched
    }
  }

  /// The dependents of this operation that were sent ahead of time.
  func aheadDependents(of id: OperationID) -> [OperationID] {
    let graph = id.graph.number
    var found: [OperationID] = []
    for position in graphs[graph].dependents.range(of: id.index) {
      let index = graphs[graph].dependents[position].index
      let cell = graphs[graph].cell(index)
      if cell.flags.contains(.ahead), cell.phase == .dispatched {
        found.append(graphs[graph].operation(index))
      }
    }
    return found
  }
}
