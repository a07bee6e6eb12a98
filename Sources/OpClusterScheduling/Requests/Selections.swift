// Resolves a selection to living graphs and operations. The body finds ended graphs in the history.

public import OpClusterModel
package import OpClusterQueries

extension Scheduler {
  /// All living graphs as they are now, for whoever asks about them later.
  package var livingNumbers: GraphBitmap { state.livingNumbers }

  /// The living graphs of a selection, by number.
  public func livingGraphs(_ selection: Selection) -> [GraphID] {
    var found: [GraphID] = []
    forEachLivingGraph(selection) { id in
      found.append(id)
      return true
    }
    return found
  }

  /// Calls `body` with the living graphs of a selection, by number, while it returns true. Of all
  /// graphs it visits no more than are selected until then.
  func forEachLivingGraph(_ selection: Selection, _ body: (GraphID) -> Bool) {
    forEachLivingNumber(of: selection.graphs, NumberRanges(selection.graphs)) { number in
      carries(selection.labels, number) ? body(GraphID(number)) : true
    }
  }

  /// Calls `body` with the numbers of living graphs, ascending, while it returns true; only with
  /// those behind `after`. Costs what it visits, and a binary search for each range.
  ///
  /// - Parameters:
  ///   - ranges: Those of the wanted graphs, if they are named by numbers.
  ///   - begins: Asked before each range; false ends the visit.
  func forEachLivingNumber(
    of wanted: Selection.Graphs, _ ranges: NumberRanges, after: UInt32? = nil,
    begins: (ClosedRange<UInt32>) -> Bool = { _ in true }, _ body: (UInt32) -> Bool
  ) {
    switch wanted {
    case .all, .active: graphs.forEachNumber(after: after, body)
    case .last(let back):
      guard let last = lastGraph(back: back)?.number, graphs.contains(last) else { return }
      if after.map({ $0 < last }) ?? true { _ = body(last) }
    case .numbers:
      for range in ranges.ranges[ranges.position(endingFrom: after?.saturatingAdd(1) ?? 0)...] {
        if !begins(range) { return }
        let first = max(range.lowerBound, after?.saturatingAdd(1) ?? 0)
        var isStopped = false
        graphs.forEachNumber(after: first == 0 ? nil : first - 1) { number in
          if number > range.upperBound { return false }
          isStopped = !body(number)
          return !isStopped
        }
        if isStopped { return }
      }
    }
  }

  /// Whether a living graph has all of these labels, each itself or on one of its stages.
  func carries(_ labels: [Label], _ graph: UInt32) -> Bool {
    labels.allSatisfy {
      graphs[graph].submission.labels.contains($0) || graphs[graph].stageLabels.contains($0)
    }
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

  func noMatch(_ selection: Selection) -> Refusal {
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

  static var noOperation: Refusal {
    Refusal(.unknownOperation, "no living operation matches")
  }
}

extension NumberRanges {
  /// Those of graphs that are named by numbers; else none. Sorts them.
  init(_ graphs: Selection.Graphs) {
    guard case .numbers(let named) = graphs else {
      self.init([])
      return
    }
    self.init(named.filter { $0.first <= $0.last }.map { $0.first.number...$0.last.number })
  }
}
