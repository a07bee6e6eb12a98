// Cancellation: sets a flag on every member in one commit, whatever graph it is of, then lets each
// member proceed as far as it can (S87 to S103).

import OpClusterModel

extension ClusterState {
  /// Marks the members of all graphs first, then evaluates them (S96): else the end of one would
  /// skip another that depends on it. A step for each member, and what its end costs.
  mutating func cancel(
    _ members: [OperationRuns], _ reason: CancelReason, into turn: inout SchedulingTurn
  ) {
    var marked: [OperationID] = []
    for runs in members where graphs.contains(runs.graph.number) {
      // Not for a part of the graph: it may have stopped while the graph goes on.
      if reason == .failurePolicy, graphs[runs.graph.number].failsAsAWhole {
        graphs[runs.graph.number].failurePolicyTookEffect = true
      }
      runs.forEachOperation { id in
        if markCancelled(id, reason, into: &turn) { marked.append(id) }
      }
    }
    for id in marked { endCancelled(id, into: &turn) }
  }

  /// Sets isCancelled; false if it is already set or the operation has ended (S88, S89).
  private mutating func markCancelled(
    _ id: OperationID, _ reason: CancelReason, into turn: inout SchedulingTurn
  ) -> Bool {
    let graph = id.graph.number
    let cell = graphs[graph].cell(id.index)
    if cell.phase == .finished || cell.isCancelled { return false }
    let stage = graphs[graph].stageNumber(of: id.index)
    let wasReady = isReady(id, stage)
    let (before, after) = graphs[graph].update(id.index) { cell in
      let before = cell.word
      cell.flags.insert(.cancelled)
      return (before, cell.word)
    }
    count(id, stage, from: before, to: after)
    graphs[graph].noteReason(reason, of: id.index)
    emit(.isCancelled(reason), id, into: &turn)
    openGateOfCancelled(id, stage, into: &turn)
    if !wasReady { emit(.isReady(true), id, into: &turn) }
    return true
  }

  /// The isReady flag that observers see (S42, S43, S45).
  func isReady(_ id: OperationID, _ stage: Int) -> Bool {
    let graph = id.graph.number
    let cell = graphs[graph].cell(id.index)
    if cell.isCancelled { return true }
    return switch cell.phase {
    case .declared: cell.blockers == 0 && graphs[graph].stages[stage].gates == 0 && !cell.isHeld
    case .waiting: false
    case .dispatched: !cell.flags.contains(.ahead)
    case .ready, .executing, .finished: true
    }
  }

  /// Finishes a cancelled operation that no worker has, unless its queue is suspended (S69, S75).
  mutating func endCancelled(_ id: OperationID, into turn: inout SchedulingTurn) {
    let graph = id.graph.number
    let cell = graphs[graph].cell(id.index)
    switch cell.phase {
    case .finished: return
    case .dispatched: return
    case .executing:
      if cell.worker == 0 { end(id, .cancelled, into: &turn) }
    case .declared:
      end(id, .cancelled, into: &turn)
    case .waiting, .ready:
      let stage = graphs[graph].stageNumber(of: id.index)
      let queue = graphs[graph].queue(of: id.index, stage: stage).number
      if queues[queue].isRunning {
        end(id, .cancelled, into: &turn)
      } else {
        queues[queue].cancelledMembers.append(id)
      }
    }
  }

  /// Finishes the operations that were cancelled while the queue was suspended.
  mutating func endCancelledMembers(_ queue: UInt32, into turn: inout SchedulingTurn) {
    // Sorted, so that a restored state uses the same order: an end may be another's reason.
    let members = queues[queue].cancelledMembers.sorted()
    queues[queue].cancelledMembers = []
    for id in members where graphs.contains(id.graph.number) {
      endCancelled(id, into: &turn)
    }
  }
}
