// Admits operations to a queue: declared ones (S25, S28), and ones that come from another queue.

import OpClusterModel

extension Scheduler {
  mutating func enqueue(
    _ operations: [OperationID], _ name: String, into turn: inout SchedulingTurn
  ) throws(Refusal) -> ClientReply {
    let queue = try queue(named: name)
    guard operations.count <= Limits.operationsPerTarget else {
      throw Refusal(
        .limitExceeded, "more than \(Limits.operationsPerTarget) operations at once",
        hint: "enqueue them in several steps")
    }
    var seen: Set<OperationID> = []
    for id in operations {
      let cell = try state.liveCell(id)
      if !seen.insert(id).inserted || cell.phase != .declared {
        let isOver = cell.phase == .finished
        throw Refusal(
          isOver ? .alreadyFinished : .alreadyEnqueued,
          "operation \(state.shown(id)) has \(isOver ? "finished" : "been enqueued already")",
          operations: [id])
      }
    }
    try checkEntering(operations, queue)
    if operations.isEmpty { return .done(lastCommit) }
    commit(.enqueued(operations, queue), into: &turn)
    return .done(turn.commit)
  }

  /// Refuses operations that a queue cannot take: a graph's own queue takes only that graph's
  /// operations, and no entry may close a cycle. Each entry waits behind the last barrier of the
  /// queue, and a barrier waits for all members before it (S33).
  func checkEntering(_ operations: [OperationID], _ queue: QueueID) throws(Refusal) {
    let number = queue.number
    if let owner = queues[number].owner, operations.contains(where: { $0.graph != owner }) {
      throw Refusal(
        .badRequest,
        "queue \(queues[number].settings.name) belongs to graph \(owner.number) and goes with it")
    }
    if operations.contains(where: { isBarrierByTemplate($0) }) {
      try checkBarriers(operations, queue)
    } else if let barrier = queues[number].lastBarrier {
      // The operations before the barrier are searched once for all entries.
      let before = state.everythingBefore(barrier)
      if let stuck = operations.first(where: { before.contains($0) }) {
        try refuseCycle(state.cycle(ifWaiting: stuck, on: barrier), stuck, barrier)
      }
    }
  }

  /// Checks the operations one after the other on a copy of the state, since each changes the
  /// conditions of the next.
  private func checkBarriers(
    _ operations: [OperationID], _ queue: QueueID
  ) throws(Refusal) {
    var trial = state
    var turn = SchedulingTurn()
    turn.isReplay = true
    for id in operations {
      let barrier = trial.queues[queue.number].lastBarrier.map { [$0] } ?? []
      let before = isBarrierByTemplate(id) ? allMembers(of: queue, in: trial) + barrier : barrier
      for on in before {
        try refuseCycle(trial.cycle(ifWaiting: id, on: on), id, on)
      }
      if trial.graphs[id.graph.number].cell(id.index).phase == .declared {
        trial.enqueue(id, in: queue, into: &turn)
      } else {
        trial.moveToQueue(id, queue, into: &turn)
      }
    }
  }

  private func refuseCycle(
    _ path: [OperationID]?, _ id: OperationID, _ on: OperationID
  ) throws(Refusal) {
    guard let path else { return }
    throw Refusal(
      .cycle,
      "\(state.shown(id)) would wait for \(state.shown(on)) in its queue, which waits for it",
      operations: path)
  }

  private func isBarrierByTemplate(_ id: OperationID) -> Bool {
    let graph = id.graph.number
    return graphs[graph].stages[graphs[graph].stageNumber(of: id.index)].template.isBarrier
  }

  private func allMembers(of queue: QueueID, in state: ClusterState) -> [OperationID] {
    var found: [OperationID] = []
    for runs in state.members(of: queue) { runs.forEachOperation { found.append($0) } }
    return found
  }
}
