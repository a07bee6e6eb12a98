// Which living graphs and operations a selection means. Graphs that ended are found by the body in
// the history.

public import OpClusterModel

extension Scheduler {
  /// Living graphs of a selection, by number.
  public func livingGraphs(_ selection: Selection) -> [GraphID] {
    let numbers: [UInt32] =
      switch selection.graphs {
      case .all, .active: graphs.numbers
      case .last(let back):
        counters.lastGraph > back && graphs.contains(counters.lastGraph - back)
          ? [counters.lastGraph - back] : []
      case .numbers(let named): living(among: named)
      }
    return numbers.map { GraphID($0) }.filter { id in
      selection.labels.allSatisfy { graphs[id.number].submission.labels.contains($0) }
        || selection.labels.allSatisfy { label in
          graphs[id.number].stages.contains { $0.template.labels.contains(label) }
        }
    }
  }

  /// Few numbers are looked up; else the living graphs are gone through once.
  private func living(among named: [Selection.ClosedRangeOfGraphs]) -> [UInt32] {
    let wanted = NumberRanges(
      named.filter { $0.first <= $0.last }.map { $0.first.number...$0.last.number })
    let span = wanted.ranges.reduce(0) { $0 + $1.count }
    if span > graphs.count { return graphs.numbers.filter { wanted.contains($0) } }
    return wanted.ranges.flatMap { $0.filter { graphs.contains($0) } }
  }

  /// The number that `last~back` means; nil before there is one.
  public func lastGraph(back: UInt32) -> GraphID? {
    counters.lastGraph > back ? GraphID(counters.lastGraph - back) : nil
  }

  func resolveGraphs(_ selection: Selection) throws(Refusal) -> [GraphID] {
    let chosen = livingGraphs(selection)
    if !chosen.isEmpty { return chosen }
    throw nothing(selection)
  }

  private func nothing(_ selection: Selection) -> Refusal {
    if case .numbers(let ranges) = selection.graphs, ranges.count == 1,
      ranges[0].first == ranges[0].last, ranges[0].first.number <= counters.lastGraph,
      ranges[0].first.number > 0
    {
      return Refusal(
        .alreadyFinished, "graph \(ranges[0].first.number) has ended")
    }
    return Refusal(.unknownGraph, "no living graph matches", hint: "see them with: opbatch ls -a")
  }

  /// Operations of a selection, by graph and ascending.
  func resolve(_ selection: Selection) throws(Refusal) -> [OperationRuns] {
    let wanted = WantedOperations(selection)
    var chosen: [OperationRuns] = []
    for id in try resolveGraphs(selection) {
      var runs = OperationRuns(graph: id)
      forEachOperation(of: id, wanted) { index in
        runs.append(index)
        return true
      }
      if !runs.isEmpty { chosen.append(runs) }
    }
    if chosen.isEmpty { throw Self.noOperation }
    return chosen
  }

  /// The first operations of a selection behind one of them, and whether there are more; looks no
  /// further than that.
  func firstOperations(
    _ selection: Selection, after: OperationID?, limit: Int
  ) throws(Refusal) -> (operations: [OperationID], more: Bool) {
    let wanted = WantedOperations(selection)
    var found: [OperationID] = []
    var more = false
    for id in try resolveGraphs(selection) where !more {
      var first: UInt32 = 0
      if let after, id <= after.graph {
        if id < after.graph || after.index == .max { continue }
        first = after.index + 1
      }
      forEachOperation(of: id, wanted, from: first) { index in
        more = found.count == limit
        if !more { found.append(OperationID(graph: id, index: index)) }
        return !more
      }
    }
    if found.isEmpty, after == nil { throw Self.noOperation }
    return (found, more)
  }

  private static var noOperation: Refusal {
    Refusal(.unknownOperation, "no living operation matches")
  }

  /// Calls `body` with the operations of a graph that are meant, ascending, while it returns true.
  private func forEachOperation(
    of id: GraphID, _ wanted: WantedOperations, from first: UInt32 = 0, _ body: (UInt32) -> Bool
  ) {
    let graph = id.number
    guard first < graphs[graph].operationCount else { return }
    let queues = wanted.selection.queue.map { name in
      [name, "\(graph)/\(name)"].compactMap { queueByName[$0] }
    }
    for stage in graphs[graph].stageNumber(of: first)..<graphs[graph].stages.count
    where isWanted(graph, stage, wanted, queues) {
      let start = graphs[graph].stages[stage].firstIndex
      let goesOn = graphs[graph].stages[stage].template.forEachElements(
        from: max(first, start) - start, numbered: wanted.numbers
      ) { elements in
        for element in elements where matches(graph, stage, start + element, wanted, queues) {
          if !body(start + element) { return false }
        }
        return true
      }
      if !goesOn { return }
    }
  }

  /// Whether any operation of a stage may be meant.
  private func isWanted(
    _ graph: UInt32, _ stage: Int, _ wanted: WantedOperations, _ queues: [QueueID]?
  ) -> Bool {
    let selection = wanted.selection
    let own = graphs[graph].stages[stage]
    if let pattern = wanted.pattern, !pattern.matches(own.template.name) { return false }
    if !selection.states.isEmpty, !selection.states.contains(where: { own.counts[$0] > 0 }) {
      return false
    }
    if let queues, graphs[graph].enqueuedIn.isEmpty, !queues.contains(own.queue) { return false }
    if let priority = selection.priority, graphs[graph].changes.isEmpty,
      own.template.priority != priority
    {
      return false
    }
    return selection.labels.allSatisfy {
      own.template.labels.contains($0) || graphs[graph].submission.labels.contains($0)
    }
  }

  private func matches(
    _ graph: UInt32, _ stage: Int, _ index: UInt32, _ wanted: WantedOperations,
    _ queues: [QueueID]?
  ) -> Bool {
    let states = wanted.selection.states
    if !states.isEmpty, !states.contains(graphs[graph].cell(index).word) { return false }
    // What has ended, or was never enqueued, may name a queue that is gone.
    if let queues, !queues.contains(graphs[graph].queue(of: index, stage: stage)) { return false }
    if let priority = wanted.selection.priority {
      return graphs[graph].priority(of: index, stage: stage) == priority
    }
    return true
  }

  /// Every unfinished operation now in a queue, barriers included (S95).
  func members(of queue: QueueID) -> [OperationRuns] {
    graphs.numbers.compactMap { number in
      var runs = OperationRuns(graph: GraphID(number))
      for stage in graphs[number].stages.indices {
        if graphs[number].enqueuedIn.isEmpty, graphs[number].stages[stage].queue != queue {
          continue
        }
        for index in graphs[number].stages[stage].indices
        where graphs[number].queue(of: index, stage: stage) == queue {
          let phase = graphs[number].cell(index).phase
          if phase != .finished && phase != .declared { runs.append(index) }
        }
      }
      return runs.isEmpty ? nil : runs
    }
  }
}

/// A selection as it is looked for.
private struct WantedOperations {
  let selection: Selection
  let pattern: NamePattern?
  let numbers: ElementNumbers

  init(_ selection: Selection) {
    self.selection = selection
    pattern = selection.operation.map { NamePattern($0) }
    numbers = ElementNumbers(selection.elements)
  }
}
