// Resolves a selection to living graphs and operations. The body finds ended graphs in the history.

public import OpClusterModel
import OpClusterQueries

extension Scheduler {
  /// The living graphs of a selection, by number.
  public func livingGraphs(_ selection: Selection) -> [GraphID] {
    var found: [GraphID] = []
    forEachLivingGraph(selection) { id in
      found.append(id)
      return true
    }
    return found
  }

  /// Calls `body` with the living graphs of a selection, by number, while it returns true; only
  /// with those behind `after`. Of all graphs it visits no more than are selected until then.
  func forEachLivingGraph(
    _ selection: Selection, after: GraphID? = nil, _ body: (GraphID) -> Bool
  ) {
    func visit(_ number: UInt32) -> Bool {
      let id = GraphID(number)
      let isSelected =
        selection.labels.isEmpty
        || OperationFilter.carries(selection.labels, LivingGraphView(id, state))
      return isSelected ? body(id) : true
    }
    switch selection.graphs {
    case .all, .active: graphs.forEachNumber(after: after?.number, visit)
    case .last(let back):
      guard let last = lastGraph(back: back), graphs.contains(last.number) else { return }
      if after.map({ $0 < last }) ?? true { _ = visit(last.number) }
    case .numbers(let named):
      for number in livingNumbers(among: named) where after.map({ $0.number < number }) ?? true {
        if !visit(number) { return }
      }
    }
  }

  /// Looks few numbers up; scans the living graphs once if the numbers are many.
  private func livingNumbers(among named: [Selection.ClosedRangeOfGraphs]) -> [UInt32] {
    let wanted = NumberRanges(
      named.filter { $0.first <= $0.last }.map { $0.first.number...$0.last.number })
    let span = wanted.ranges.reduce(0) { $0 + $1.count }
    if span > graphs.count { return graphs.numbers.filter { wanted.contains($0) } }
    return wanted.ranges.flatMap { $0.filter { graphs.contains($0) } }
  }

  /// The graph that `last~back` selects; nil if there is none yet.
  public func lastGraph(back: UInt32) -> GraphID? {
    counters.lastGraph > back ? GraphID(counters.lastGraph - back) : nil
  }

  func resolveGraphs(_ selection: Selection) throws(Refusal) -> [GraphID] {
    let chosen = livingGraphs(selection)
    if !chosen.isEmpty { return chosen }
    throw noMatch(selection)
  }

  private func noMatch(_ selection: Selection) -> Refusal {
    if case .numbers(let ranges) = selection.graphs, ranges.count == 1,
      ranges[0].first == ranges[0].last, ranges[0].first.number <= counters.lastGraph,
      ranges[0].first.number > 0
    {
      return Refusal(
        .alreadyFinished, "graph \(ranges[0].first.number) has ended")
    }
    return Refusal(.unknownGraph, "no living graph matches", hint: .listGraphs)
  }

  /// The operations of a selection, by graph and ascending.
  func resolve(_ selection: Selection) throws(Refusal) -> [OperationRuns] {
    try resolve(selection, in: resolveGraphs(selection))
  }

  /// Those of some of its graphs.
  func resolve(_ selection: Selection, in graphs: [GraphID]) throws(Refusal) -> [OperationRuns] {
    let filter = OperationFilter(selection)
    var chosen: [OperationRuns] = []
    for id in graphs {
      let runs = members(of: id, filter)
      if !runs.isEmpty { chosen.append(runs) }
    }
    if chosen.isEmpty { throw Self.noOperation }
    return chosen
  }

  /// The operations of a living graph that a filter selects.
  func members(of graph: GraphID, _ filter: OperationFilter) -> OperationRuns {
    members(of: graph, filter, in: 0..<graphs[graph.number].operationCount)
  }

  /// Those in a range of indices. Costs the stages behind its beginning until its end, and its
  /// spans.
  func members(
    of graph: GraphID, _ filter: OperationFilter, in wanted: Range<UInt32>
  ) -> OperationRuns {
    var runs = OperationRuns(graph: graph)
    if filter.isEverything {
      if !wanted.isEmpty { runs.append(first: wanted.lowerBound, count: UInt32(wanted.count)) }
      return runs
    }
    filter.forEachSelectedRange(
      of: LivingGraphView(graph, state), from: wanted.lowerBound
    ) { range in
      let range = range.clamped(to: wanted)
      if !range.isEmpty { runs.append(first: range.lowerBound, count: UInt32(range.count)) }
      return range.upperBound < wanted.upperBound
    }
    return runs
  }

  /// The first operations of a selection behind a given one, and whether there are more; searches
  /// no further than that.
  func firstOperations(
    _ selection: Selection, after: OperationID?, limit: Int
  ) throws(Refusal) -> (operations: [OperationID], more: Bool) {
    let filter = OperationFilter(selection)
    var found: [OperationID] = []
    var more = false
    var isAnySelected = false
    // From the graph of `after`, or the one behind it: those before have been shown.
    let before = after.flatMap { $0.graph.number == 0 ? nil : GraphID($0.graph.number - 1) }
    forEachLivingGraph(selection, after: before) { id in
      isAnySelected = true
      var first: UInt32 = 0
      if let after, id == after.graph {
        if after.index == .max { return true }
        first = after.index + 1
      }
      filter.forEachOperation(of: LivingGraphView(id, state), from: first) { index in
        more = found.count == limit
        if !more { found.append(OperationID(graph: id, index: index)) }
        return !more
      }
      return !more
    }
    // None behind `after` may mean that there is none at all.
    if !isAnySelected { _ = try resolveGraphs(selection) }
    if found.isEmpty, after == nil { throw Self.noOperation }
    return (found, more)
  }

  static var noOperation: Refusal {
    Refusal(.unknownOperation, "no living operation matches")
  }
}
