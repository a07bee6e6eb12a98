// The data about an attempt that exist only while a worker has it: its latest progress, and the
// target that it waits for. Not durable.

import OpClusterModel

extension Scheduler {
  /// Stores the latest progress of a running attempt.
  mutating func noteProgress(of id: OperationID, _ fraction: Double, _ text: String) {
    let cell = graphs[id.graph.number].cell(id.index)
    guard cell.phase == .executing, !cell.isAssigned else { return }
    progress[id] = OperationRow.Progress(
      fraction: fraction.isNaN ? 0 : min(max(fraction, 0), 1),
      // Kept for each running attempt, so that it is bounded here, whatever a worker sends.
      text: text.prefix(bytes: Limits.reasonBytes))
  }

  /// Forgets an attempt that has left its worker. Both tables are mostly empty, and this is called
  /// for every attempt.
  mutating func forgetAttempt(of id: OperationID) {
    if !progress.isEmpty { progress[id] = nil }
    if !waits.isEmpty { waits[id] = nil }
  }

  // MARK: - Waits (S141, S142)

  /// Allows an operation to wait, unless the wait could never end. The answer is decided once, from
  /// the state of this moment. The search may visit all that the targets wait for, in whatever
  /// graph.
  mutating func beginWait(
    _ waiter: OperationID, _ target: WaitTarget
  ) throws(Refusal) -> ClientReply {
    // An assigned operation may have begun before its report arrives.
    guard try state.liveCell(waiter).worker != 0 else {
      throw Refusal(
        .notReady, "operation \(state.shown(waiter)) is not executing: only what runs can wait",
        operations: [waiter])
    }
    let own = queue(of: waiter)
    var first: [OperationID] = []
    switch target {
    case .operations(let wanted):
      if wanted.count > Limits.operationsPerTarget {
        throw Refusal(
          .limitExceeded, "a wait for more than \(Limits.operationsPerTarget) operations",
          hint: "wait for them in several parts, or for their queue")
      }
      for id in wanted where try isPending(id) { first.append(id) }
    case .queue(let name):
      let queue = try queue(named: name)
      if queue == own {
        throw Refusal(
          .wouldDeadlock,
          "\(state.shown(waiter)) is in queue \(name) itself, which is not empty before it has "
            + "ended",
          hint: "wait for the operations that are meant, or put them into another queue",
          operations: [waiter])
      }
      first = state.members(of: queue).flatMap(\.operations)
    }
    try check(waiter, in: own, waitingFor: first)
    waits[waiter] = target
    return .effect(true)
  }

  /// Ends a wait; false if there was none.
  mutating func endWait(_ waiter: OperationID) -> ClientReply {
    .effect(waits.removeValue(forKey: waiter) != nil)
  }

  private func queue(of id: OperationID) -> QueueID {
    let graph = graphs[id.graph.number]
    return graph.queue(of: id.index, stage: graph.stageNumber(of: id.index))
  }

  /// Whether an operation of a wait has not ended; an operation of a forgotten graph has ended.
  private func isPending(_ id: OperationID) throws(Refusal) -> Bool {
    if graphs.contains(id.graph.number) {
      guard id.index < graphs[id.graph.number].operationCount else {
        throw Refusal(
          .unknownOperation, "there is no operation \(state.shown(id))", operations: [id])
      }
      return graphs[id.graph.number].cell(id.index).phase != .finished
    }
    guard id.graph.number > 0, id.graph.number <= counters.lastGraph else {
      throw Refusal(.unknownOperation, "there is no operation \(state.shown(id))", operations: [id])
    }
    return false
  }

  /// Refuses a wait for its own end, and one for something that needs a slot which only waiting
  /// operations hold (S142).
  private func check(
    _ waiter: OperationID, in own: QueueID, waitingFor first: [OperationID]
  ) throws(Refusal) {
    var search = WaitSearch(self, first)
    var unstarted: OperationID?
    while let id = search.next() {
      if id == waiter { throw deadlock(waiter, search.path(to: id)) }
      if unstarted == nil, queue(of: id) == own,
        graphs[id.graph.number].cell(id.index).worker == 0
      {
        unstarted = id
      }
    }
    // Limit 0 suspends the queue (S65), and the queue may resume.
    guard let unstarted, let limit = queues[own.number].settings.maximumConcurrent, limit > 0
    else { return }
    // Visits all waits, only in a queue with a limit whose members the waiter waits for. The order
    // does not matter to the count.
    let others = waits.keys.lazy.filter { $0 != waiter && graphs.contains($0.graph.number) }
    let waiting = others.count { queue(of: $0) == own } + 1
    guard waiting >= Int(limit) else { return }
    let name = queues[own.number].settings.name
    throw Refusal(
      .wouldStarve,
      "all \(limit) that queue \(name) runs at once would wait, and \(state.shown(unstarted)), for "
        + "which \(state.shown(waiter)) would wait, could never start in it",
      hint: .raiseLimit(queue: name, limit: limit.saturatingAdd(1)),
      operations: [unstarted])
  }

  private func deadlock(_ waiter: OperationID, _ path: [OperationID]) -> Refusal {
    let hint: Advice =
      "wait for something that does not need its end, or let an operation after it do the rest"
    if path.count == 1 {
      return Refusal(
        .wouldDeadlock, "\(state.shown(waiter)) would wait for its own end", hint: hint,
        operations: path)
    }
    let names = ShownPath.text(count: path.count, separator: ", which waits for ") {
      state.shown(path[$0])
    }
    return Refusal(
      .wouldDeadlock, "\(state.shown(waiter)) would wait for \(names)", hint: hint, operations: path
    )
  }
}

/// Every operation that the given ones wait for, directly or indirectly, including themselves:
/// through dependencies, whole stages, barriers, and the waits of executing ones. A depth-first
/// walk that takes each operation once; stages are expanded once, since their elements would each
/// add all elements of the stage before.
private struct WaitSearch {
  private let scheduler: Scheduler
  private var work: [OperationID]
  private var seen: Set<OperationID> = []
  /// Each stage and queue is expanded once.
  private var seenStages: Set<StagePlace> = []
  private var dependentOf: [OperationID: OperationID] = [:]

  private struct StagePlace: Hashable {
    var graph: UInt32
    var stage: Int
  }

  init(_ scheduler: Scheduler, _ first: [OperationID]) {
    self.scheduler = scheduler
    work = first.reversed()
    seen = Set(first)
  }

  mutating func next() -> OperationID? {
    guard let id = work.popLast() else { return nil }
    expand(id)
    return id
  }

  /// The path from one of the first operations to `id`, each waiting for the next.
  func path(to id: OperationID) -> [OperationID] {
    var path = [id]
    while let next = dependentOf[path[path.count - 1]] { path.append(next) }
    return path.reversed()
  }

  /// Adds what an operation waits for. One that executes waits for nothing but its own wait: its
  /// dependencies are over.
  private mutating func expand(_ id: OperationID) {
    let graph = scheduler.graphs[id.graph.number]
    let stage = graph.stageNumber(of: id.index)
    if graph.cell(id.index).phase == .executing { return expandWait(of: id) }
    var found: [OperationID] = []
    graph.forEachDependency(of: id.index) { on, _ in
      if scheduler.state.knownEnding(of: on) == nil { found.append(on) }
    }
    for edge in graph.stages[stage].incoming
    where edge.match == .all
      && seenStages.insert(StagePlace(graph: id.graph.number, stage: edge.stage)).inserted
    {
      found += graph.stages[edge.stage].indices.lazy
        .filter { graph.cell($0).phase != .finished }.map { graph.operation($0) }
    }
    found += scheduler.state.barriersBefore(id, stage)
    for on in found { add(on, because: id) }
  }

  private mutating func expandWait(of id: OperationID) {
    switch scheduler.waits[id] {
    case .operations(let wanted)?:
      for on in wanted
      where scheduler.graphs.contains(on.graph.number) && scheduler.state.knownEnding(of: on) == nil
      {
        add(on, because: id)
      }
    case .queue(let name)?:
      guard let queue = scheduler.queueByName[name] else { return }
      for on in scheduler.state.members(of: queue).flatMap(\.operations) { add(on, because: id) }
    case nil: break
    }
  }

  private mutating func add(_ on: OperationID, because id: OperationID) {
    guard seen.insert(on).inserted else { return }
    dependentOf[on] = id
    work.append(on)
  }
}

extension OperationRuns {
  /// The operations as a list.
  fileprivate var operations: [OperationID] {
    var found: [OperationID] = []
    found.reserveCapacity(operationCount)
    forEachOperation { found.append($0) }
    return found
  }
}

extension String {
  /// The longest prefix within this number of UTF-8 bytes that does not break a character.
  fileprivate func prefix(bytes limit: Int) -> String {
    if utf8.count <= limit { return self }
    var kept = ""
    var used = 0
    for character in self {
      used += character.utf8.count
      if used > limit { break }
      kept.append(character)
    }
    return kept
  }
}
