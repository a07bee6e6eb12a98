// The part of an ended graph that a new one takes over (S11): its operations begin as finished.
// `GraphContinuation` has checked that they succeeded and that their outputs are there. All this is
// drawn from the fact of the submission, so that a replay takes over the same; it happens before
// any of the graph's operations is queued, and therefore changes no queue, line or slot.

import OpClusterModel

extension Graph {
  /// Whether an operation was taken over from the graph that this one continues. An operation that
  /// ended here by itself has run, or is a join point. Only asked before anything else can have
  /// ended.
  fileprivate func isReused(_ index: UInt32) -> Bool {
    let cell = cell(index)
    return cell.phase == .finished && cell.ending.outcome == .succeeded && cell.runs == 0
  }
}

extension ClusterState {
  /// Finishes the operations that are taken over, before anything is queued or opened.
  mutating func takeOver(_ id: GraphID, into turn: inout SchedulingTurn) {
    let graph = id.number
    guard let continued = graphs[graph].submission.continued else { return }
    let reused = continued.reused
    for at in 0..<reused.runCount {
      changeSpans(graph, reused.run(at)) { state, span in state.finishReused(span) }
    }
    takeOutputs(of: continued, to: id)
    // All ends before all completions: each kind then needs one event for each run of neighbours.
    for kind in [Event.Kind.isFinished(.succeeded), .completion] {
      let own: UInt32 = kind == .completion ? 2 : 1
      for at in 0..<reused.runCount {
        let run = reused.run(at)
        emitRun(
          kind, first: graphs[graph].operation(run.lowerBound), count: UInt32(run.count), own: own,
          into: &turn)
      }
    }
  }

  /// Takes over the outputs, including the note that some are not kept. An empty output means that
  /// it is not kept, which refuses or fails its readers (S138).
  mutating func takeOutputs(of continued: ContinuedGraph, to id: GraphID) {
    guard let known = ended[continued.graph] else { return }
    for entry in known.outputs where graphs[id.number].isReused(entry.index) {
      keep(entry.output, of: OperationID(graph: id, index: entry.index))
    }
    guard known.outputsAreForgotten else { return }
    for at in 0..<continued.reused.runCount {
      for index in continued.reused.run(at) { keep([], of: OperationID(graph: id, index: index)) }
    }
  }

  /// Sets cells to their end. None of the moves of `LifeCycle` is taken: the operations have no
  /// life in this graph.
  private mutating func finishReused(_ span: OperationSpan) {
    let graph = span.graph.number
    let before = graphs[graph].cell(span.first).word
    graphs[graph].update(span) { cell in
      cell.phase = .finished
      cell.ending = OperationCell.Ending(.succeeded)
      cell.blockers = 0
      cell.flags = []
      // Two events, the end and the completion, told in runs.
      cell.eventSequence = 2
    }
    count(span, from: before, to: .succeeded)
    graphs[graph].stages[span.stage].unfinished -= span.count
    graphs[graph].unfinished -= span.count
  }

  /// Meets the edges from operations that are taken over; returns the ends that they cause. Opens
  /// nothing and ends nothing: the caller does that for the whole graph.
  mutating func releaseReused(_ id: GraphID) -> EndList {
    let graph = id.number
    var impossible = EndList()
    guard let reused = graphs[graph].submission.continued?.reused else { return impossible }
    for at in 0..<reused.runCount where !graphs[graph].dependents.isEmpty {
      for index in reused.run(at) { releaseSingles(graph, index, &impossible) }
    }
    for at in 0..<reused.runCount {
      var rest = reused.run(at)
      while let first = rest.first {
        let stage = graphs[graph].stageNumber(of: first)
        let part = rest.clamped(to: graphs[graph].stages[stage].indices)
        releaseElements(graph, part, of: stage, &impossible)
        rest = part.upperBound..<rest.upperBound
      }
    }
    for stage in graphs[graph].stages.indices {
      releaseWhole(graph, stage, &impossible)
    }
    return impossible
  }

  /// Meets the edges from one operation to others.
  private mutating func releaseSingles(
    _ graph: UInt32, _ index: UInt32, _ impossible: inout EndList
  ) {
    for position in graphs[graph].dependents.range(of: index) {
      let edge = graphs[graph].dependents[position]
      let stage = graphs[graph].stageNumber(of: edge.index)
      let dependent = OperationSpan(graphs[graph].operation(edge.index), stage: stage)
      meet(dependent, edge.policy, reusedEnd(graph, index), &impossible)
    }
  }

  /// Meets the edges from elements of a stage to those of the same number.
  private mutating func releaseElements(
    _ graph: UInt32, _ range: Range<UInt32>, of stage: Int, _ impossible: inout EndList
  ) {
    let from = graphs[graph].stages[stage]
    for edge in from.outgoing where edge.match == .sameIndex {
      let first = graphs[graph].stages[edge.stage].firstIndex + from.element(range.lowerBound)
      let isMet = edge.policy.isSatisfied(by: .succeeded)
      changeSpans(graph, first..<(first + UInt32(range.count))) { state, dependents in
        // Of those that are skipped each names another cause.
        let parts = isMet ? [dependents] : dependents.range.map { dependents.only($0) }
        for part in parts {
          let cause = state.reusedEnd(graph, range.lowerBound + (part.first - first))
          state.meet(part, edge.policy, cause, &impossible)
        }
      }
    }
  }

  private mutating func meet(
    _ span: OperationSpan, _ policy: EdgePolicy, _ cause: EndList.Cause,
    _ impossible: inout EndList
  ) {
    if graphs[span.graph.number].cell(span.first).phase == .finished { return }
    if cause.satisfies(policy) {
      graphs[span.graph.number].update(span) { $0.blockers -= 1 }
    } else {
      markImpossible(span, because: cause, &impossible)
    }
  }

  /// Meets the edges on a whole stage. Once for each stage rather than each operation: a gate
  /// counts the stage. A policy that success does not meet makes all dependents impossible as soon
  /// as one element was taken over.
  mutating func releaseWhole(
    _ graph: UInt32, _ stage: Int, _ impossible: inout EndList
  ) {
    let from = graphs[graph].stages[stage]
    guard from.unfinished < from.template.count, let first = firstFinished(graph, from.indices)
    else { return }
    for edge in from.outgoing where edge.match == .all {
      if !edge.policy.isSatisfied(by: .succeeded) {
        let cause = reusedEnd(graph, first)
        graphs[graph].forEachSpan(in: graphs[graph].stages[edge.stage].indices) { span in
          markImpossible(span, because: cause, &impossible)
        }
      } else if from.unfinished == 0, graphs[graph].stages[edge.stage].gates > 0 {
        graphs[graph].stages[edge.stage].gates -= 1
      }
    }
  }

  private func firstFinished(_ graph: UInt32, _ range: Range<UInt32>) -> UInt32? {
    var index = range.lowerBound
    while index < range.upperBound {
      if graphs[graph].cell(index).phase == .finished { return index }
      index += graphs[graph].span(from: index, before: range.upperBound).count
    }
    return nil
  }

  /// The end as the cause of a skip.
  func reusedEnd(_ graph: UInt32, _ index: UInt32) -> EndList.Cause {
    EndList.Cause(
      id: graphs[graph].operation(index), ending: OperationCell.Ending(.succeeded))
  }
}
