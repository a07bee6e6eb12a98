// Changes unstarted operations: their priority (S52), their hold gate (S44), their queue.
// Assigned operations are recalled first; then all change in one commit (S97), and none starts in
// between.

import OpClusterModel

extension Scheduler {
  /// The three requests that come here differ only in `TargetChange`: they name targets, recall,
  /// and count late members alike.
  mutating func change(
    _ asker: Asker, _ target: OperationTarget, _ what: TargetChange, into turn: inout SchedulingTurn
  ) throws(Refusal) -> Answer {
    try change(asker, resolve(target, by: asker), what, into: &turn)
  }

  /// Called again with the same members when their recalls are answered: a selection that is
  /// resolved anew could mean others (`DeferredRequests`). A step for each span of members.
  mutating func change(
    _ asker: Asker, _ members: TargetMembers, _ what: TargetChange, into turn: inout SchedulingTurn
  ) throws(Refusal) -> Answer {
    let decided = try decide(what)
    var count = ChangeCount(late: UInt32(members.gone.count))
    for runs in members.runs { weigh(runs, decided, &count) }
    if case .queue(let queue) = decided { try checkEntering(count.changing, queue) }
    if count.awaited.isEmpty {
      make(decided, of: count.changing, into: &turn)
      let changing = count.changing.reduce(0) { $0 + $1.operationCount }
      return .now(.changed(count.asAsked + UInt32(changing), unchanged: count.late))
    }
    deferRequest(
      asker, awaiting: count.awaited, pinning: count.changing,
      .changeAgain(what, members, pinned: count.changing), into: &turn)
    return .later
  }

  /// A change that can be made: its queue exists.
  private enum Decided {
    case priority(Priority)
    case hold(Bool)
    case queue(QueueID)
  }

  private func decide(_ what: TargetChange) throws(Refusal) -> Decided {
    switch what {
    case .priority(let priority): .priority(priority)
    case .hold(let isHeld): .hold(isHeld)
    case .queue(let name): .queue(try queue(named: name))
    }
  }

  /// The members of one request, sorted by what a change does to them.
  private struct ChangeCount {
    /// Already have the requested value.
    var asAsked: UInt32 = 0
    /// Have started, or have ended (S35, S62).
    var late: UInt32
    /// By graph, in the order of the members.
    var changing: [OperationRuns] = []
    /// The changing ones that a worker was given.
    var awaited: [OperationID] = []
  }

  /// Sorts the members of one graph. A graph that has ended since the first decision makes all of
  /// its members late.
  private func weigh(_ runs: OperationRuns, _ what: Decided, _ count: inout ChangeCount) {
    guard graphs.contains(runs.graph.number) else {
      count.late += UInt32(runs.operationCount)
      return
    }
    var changing = OperationRuns(graph: runs.graph)
    graphs.forEachSpan(of: runs) { span in
      let cell = graphs[span.graph.number].cell(span.first)
      if !isOpen(cell, span, to: what) {
        count.late += span.count
      } else if isAsAsked(span, cell, what) {
        count.asAsked += span.count
      } else {
        changing.append(span)
        if cell.phase == .dispatched { count.awaited.append(span.id) }
      }
    }
    if !changing.isEmpty { count.changing.append(changing) }
  }

  /// Whether it can still be changed. A declared operation has no queue to leave; a cancelled one
  /// only waits for its queue to resume (S75). What runs again for others keeps its place, since
  /// elsewhere it could stand behind a barrier that waits for them (S153).
  private func isOpen(_ cell: OperationCell, _ span: OperationSpan, to what: Decided) -> Bool {
    if cell.phase == .executing || cell.phase == .finished { return false }
    return switch what {
    case .priority: true
    case .hold: !cell.isCancelled
    case .queue:
      !cell.isCancelled && cell.phase != .declared
        && (graphs[span.graph.number].submission.recomputes == nil || isAsAsked(span, cell, what))
    }
  }

  /// Whether the change would change nothing. A timed gate is closed for a while only, so that
  /// holding it is a change.
  private func isAsAsked(_ span: OperationSpan, _ cell: OperationCell, _ what: Decided) -> Bool {
    let (graph, index) = (span.graph.number, span.first)
    return switch what {
    case .priority(let priority): graphs[graph].priority(of: index, stage: span.stage) == priority
    case .hold(let isHeld): cell.isHeld == isHeld && !(isHeld && cell.isTimed)
    case .queue(let queue): graphs[graph].queue(of: index, stage: span.stage) == queue
    }
  }

  /// Commits the change, one fact for each graph. With a priority or a queue each operation draws a
  /// place of its own, in the order of the members (S52).
  private mutating func make(
    _ what: Decided, of operations: [OperationRuns], into turn: inout SchedulingTurn
  ) {
    for runs in operations {
      switch what {
      case .priority(let priority): commit(.prioritySet(runs, priority), into: &turn)
      case .queue(let queue): commit(.moved(runs, queue), into: &turn)
      case .hold(let isHeld): commit(isHeld ? .held(runs) : .released(runs), into: &turn)
      }
    }
  }
}
