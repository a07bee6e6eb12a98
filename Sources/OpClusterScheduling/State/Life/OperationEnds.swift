// Ends operations and unblocks their dependents: an iterative work list, never recursion.
// Everything here follows from the rules alone, so replaying the fact of one end replays all its
// consequences.

import OpClusterModel

extension ClusterState {
  /// An operation that ends at this moment, with the reason.
  struct End {
    var id: OperationID
    var ending: OperationCell.Ending
    var reason: CancelReason?
    /// The worker that saw its end; 0 if the coordinator decided it. Known after the operation
    /// finished.
    var worker: UInt32 = 0
  }

  /// Ends an operation, and every operation that this end makes impossible (S23).
  mutating func end(_ id: OperationID, _ outcome: Outcome, into turn: inout SchedulingTurn) {
    end([End(id: id, ending: OperationCell.Ending(outcome), reason: nil)], into: &turn)
  }

  /// Costs the ended operations and their edges. Consumed entries are dropped from the front in
  /// blocks of 4,096, so that a cascade through millions keeps a short list.
  mutating func end(_ first: [End], into turn: inout SchedulingTurn) {
    var work = first
    var next = 0
    while next < work.count {
      var current = work[next]
      next += 1
      let cell = graphs[current.id.graph.number].cell(current.id.index)
      if cell.phase == .executing, !cell.isAssigned { current.worker = cell.worker }
      if finish(current, into: &turn) { release(current, &work, into: &turn) }
      if next > 4096 {
        work.removeFirst(next)
        next = 0
      }
    }
  }

  /// The one commit that clears isExecuting and sets isFinished (S9); false if it had ended before.
  private mutating func finish(_ end: End, into turn: inout SchedulingTurn) -> Bool {
    let id = end.id
    let graph = id.graph.number
    let cell = graphs[graph].cell(id.index)
    if cell.phase == .finished { return false }
    let stage = graphs[graph].stageNumber(of: id.index)
    if let reason = end.reason { markSkipped(id, stage, cell, reason, into: &turn) }
    if end.ending.outcome != .succeeded, cell.worker == 0 || cell.isAssigned {
      noteUnattempted(end, into: &turn)
    }
    leaveWorker(id, stage, into: &turn)
    let wasQueued = cell.phase != .declared
    let wasExecuting = cell.phase == .executing
    let wordBefore = graphs[graph].cell(id.index).word
    graphs[graph].update(id.index) { cell in
      guard let phase = LifeCycle.next(cell.phase, .end) else {
        preconditionFailure("\(id) cannot end from \(cell.phase)")
      }
      cell.phase = phase
      cell.ending = end.ending
      cell.blockers = 0
      cell.flags.formIntersection(.durable)
      cell.flags.subtract([.ahead, .retrying])
    }
    graphs[graph].forgetNotes(of: id.index)
    count(id, stage, from: wordBefore, to: graphs[graph].cell(id.index).word)
    if wasExecuting { emit(.isExecuting(false), id, into: &turn) }
    if !timestamps.isEmpty { timestamps[id] = nil }
    let outcome = end.ending.outcome ?? .lost
    emit(.isFinished(outcome), id, into: &turn)
    emit(.completion, id, into: &turn)
    leaveGraph(id, stage, end.ending)
    if wasQueued { leaveQueue(id, stage, wasExecuting: wasExecuting, into: &turn) }
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
      turn.history[last].count += 1
      return
    }
    var result = AttemptResult()
    result.endedAt = turn.wall
    var line = AttemptHistory(
      attempt: AttemptID(operation: end.id, attempt: 0), outcome: end.ending.outcome,
      reason: reason, workerName: "", result: result)
    line.run = 0
    turn.history.append(line)
  }

  private mutating func markSkipped(
    _ id: OperationID, _ stage: Int, _ cell: OperationCell, _ reason: CancelReason,
    into turn: inout SchedulingTurn
  ) {
    guard !cell.isCancelled else { return }
    if cell.phase == .dispatched { dropAtWorker(id, cell, into: &turn) }
    let wasReady = isReady(id, stage)
    graphs[id.graph.number].update(id.index) { $0.flags.insert(.cancelled) }
    graphs[id.graph.number].noteReason(reason, of: id.index)
    emit(.isCancelled(reason), id, into: &turn)
    openGateOfCancelled(id, stage, into: &turn)
    if !wasReady { emit(.isReady(true), id, into: &turn) }
  }

  /// Removes the operation from the counts of its graph.
  private mutating func leaveGraph(
    _ id: OperationID, _ stage: Int, _ ending: OperationCell.Ending
  ) {
    let graph = id.graph.number
    graphs[graph].stages[stage].unfinished -= 1
    graphs[graph].unfinished -= 1
    switch ending.outcome {
    case .cancelled: graphs[graph].sawCancelled = true
    case .failed, .timedOut, .lost, .succeeded, .skipped, nil: break
    }
    if graphs[graph].unfinished == 0 { justEnded.append(id.graph) }
  }

  /// Removes the operation from its queue: its place, its barrier segment (S111).
  mutating func leaveQueue(
    _ id: OperationID, _ stage: Int, wasExecuting: Bool, into turn: inout SchedulingTurn
  ) {
    let graph = id.graph.number
    let queue = graphs[graph].queue(of: id.index, stage: stage).number
    if wasExecuting { queues[queue].executing -= 1 }
    if graphs[graph].stages[stage].template.isBarrier {
      let parked = queues[queue].removeBarrier(id)
      unpark(parked, into: &turn)
      settleBarrier(queue, into: &turn)
      return
    }
    queues[queue].members -= 1
    noteCountChange(queue)
    let place = graphs[graph].enqueuePlace(of: id.index)
    let segment = queues[queue].segment(of: place)
    queues[queue].segments[segment].unfinished -= 1
    if segment == 0, queues[queue].hasBarriers { settleBarrier(queue, into: &turn) }
  }

  /// Resolves the edges of all dependents.
  private mutating func release(_ end: End, _ work: inout [End], into turn: inout SchedulingTurn) {
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
    releaseStages(end, &work, into: &turn)
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
    if cell.flags.contains(.ahead), cell.worker != end.worker, !turn.isReplay {
      // Recalled: its worker would wait for an end that it never sees (S151).
      askRecall(dependent, into: &turn)
    }
    let left = graphs[graph].update(dependent.index) { cell in
      cell.blockers -= 1
      return cell.blockers
    }
    if left == 0 { settle(dependent, into: &turn) }
  }

  /// The end of a dependent whose edge can no longer be met; nil if the dependent is already
  /// cancelled or (only possible with a late edge) runs.
  func skip(_ dependent: OperationID, _ cell: OperationCell, because end: End) -> End? {
    if cell.phase == .executing || cell.isCancelled { return nil }
    let cause = end.ending.outcome ?? .lost
    let isHarmless: Bool
    switch cause {
    case .succeeded: isHarmless = true
    case .skipped: isHarmless = end.ending.isHarmless
    case .failed, .timedOut, .cancelled, .lost: isHarmless = false
    }
    return End(
      id: dependent, ending: OperationCell.Ending(.skipped, isHarmless: isHarmless),
      reason: .dependency(end.id, cause))
  }

  /// Resolves edges on whole stages, and element by element.
  private mutating func releaseStages(
    _ end: End, _ work: inout [End], into turn: inout SchedulingTurn
  ) {
    let graph = end.id.graph.number
    let from = graphs[graph].stageNumber(of: end.id.index)
    let isLast = graphs[graph].stages[from].unfinished == 0
    for at in graphs[graph].stages[from].outgoing.indices {
      let edge = graphs[graph].stages[from].outgoing[at]
      switch edge.match {
      case .sameIndex:
        let element = graphs[graph].stages[from].element(end.id.index)
        let index = graphs[graph].stages[edge.stage].firstIndex + element
        release(graphs[graph].operation(index), edge.policy, of: end, &work, into: &turn)
      case .all:
        if let outcome = end.ending.outcome, edge.policy.isSatisfied(by: outcome) {
          if isLast { openGate(graph, edge.stage, into: &turn) }
        } else {
          skipStage(graph, edge.stage, because: end, &work)
        }
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
    for index in graphs[graph].stages[stage].indices {
      let cell = graphs[graph].cell(index)
      if cell.phase == .finished { continue }
      if let skip = skip(graphs[graph].operation(index), cell, because: end) {
        work.append(skip)
      }
    }
  }
}
