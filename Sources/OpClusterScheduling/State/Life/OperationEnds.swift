// Ends operations and unblocks their dependents: an iterative work list, never recursion.
// Everything here follows from the rules alone, so replaying the fact of one end replays all its
// consequences. What a turn has no room for is done in later ones (`EndSteps`).

import DequeModule
import HeapModule
import OpClusterModel

extension ClusterState {
  /// Ends an operation at once, and, as far as the turn has room, every operation that this end
  /// makes impossible (S23).
  ///
  /// - Parameter isSeen: Whether its worker took the end of its attempt for this end, and let go on
  ///   what waits for it there.
  mutating func end(
    _ id: OperationID, _ outcome: Outcome, isSeen: Bool = true, into turn: inout SchedulingTurn
  ) {
    var ends = EndList()
    let stage = graphs[id.graph.number].stageNumber(of: id.index)
    let span = OperationSpan(id, stage: stage)
    allowEndSteps(&turn)
    var end = EndList.End(span, OperationCell.Ending(outcome))
    end.isSeen = isSeen
    endOne(end, &ends, into: &turn)
    followAllowed(&ends, into: &turn)
  }

  /// Ends all of a list, and every operation that these ends make impossible; `pendingEnds` gets
  /// what the turn has no room for. Costs the spans that end, and their edges.
  mutating func end(_ ends: inout EndList, into turn: inout SchedulingTurn) {
    allowEndSteps(&turn)
    followAllowed(&ends, into: &turn)
  }

  private mutating func followAllowed(_ ends: inout EndList, into turn: inout SchedulingTurn) {
    while hasRoom(turn), let entry = ends.popFirst() {
      switch entry {
      // Those of them that began instead may be the last of their graph.
      case .end(let end) where !graphs.contains(end.graph.number): break
      case .end(let end) where end.range.count == 1: endOne(end, &ends, into: &turn)
      case .end(let end): endMany(end, &ends, into: &turn)
      case .edges(let edges):
        graphs.noteOpenEdges(edges.cause.id.graph.number, -1)
        release(edges, &ends, into: &turn)
      case .members(let queue): endMembers(of: queue, &ends, into: &turn)
      case .stages(let stages) where !graphs.contains(stages.graph.number): break
      case .stages(var stages):
        open(&stages, into: &turn)
        // Behind others, so that a large graph does not keep the next one waiting for all of it.
        if !stages.isEmpty { ends.append(stages) }
      }
    }
    if !ends.isEmpty { pendingEnds.putBack(ends) }
  }

  private mutating func endOne(
    _ single: EndList.End, _ ends: inout EndList, into turn: inout SchedulingTurn
  ) {
    var end = single
    let cell = graphs[end.graph.number].cell(end.range.lowerBound)
    if cell.phase == .executing, !cell.isAssigned, end.isSeen { end.worker = cell.worker }
    turn.endSteps += 1
    let span = OperationSpan(end.cause.id, stage: end.stage)
    if finish(span, end, into: &turn) { release(end, isLast: true, &ends, into: &turn) }
  }

  /// Ends as many neighbours as the turn has room for. First all ends, then what follows from them,
  /// so that the order of causes does not depend on which cells were equal. What was unfinished
  /// when it was noted may have ended by now.
  private mutating func endMany(
    _ all: EndList.End, _ ends: inout EndList, into turn: inout SchedulingTurn
  ) {
    var end = all
    end.range = partThatFits(all, turn)
    if end.range.count < all.range.count {
      var rest = all
      rest.range = end.range.upperBound..<all.range.upperBound
      ends.putBack(.end(rest))
      if end.range.count == 1 { return endOne(end, &ends, into: &turn) }
    }
    turn.endSteps += EndSteps.spread(end.range.count)
    let graph = end.graph.number
    var finished = OperationRuns(graph: end.graph)
    changeSpans(graph, end.range) { state, span in
      if state.finish(span, end, into: &turn) { finished.append(span) }
    }
    for at in 0..<finished.runCount {
      end.range = finished.run(at)
      release(end, isLast: at == finished.runCount - 1, &ends, into: &turn)
    }
  }

  /// Ends as many operations that were cancelled while their queue was suspended as the turn has
  /// room for, the lowest first, so that a restored state uses the same order: an end may be
  /// another's reason. If the queue is suspended again, the others stay in it (S75).
  private mutating func endMembers(
    of queue: UInt32, _ ends: inout EndList, into turn: inout SchedulingTurn
  ) {
    guard queues.contains(queue), queues[queue].isRunning else { return }
    let most = membersThatFit(turn)
    var taken = 0
    while taken < most, var member = queues[queue].cancelledMembers.popMin() {
      if member.count > most - taken {
        let rest = member.range.dropFirst(most - taken)
        queues[queue].cancelledMembers.insert(
          OperationSpan(graph: member.graph, range: rest, stage: member.stage))
        member.count = UInt32(most - taken)
      }
      guard graphs.contains(member.graph.number) else { continue }
      // Some of what was equal may differ by now: an edge was met, or it ended.
      changeSpans(member.graph.number, member.range) { state, span in
        guard state.mayEnd(span) else { return }
        taken += Int(span.count)
        ends.append(cancelled: span)
      }
    }
    turn.endSteps += EndSteps.spread(taken)
    if !queues[queue].cancelledMembers.isEmpty { ends.putBack(.members(queue: queue)) }
  }

  /// The one commit that clears isExecuting and sets isFinished (S9); false if they had ended
  /// before, or are not to be skipped any more.
  private mutating func finish(
    _ span: OperationSpan, _ end: EndList.End, into turn: inout SchedulingTurn
  ) -> Bool {
    let graph = span.graph.number
    let cell = graphs[graph].cell(span.first)
    if cell.phase == .finished { return false }
    // It has begun, or was cancelled, after it was to be skipped.
    if end.reason != nil, !cell.isImpossible { return false }
    // Also what ends otherwise before its turn comes, lost with its worker for example.
    if cell.isImpossible { noLongerImpossible(span) }
    if let reason = end.reason { markSkipped(span, cell, reason, into: &turn) }
    if end.ending.outcome != .succeeded, cell.worker == 0 || cell.isAssigned {
      noteUnattempted(span, end, into: &turn)
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
    if !timestamps.isEmpty { timestamps[span.last] = nil }
    let outcome = end.ending.outcome ?? .lost
    emit(.isFinished(outcome), span, into: &turn)
    emit(.completion, span, into: &turn)
    leaveGraph(span, end.ending)
    if wasQueued { leaveQueue(span, wasExecuting: wasExecuting, into: &turn) }
    return true
  }

  /// Records the reason and time of ends for the history, if no end of an attempt records them.
  private func noteUnattempted(
    _ span: OperationSpan, _ end: EndList.End, into turn: inout SchedulingTurn
  ) {
    if turn.isReplay { return }
    let reason = end.reason ?? graphs[span.graph.number].reasons[span.first]
    if let last = turn.history.indices.last, !turn.history[last].isAttempt,
      turn.history[last].attempt.operation.graph == span.graph,
      turn.history[last].members.upperBound == span.first,
      turn.history[last].outcome == end.ending.outcome, turn.history[last].reason == reason
    {
      turn.history[last].count += span.count
      return
    }
    var result = AttemptResult()
    result.endedAt = turn.wall
    var line = AttemptHistory(
      attempt: AttemptID(operation: span.id, attempt: 0), outcome: end.ending.outcome,
      reason: reason, workerName: "", result: result)
    line.run = 0
    line.count = span.count
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
      var moved = 0
      let parked = queues[queue].removeBarrier(
        span.id, place: graphs[graph].enqueuePlace(of: span.first), moved: &moved)
      turn.endSteps += moved / EndSteps.barriersPerStep
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
  ///
  /// - Parameter isLast: Whether nothing more of the same entry follows. Some of its middle may
  ///   have ended before, so that it comes in parts, and the stage has ended for all of them; only
  ///   the last may open what waits for the whole stage.
  private mutating func release(
    _ end: EndList.End, isLast: Bool, _ ends: inout EndList, into turn: inout SchedulingTurn
  ) {
    let graph = end.graph.number
    if end.range.count == 1 || !graphs[graph].dependents.range(of: end.range).isEmpty {
      for index in end.range { releaseSingles(index, end, &ends, into: &turn) }
    } else if !graphs[graph].externalDependents.isEmpty {
      for index in end.range.members(of: graphs[graph].externalDependents) {
        releaseSingles(index, end, &ends, into: &turn)
      }
    }
    releaseStages(end, isLast: isLast, &ends, into: &turn)
  }

  /// Resolves the edges from one operation to others.
  private mutating func releaseSingles(
    _ index: UInt32, _ end: EndList.End, _ ends: inout EndList, into turn: inout SchedulingTurn
  ) {
    let graph = end.graph.number
    var edges = EndList.OpenEdges(
      cause: end.cause(index), positions: graphs[graph].dependents.range(of: index), others: [])
    if !graphs[graph].externalDependents.isEmpty,
      let others = graphs[graph].externalDependents.removeValue(forKey: index)
    {
      // Sorted, so that a restored state uses the same order: an end may be another's reason.
      edges.others = others.sorted { $0.operation > $1.operation }
    }
    if !graphs[graph].removedDependencies.isEmpty {
      for position in edges.positions {
        let dependent = graphs[graph].dependents[position].index
        if isRemoved(edges.cause.id, of: graphs[graph].operation(dependent)) {
          edges.removed.insert(dependent)
        }
      }
    }
    if !edges.isEmpty { release(edges, &ends, into: &turn) }
  }

  /// Resolves as many edges as the turn has room for.
  private mutating func release(
    _ all: EndList.OpenEdges, _ ends: inout EndList, into turn: inout SchedulingTurn
  ) {
    var edges = all
    let graph = edges.cause.id.graph.number
    if !graphs.contains(graph) { edges.positions = 0..<0 }
    while let position = edges.positions.first, hasRoom(turn) {
      edges.positions = (position + 1)..<edges.positions.upperBound
      turn.endSteps += 1
      let edge = graphs[graph].dependents[position]
      if !edges.removed.isEmpty, edges.removed.contains(edge.index) { continue }
      let dependent = graphs[graph].operation(edge.index)
      release(dependent, edge.policy, of: edges.cause, &ends, into: &turn)
    }
    while hasRoom(turn), let dependent = edges.others.popLast() {
      turn.endSteps += stepsOfOther(dependent.operation)
      release(dependent.operation, dependent.policy, of: edges.cause, &ends, into: &turn)
    }
    // A restored state does not know the edges to those that have ended.
    while let last = edges.others.last, stepsOfOther(last.operation) == 0 {
      edges.others.removeLast()
    }
    if edges.isEmpty { return }
    graphs.noteOpenEdges(graph, 1)
    ends.putBack(.edges(edges))
  }

  /// Whether a submitted edge was removed. An added one is independent of that.
  private func isRemoved(_ dependency: OperationID, of dependent: OperationID) -> Bool {
    let removed = graphs[dependent.graph.number].removedDependencies[dependent.index]
    return removed?.contains(dependency) == true
  }

  /// Resolves one edge: either it is met, or its dependent can no longer run.
  private mutating func release(
    _ dependent: OperationID, _ policy: EdgePolicy, of cause: EndList.Cause,
    _ ends: inout EndList, into turn: inout SchedulingTurn
  ) {
    let graph = dependent.graph.number
    guard graphs.contains(graph) else { return }
    let stage = graphs[graph].stageNumber(of: dependent.index)
    let span = OperationSpan(dependent, stage: stage)
    if cause.satisfies(policy) {
      unblock(span, by: cause, into: &turn)
    } else {
      markImpossible(span, because: cause, &ends)
    }
  }

  /// Counts one edge of each operation as met.
  @inline(__always)
  private mutating func unblock(
    _ span: OperationSpan, by cause: EndList.Cause, into turn: inout SchedulingTurn
  ) {
    let graph = span.graph.number
    let cell = graphs[graph].cell(span.first)
    if cell.phase == .finished { return }
    if cell.flags.contains(.ahead), cell.worker != cause.worker, !turn.isReplay {
      // Recalled: its worker would wait for an end that it never sees (S151).
      askRecall(span.id, into: &turn)
    }
    let left = graphs[graph].update(span) { cell in
      cell.blockers -= 1
      return cell.blockers
    }
    if left == 0 { settle(span, into: &turn) }
  }

  /// Notes that an edge of unfinished operations can no longer be met; not if they are already
  /// cancelled or (only possible with a late edge) run.
  mutating func markImpossible(
    _ span: OperationSpan, because cause: EndList.Cause, _ ends: inout EndList
  ) {
    let cell = graphs[span.graph.number].cell(span.first)
    if cell.phase == .finished || cell.phase == .executing || cell.isCancelled { return }
    if cell.isImpossible { return }
    let outcome = cause.ending.outcome ?? .lost
    let isHarmless: Bool
    switch outcome {
    case .succeeded: isHarmless = true
    case .skipped: isHarmless = cause.ending.isHarmless
    case .failed, .timedOut, .cancelled, .lost: isHarmless = false
    }
    graphs[span.graph.number].update(span) { $0.flags.insert(.impossible) }
    graphs[span.graph.number].impossible += span.count
    ends.append(
      EndList.End(
        span, OperationCell.Ending(.skipped, isHarmless: isHarmless),
        .dependency(cause.id, outcome)))
  }

  /// Resolves edges on whole stages, and element by element.
  private mutating func releaseStages(
    _ end: EndList.End, isLast: Bool, _ ends: inout EndList, into turn: inout SchedulingTurn
  ) {
    let graph = end.graph.number
    let hasEnded = isLast && graphs[graph].stages[end.stage].unfinished == 0
    for at in graphs[graph].stages[end.stage].outgoing.indices {
      let edge = graphs[graph].stages[end.stage].outgoing[at]
      switch edge.match {
      case .sameIndex:
        releaseElements(end, edge, &ends, into: &turn)
      case .all:
        if !end.cause.satisfies(edge.policy) {
          skipStage(graph, edge.stage, because: end.cause, &ends)
        } else if hasEnded {
          openGate(graph, edge.stage, into: &turn)
        }
      }
    }
  }

  /// Resolves the edges from each element to the one of the same number. Dependents change in
  /// spans, except that each skipped one has a reason of its own.
  private mutating func releaseElements(
    _ end: EndList.End, _ edge: StageEdge, _ ends: inout EndList, into turn: inout SchedulingTurn
  ) {
    let graph = end.graph.number
    let element = graphs[graph].stages[end.stage].element(end.range.lowerBound)
    let first = graphs[graph].stages[edge.stage].firstIndex + element
    if end.range.count == 1 {
      let dependent = OperationID(graph: end.graph, index: first)
      if isRemoved(end.cause.id, of: dependent) { return }
      return release(dependent, edge.policy, of: end.cause, &ends, into: &turn)
    }
    let isMet = end.cause.satisfies(edge.policy)
    if !isMet { turn.endSteps += end.range.count }
    let mayBeRemoved = !graphs[graph].removedDependencies.isEmpty
    changeSpans(graph, first..<(first + UInt32(end.range.count))) { state, dependents in
      let cell = state.graphs[graph].cell(dependents.first)
      if cell.phase == .finished || (!isMet && cell.isCancelled) { return }
      if isMet, !mayBeRemoved { return state.unblock(dependents, by: end.cause, into: &turn) }
      for index in dependents.range {
        let cause = end.cause(end.range.lowerBound + (index - first))
        let dependent = OperationID(graph: end.graph, index: index)
        if state.isRemoved(cause.id, of: dependent) { continue }
        state.release(dependent, edge.policy, of: cause, &ends, into: &turn)
      }
    }
  }

  /// Opens the gate of as many later stages as the turn has room for, each after its demand class
  /// has been taken in.
  private mutating func open(_ stages: inout LaterStages, into turn: inout SchedulingTurn) {
    let graph = stages.graph.number
    while hasRoom(turn), !stages.isEmpty {
      let stage = stages.numbers[stages.placed]
      stages.placed += 1
      turn.endSteps += 1
      // Stages ascend, and positions with them: a class that is not there is the next.
      if graphs[graph].lacksDemandClass(of: stage) {
        turn.endSteps += LaterStages.stepsOfDemandClass
        let demand = stages.demands[graphs[graph].stages[stage].demandPosition]
        let number = use(demand.demandClass, stages: demand.stages)
        graphs[graph].demandClasses.append(number, stages: demand.stages)
      }
      openGate(graph, stage, into: &turn)
    }
  }

  private mutating func openGate(_ graph: UInt32, _ stage: Int, into turn: inout SchedulingTurn) {
    guard graphs[graph].stages[stage].gates > 0 else { return }
    graphs[graph].stages[stage].gates -= 1
    if graphs[graph].stages[stage].gates == 0 { openStage(graph, stage, into: &turn) }
  }

  private mutating func skipStage(
    _ graph: UInt32, _ stage: Int, because cause: EndList.Cause, _ ends: inout EndList
  ) {
    guard graphs[graph].stages[stage].unfinished > 0, ends.note(stage: stage, of: graph) else {
      return
    }
    changeSpans(graph, graphs[graph].stages[stage].indices) { state, span in
      state.markImpossible(span, because: cause, &ends)
    }
  }
}
