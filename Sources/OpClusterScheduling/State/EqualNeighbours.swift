// Finds spans of neighbours with equal cells in the graphs, and changes them.

import OpClusterModel

extension Graph {
  /// The longest span that begins with an operation and ends before `end`. Costs the logarithm of
  /// the stages, and a step for each page.
  @inline(__always)
  func span(from index: UInt32, before end: UInt32) -> OperationSpan {
    let stage = stageNumber(of: index)
    var reached = index + 1
    if reached < end, !cells.hasOwnCells(of: index) {
      reached = cells.equalEnd(from: index, before: min(end, stages[stage].indices.upperBound))
      if cell(index).flags.contains(.changed) {
        reached = endOfFollowing(from: index, before: reached, stage)
      }
    }
    return OperationSpan(graph: id, range: index..<reached, stage: stage)
  }

  /// The end of the changed neighbours whose places follow each other in one queue. A step for each
  /// page: places within a page were drawn together.
  private func endOfFollowing(from index: UInt32, before end: UInt32, _ stage: Int) -> UInt32 {
    var reached = cells.pageBoundary(after: index, before: end)
    while reached < end, place(of: reached) == place(of: index) + UInt64(reached - index),
      enqueuePlace(of: reached) == enqueuePlace(of: index) + UInt64(reached - index),
      priority(of: reached, stage: stage) == priority(of: index, stage: stage),
      queue(of: reached, stage: stage) == queue(of: index, stage: stage)
    {
      reached = cells.pageBoundary(after: reached, before: end)
    }
    return reached
  }

  /// Changes the cells of a span alike; `body` sees one of them.
  @inline(__always)
  @discardableResult
  mutating func update<Result>(
    _ span: OperationSpan, _ body: (inout OperationCell) -> Result
  ) -> Result {
    if span.isSingle { return update(span.first, body) }
    var cell = cell(span.first)
    let result = body(&cell)
    cells.fill(span.range, with: cell)
    return result
  }

  /// Calls `body` with the spans of a range of indices, ascending.
  @inline(__always)
  func forEachSpan(in range: Range<UInt32>, _ body: (OperationSpan) -> Void) {
    var index = range.lowerBound
    while index < range.upperBound {
      let span = span(from: index, before: range.upperBound)
      body(span)
      index += span.count
    }
  }
}

extension ClusterState {
  /// Calls `body` with the spans of these operations, in their order. Each span is looked up when
  /// its turn has come, so that `body` may change what follows.
  @inline(__always)
  mutating func changeSpans(
    of runs: OperationRuns, _ body: (inout ClusterState, OperationSpan) -> Void
  ) {
    for at in 0..<runs.runCount { changeSpans(runs.graph.number, runs.run(at), body) }
  }

  @inline(__always)
  mutating func changeSpans(
    _ graph: UInt32, _ range: Range<UInt32>, _ body: (inout ClusterState, OperationSpan) -> Void
  ) {
    var index = range.lowerBound
    while index < range.upperBound {
      let span = graphs[graph].span(from: index, before: range.upperBound)
      body(&self, span)
      index += span.count
    }
  }
}

extension Registry<Graph> {
  /// Calls `body` with the spans of these operations, in their order. Looks the graph up for each
  /// span: held open meanwhile, it would be copied.
  @inline(__always)
  func forEachSpan(of runs: OperationRuns, _ body: (OperationSpan) -> Void) {
    for at in 0..<runs.runCount {
      let range = runs.run(at)
      var index = range.lowerBound
      while index < range.upperBound {
        let span = self[runs.graph.number].span(from: index, before: range.upperBound)
        body(span)
        index += span.count
      }
    }
  }
}
