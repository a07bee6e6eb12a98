// Admits operations to a queue: declared ones (S25, S28), and ones that come from another queue.

import DequeModule
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
  ///
  /// Costs the graphs; with barriers the operations, and what `ClusterState.cycle` costs.
  func checkEntering(_ members: [OperationRuns], _ queue: QueueID) throws(Refusal) {
    try checkOwner(of: queue, members.lazy.map(\.graph))
    guard queues[queue.number].hasBarriers || state.hasBarrier(members) else { return }
    var operations: [OperationID] = []
    for runs in members { runs.forEachOperation { operations.append($0) } }
    try checkEntering(operations, queue)
  }

  private func checkOwner(
    of queue: QueueID, _ graphs: some Sequence<GraphID>
  ) throws(Refusal) {
    guard let owner = queues[queue.number].owner, graphs.contains(where: { $0 != owner }) else {
      return
    }
    let name = queues[queue.number].settings.name
    throw Refusal(
      .badRequest, "queue \(name) belongs to graph \(owner.number) and goes with it")
  }

  private func checkEntering(_ operations: [OperationID], _ queue: QueueID) throws(Refusal) {
    try checkOwner(of: queue, operations.lazy.map(\.graph))
    var steps = 0
    if let cycle = state.cycle(ifEntering: operations, queue, &steps) {
      let (id, on) = (state.shown(cycle[0]), state.shown(cycle[cycle.count - 2]))
      throw Refusal(
        .cycle, "\(id) would wait for \(on) in its queue, which waits for it", operations: cycle)
    }
  }
}

extension ClusterState {
  /// The cycle that operations would close by entering a queue in this order, from one of them
  /// through its dependents back to itself; nil if there is none.
  ///
  /// Within the queue, each operation waits for what has a lower level. A new cycle therefore
  /// contains an operation that enters and is waited for by something of a lower level, without the
  /// queue's new waits. One search, which begins with the highest level, finds it: what it has
  /// reached from there need not be reached again from a lower level. It costs a step for each
  /// operation that enters, and what `DependentSearch` costs for all that waits for them.
  ///
  /// - Parameter steps: Counts the visited operations, edges, stages and members.
  func cycle(
    ifEntering operations: [OperationID], _ queue: QueueID, _ steps: inout Int
  ) -> [OperationID]? {
    if !queues[queue.number].hasBarriers, !operations.contains(where: { isBarrier($0) }) {
      return nil
    }
    steps += operations.count
    let entry = EntryOrder(of: operations, into: queue, self)
    var search = DependentSearch(self) { entry.contains($0) }
    defer { steps += search.steps }
    for id in operations.reversed() {
      guard let level = entry.level(of: id, self), level > 0 else { break }
      search.begin(at: id)
      while let (reached, place) = search.next() {
        if let lower = entry.level(of: reached, self), lower < level {
          return search.path(to: place) + entry.path(from: reached, to: id)
        }
      }
    }
    return nil
  }

  /// Whether one of these is a barrier. Costs the runs and the stages that they touch.
  fileprivate func hasBarrier(_ members: [OperationRuns]) -> Bool {
    members.contains { runs in
      let graph = runs.graph.number
      return (0..<runs.runCount).contains { at in
        var rest = runs.run(at)
        while let first = rest.first {
          let stage = graphs[graph].stageNumber(of: first)
          if graphs[graph].stages[stage].template.isBarrier { return true }
          let end = graphs[graph].stages[stage].indices.upperBound
          rest = min(end, rest.upperBound)..<rest.upperBound
        }
        return false
      }
    }
  }

  fileprivate func isBarrier(_ id: OperationID) -> Bool {
    let graph = id.graph.number
    return graphs[graph].stages[graphs[graph].stageNumber(of: id.index)].template.isBarrier
  }
}

/// Operations on their way into a queue, in order.
private struct EntryOrder {
  private struct Place {
    var standing: QueueStanding
    /// The last barrier before it.
    var barrier: OperationID?
  }

  private let queue: UInt32
  /// Looked up, never iterated.
  private var places: [OperationID: Place] = [:]

  init(of operations: [OperationID], into queue: QueueID, _ state: ClusterState) {
    self.queue = queue.number
    var segment = state.queues[queue.number].segments.count - 1
    var last = state.queues[queue.number].lastBarrier
    for id in operations {
      let isBarrier = state.isBarrier(id)
      let standing = QueueStanding(queue: queue.number, segment: segment, isBarrier: isBarrier)
      places[id] = Place(standing: standing, barrier: last)
      if isBarrier { (segment, last) = (segment + 1, id) }
    }
  }

  func contains(_ id: OperationID) -> Bool { places[id] != nil }

  /// The level of an operation that enters the queue, or is in it; nil: neither.
  func level(of id: OperationID, _ state: ClusterState) -> Int? {
    if let place = places[id] { return place.standing.level }
    let stage = state.graphs[id.graph.number].stageNumber(of: id.index)
    guard let standing = state.standing(of: id, stage), standing.queue == queue else { return nil }
    return standing.level
  }

  /// The way from something of a lower level to an operation that enters: through the barrier
  /// between them, unless one of them is the barrier.
  func path(from lower: OperationID, to id: OperationID) -> [OperationID] {
    guard let place = places[id], !place.standing.isBarrier, let barrier = place.barrier,
      barrier != lower
    else { return [id] }
    return [barrier, id]
  }
}
