// Ends operations and unblocks their dependents: an iterative work list, never recursion.
// Everything here follows from the rules alone, so replaying the fact of one end replays all its
// consequences.

import OpClusterModel

extension ClusterState {
  /// Neighbours that end at this moment, with the reason; mostly one operation.
  struct End {
    /// The first, which is named as the cause of what follows from all of them.
    var id: OperationID
    var count: UInt32 = 1
    var ending: OperationCell.Ending
    var reason: CancelReason?
    /// The worker that saw its end; 0 if the coordinator decided it. Known after the operation
    /// finished.
    var worker: UInt32 = 0
  }

  /// Ends operations, and every operation that this end makes impossible (S23).
  mutating func end(_ id: OperationID, _ outcome: Outcome, into turn: inout SchedulingTurn) {
    end([End(id: id, ending: OperationCell.Ending(outcome), reason: nil)], into: &turn)
  }

  mutating func end(_ span: OperationSpan, _ outcome: Outcome, into turn: inout SchedulingTurn) {
    let ending = OperationCell.Ending(outcome)
    end([End(id: span.id, count: span.count, ending: ending, reason: nil)], into: &turn)
  }

  /// Costs the spans that end and their edges. Consumed entries are dropped from the front in
  /// blocks of 4,096, so that a cascade through millions keeps a short list.
  mutating func end(_ first: [End], into turn: inout SchedulingTurn) {
    var work = first
    var next = 0
    while next < work.count {
      let whole = work[next]
      next += 1
      // What was equal when it was noted may differ by now.
      changeSpans(whole.id.graph.number, whole.range) { state, span in
        state.end(whole, span, &work, into: &turn)
      }
      if next > 4096 {
        work.removeFirst(next)
        next = 0
      }
    }
  }

  /// Ends a span of what ends.
  @inline(__always)
  private mutating func end(
    _ whole: End, _ span: OperationSpan, _ work: inout [End], into turn: inout SchedulingTurn
  ) {
    var end = whole
    end.id = span.id
    end.count = span.count
    let cell = graphs[span.graph.number].cell(span.first)
    if cell.phase == .executing, !cell.isAssigned { end.worker = cell.worker }
    if finish(end, span, into: &turn) { release(end, span, &work, into: &turn) }
  }

  /// The one commit that clears isExecuting and sets isFinished (S9); false if they had ended
  /// before.
  private mutating func finish(
    _ end: End, _ span: OperationSpan, into turn: inout SchedulingTurn
  ) -> Bool {
    let graph = span.graph.number
    let cell = graphs[graph].cell(span.first)
    if cell.phase == .finished { return false }
    if let reason = end.reason { markSkipped(span, cell, reason, into: &turn) }
    if end.ending.outcome != .succeeded, cell.worker == 0 || cell.isAssigned {
      noteUnattempted(end, into: &turn)
    }
    if cell.worker != 0 { leaveWorker(span.id, span.stage, into: &turn) }
    let wasQueued = cell.phase != .declared
    let wasExecuting = cell.phase == .executing
    let (before, after) = graphs[graph].update(span) { cell in
      let before = cell.word
      guard let phase = LifeCycle.next(cell.phase, .end) else {
        preconditionFailure("\(span.id) cannot end from \(cell.phase)")
      }
      cell.phase = phase
      cell.ending = end.ending
      cell.blockers = 0
      cell.flags.formIntersection(.durable)
      cell.flags.subtract([.ahead, .retrying])
      return (before, cell.word)
    }
    graphs[graph].forgetNotes(of: span)
    count(span, from: before, to: after)
    if wasExecuting { emit(.isExecuting(false), span, into: &turn) }
    if !timestamps.isEmpty, span.isSingle { timestamps[span.id] = nil }
    let outcome = end.ending.outcome ?? .lost
    emit(.isFinished(outcome), span, into: &turn)
    emit(.completion, span, into: &turn)
    leaveGraph(span, end.ending)
    if wasQueued { leaveQueue(span, wasExecuting: wasExecuting, into: &turn) }
    return true
  }

  /// Records the reason and time of an end for the history, if no end of an attempt records them.
  private func noteUnattempted(_ end: End, into turn: inout SchedulingTurn) {
    if turn.isReplay { return }
    let reason = end.reason ?? graphs[end.id.graph.number].reason(of: end.id.index)
    if let last = turn.history.indices.last, !turn.history[last].isAttempt,
      turn.history[last].attempt.operation.graph == end.id.graph,
      turn.history[last].members.upperBound == end.id.index,
      turn.history[last].outcome == end.ending.outcome, turn.history[last].reason == reason
    {
      turn.history[last].count += end.count
      return
    }
    var result = AttemptResult()
    result.endedAt = turn.wall
    var line = AttemptHistory(
      attempt: AttemptID(operation: end.id, attempt: 0), outcome: end.ending.outcome,
      reason: reason, workerName: "", result: result)
    line.run = 0
    line.count = end.count
    turn.history.append(line)
  }

  private mutating func markSkipped(
    _ span: OperationSpan, _ cell: OperationCell, _ reason: CancelReason,
    into turn: inout SchedulingTurn
  ) {
    guard !cell.isCancelled else { return }
    if cell.phase == .dispatched { dropAtWorker(span.id, cell, into: &turn) }
    setCancelled(span, reason, into: &turn)
  }

  /// Removes the operations from the counts of their graph.
  private mutating func leaveGraph(_ span: OperationSpan, _ ending: OperationCell.Ending) {
    let graph = span.graph.number
    graphs[graph].stages[span.stage].unfinished -= span.count
    graphs[graph].unfinished -= span.count
    switch ending.outcome {
    case .cancelled: graphs[graph].sawCancelled = true
    case .failed, .timedOut, .lost, .succeeded, .skipped, nil: break
    }
    if graphs[graph].unfinished == 0 { justEnded.append(span.graph) }
  }

  /// Removes operations from their queue: their places, their barrier segment (S111).
  mutating func leaveQueue(
    _ span: OperationSpan, wasExecuting: Bool, into turn: inout SchedulingTurn
  ) {
    let graph = span.graph.number
    let queue = graphs[graph].queue(of: span.first, stage: span.stage).number
    if wasExecuting { queues[queue].executing -= 1 }
    if graphs[graph].stages[span.stage].template.isBarrier {
      let parked = queues[queue].removeBarrier(span.id)
      unpark(parked, into: &turn)
      settleBarrier(queue, into: &turn)
      return
    }
    queues[queue].members -= span.count
    noteCountChange(queue)
    let place = graphs[graph].enqueuePlace(of: span.first)
    let segment = queues[queue].segment(of: place)
    queues[queue].segments[segment].unfinished -= span.count
    if segment == 0, queues[queue].hasBarriers { settleBarrier(queue, into: &turn) }
  }

  /// Resolves the edges of all dependents.
  private mutating func release(
    _ end: End, _ span: OperationSpan, _ work: inout [End], into turn: inout SchedulingTurn
  ) {
    let graph = span.graph.number
    if !graphs[graph].dependents.isEmpty || !graphs[graph].externalDependents.isEmpty {
      for index in span.range { releaseSingles(end.only(index), &work, into: &turn) }
    }
    releaseStages(end, span, &work, into: &turn)
  }

  /// Resolves the edges from one operation to others.
  private mutating func releaseSingles(
    _ end: End, _ work: inout [End], into turn: inout SchedulingTurn
  ) {
    let id = end.id
    let graph = id.graph.number
    for position in graphs[graph].dependents.range(of: id.index) {
      let edge = graphs[graph].dependents[position]
      release(graphs[graph].operation(edge.index), edge.policy, of: end, &work, into: &turn)
    }
    if !graphs[graph].externalDependents.isEmpty,
      let external = graphs[graph].externalDependents.removeValue(forKey: id.index)
    {
      // Sorted, so that a restored state uses the same order: an end may be another's reason.
      for dependent in external.sorted(by: { $0.operation < $1.operation }) {
        release(
          dependent.operation, dependent.policy, of: end, isExtra: true, &work, into: &turn)
      }
    }
  }

  /// Resolves one edge: either it is met, or its dependent can no longer run.
  private mutating func release(
    _ dependent: OperationID, _ policy: EdgePolicy, of end: End, isExtra: Bool = false,
    _ work: inout [End], into turn: inout SchedulingTurn
  ) {
    let graph = dependent.graph.number
    guard graphs.contains(graph) else { return }
    // A submitted edge may have been removed; an added one is independent of that.
    if !isExtra, !graphs[graph].removedDependencies.isEmpty,
      graphs[graph].removedDependencies[dependent.index]?.contains(end.id) == true
    {
      return
    }
    let cell = graphs[graph].cell(dependent.index)
    if cell.phase == .finished { return }
    guard let outcome = end.ending.outcome, policy.isSatisfied(by: outcome) else {
      if let skip = skip(dependent, cell, because: end) { work.append(skip) }
      return
    }
    let stage = graphs[graph].stageNumber(of: dependent.index)
    unblock(OperationSpan(dependent, stage: stage), by: end, into: &turn)
  }

  /// Counts one edge of each operation as met.
  @inline(__always)
  private mutating func unblock(
    _ span: OperationSpan, by end: End, into turn: inout SchedulingTurn
  ) {
    let graph = span.graph.number
    let cell = graphs[graph].cell(span.first)
    if cell.phase == .finished { return }
    if cell.flags.contains(.ahead), cell.worker != end.worker, !turn.isReplay {
      // Recalled: its worker would wait for an end that it never sees (S151).
      askRecall(span.id, into: &turn)
    }
    let left = graphs[graph].update(span) { cell in
      cell.blockers -= 1
      return cell.blockers
    }
    if left == 0 { settle(span, into: &turn) }
  }

  /// The end of dependents whose edge can no longer be met; nil if they are already cancelled or
  /// (only possible with a late edge) run.
  func skip(
    _ dependent: OperationID, count: UInt32 = 1, _ cell: OperationCell, because end: End
  ) -> End? {
    if cell.phase == .executing || cell.isCancelled { return nil }
    let cause = end.ending.outcome ?? .lost
    let isHarmless: Bool
    switch cause {
    case .succeeded: isHarmless = true
    case .skipped: isHarmless = end.ending.isHarmless
    case .failed, .timedOut, .cancelled, .lost: isHarmless = false
    }
    return End(
      id: dependent, count: count,
      ending: OperationCell.Ending(.skipped, isHarmless: isHarmless),
      reason: .dependency(end.id, cause))
  }

  /// Resolves edges on whole stages, and element by element.
  private mutating func releaseStages(
    _ end: End, _ span: OperationSpan, _ work: inout [End], into turn: inout SchedulingTurn
  ) {
    let graph = span.graph.number
    let from = span.stage
    let isLast = graphs[graph].stages[from].unfinished == 0
    for at in graphs[graph].stages[from].outgoing.indices {
      let edge = graphs[graph].stages[from].outgoing[at]
      switch edge.match {
      case .sameIndex:
        releaseElements(end, span, edge, &work, into: &turn)
      case .all:
        if let outcome = end.ending.outcome, edge.policy.isSatisfied(by: outcome) {
          if isLast { openGate(graph, edge.stage, into: &turn) }
        } else {
          skipStage(graph, edge.stage, because: end, &work)
        }
      }
    }
  }

  /// Resolves the edges from each element of a span to the one of the same number. Dependents
  /// change in spans, except that each skipped one has a reason of its own.
  private mutating func releaseElements(
    _ end: End, _ span: OperationSpan, _ edge: StageEdge, _ work: inout [End],
    into turn: inout SchedulingTurn
  ) {
    let graph = span.graph.number
    let first = graphs[graph].stages[edge.stage].firstIndex
    let element = graphs[graph].stages[span.stage].element(span.first)
    let members = (first + element)..<(first + element + span.count)
    func releaseOne(_ state: inout ClusterState, _ index: UInt32) {
      let end = end.only(span.first + (index - members.lowerBound))
      let dependent = OperationID(graph: span.graph, index: index)
      state.release(dependent, edge.policy, of: end, &work, into: &turn)
    }
    if span.isSingle { return releaseOne(&self, members.lowerBound) }
    let isMet = end.ending.outcome.map { edge.policy.isSatisfied(by: $0) } ?? false
    let mayBeRemoved = !graphs[graph].removedDependencies.isEmpty
    changeSpans(graph, members) { state, dependents in
      let cell = state.graphs[graph].cell(dependents.first)
      if cell.phase == .finished { return }
      if isMet, !mayBeRemoved {
        state.unblock(dependents, by: end, into: &turn)
      } else if isMet || state.skip(dependents.id, cell, because: end) != nil {
        for index in dependents.range { releaseOne(&state, index) }
      }
    }
  }

  private mutating func openGate(_ graph: UInt32, _ stage: Int, into turn: inout SchedulingTurn) {
    guard graphs[graph].stages[stage].gates > 0 else { return }
    graphs[graph].stages[stage].gates -= 1
    if graphs[graph].stages[stage].gates == 0 { openStage(graph, stage, into: &turn) }
  }

  private func skipStage(_ graph: UInt32, _ stage: Int, because end: End, _ work: inout [End]) {
    guard graphs[graph].stages[stage].unfinished > 0 else { return }
    graphs[graph].forEachSpan(in: graphs[graph].stages[stage].indices) { span in
      let cell = graphs[graph].cell(span.first)
      if cell.phase == .finished { return }
      if let skip = skip(span.id, count: span.count, cell, because: end) { work.append(skip) }
    }
  }
}

extension ClusterState.End {
  fileprivate var range: Range<UInt32> { id.index..<(id.index + count) }

  /// The end of one of the operations.
  fileprivate func only(_ index: UInt32) -> Self {
    var one = self
    one.id.index = index
    one.count = 1
    return one
  }
}
