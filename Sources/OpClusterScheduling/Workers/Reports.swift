// Reports of workers: committed in legal order, regardless of the order of arrival, and once,
// regardless of repetitions (S108, S149). A late report is normal: it is counted and answered.
// `Conversations` has heard the worker before it comes here. Nothing a worker says reaches a fact
// unless `isCurrent` holds for the attempt.

import OpClusterModel

extension Scheduler {
  /// Takes one report. Its number must follow the last one taken: an earlier one is a repetition
  /// and is acknowledged again with the next orders, a later one means that a message was lost, and
  /// the worker begins a new conversation. Costs the entries.
  mutating func take(
    _ report: WorkerReport, from worker: WorkerID, _ peer: PeerID, into turn: inout SchedulingTurn
  ) {
    let number = worker.number
    guard report.conversation == conversationNow(with: worker) else {
      lateReports += 1
      return
    }
    guard report.number == conversations[number].reportTaken + 1 else {
      if report.number <= conversations[number].reportTaken { return }
      let refusal = Refusal(
        .busy, "report \(report.number) came after \(conversations[number].reportTaken): begin anew"
      )
      return turn.atOnce.append(.toWorker(peer, .refused(refusal)))
    }
    conversations[number].reportTaken = report.number
    conversations[number].note(ordersTaken: report.ordersTaken, at: turn.now)
    // Orders travel without repetition, too. If the worker has not taken them within the lease,
    // only a new conversation tells them again.
    if conversations[number].missesOrders(at: turn.now, patience: timing.lost) {
      let refusal = Refusal(
        .busy, "orders after \(report.ordersTaken) did not arrive: begin anew")
      turn.atOnce.append(.toWorker(peer, .refused(refusal)))
    }
    if report.isLeaving { startDraining(worker, into: &turn) }
    if conversations[number].isUnwell || !report.unkillable.isEmpty
      || report.unkillableDemand != .none
    {
      noteUnkillable(report, at: number)
    }
    if !report.held.isEmpty || !report.lost.isEmpty {
      takeContents(of: report, at: worker, into: &turn)
    }
    if !report.unreached.isEmpty || !report.undelivered.isEmpty {
      takeDeliveries(of: report, at: worker, into: &turn)
    }
    if report.entries.isEmpty { return }
    // Empty orders carry the acknowledgement, which leaves when the facts below are durable.
    _ = turn.orders(for: worker)
    var (ended, atOnce) = (0, 0)
    for at in report.entries.indices {
      if isStartOfNext(report.entries, at) { continue }
      let end = take(report.entries[at], from: worker, into: &turn)
      if end == .none { continue }
      ended += 1
      if end == .atOnce, at == 0 || !isStartOfNext(report.entries, at - 1) { atOnce += 1 }
    }
    // The rate of ends is what `prefetch` measures a worker's speed by.
    if ended > 0 {
      conversations[number].noteEnded(ended, atOnce: atOnce == ended, at: turn.now)
      aheadStops.noteEnds(at: number)
    }
  }

  /// Processes that KILL does not end take resources of the worker that operations cannot have. The
  /// names are for people; the demand is for placement.
  private mutating func noteUnkillable(_ report: WorkerReport, at number: UInt32) {
    let isOther = conversations[number].note(
      unkillable: report.unkillable, demand: report.unkillableDemand)
    if isOther {
      capacityChanges &+= 1
      compareWithNamed(number)
    }
    if conversations[number].isUnwell {
      unwellWorkers.insert(number)
    } else {
      unwellWorkers.remove(number)
    }
  }

  /// Whether a start is directly followed by its own end, which then reports both.
  private func isStartOfNext(_ entries: [WorkerReport.Entry], _ at: Int) -> Bool {
    guard case .started(let attempt) = entries[at], at + 1 < entries.count,
      case .finished(attempt, _) = entries[at + 1]
    else { return false }
    return true
  }

  /// What an entry says of the speed of its worker.
  private enum MeasuredEnd {
    /// It ended nothing, or a start that failed: that takes no time.
    case none
    case later
    /// The start was told by no report before.
    case atOnce
  }

  /// Handles one entry of a report.
  private mutating func take(
    _ entry: WorkerReport.Entry, from worker: WorkerID, into turn: inout SchedulingTurn
  ) -> MeasuredEnd {
    let id = entry.attempt.operation
    if case .cancelTaken = entry { return .none }
    if entry.impliesStart, isCurrent(entry.attempt, worker) {
      followEnds(before: id, into: &turn)
    }
    guard isCurrent(entry.attempt, worker) else {
      turnAway(entry.attempt, of: worker, into: &turn)
      return .none
    }
    switch entry {
    case .started(let attempt), .alreadyStarted(let attempt):
      takeStart(attempt, worker, into: &turn)
    case .finished(_, let result):
      let isUnbegun = graphs[id.graph.number].cell(id.index).isAssigned
      conclude(id, result, by: worker, into: &turn)
      return result.couldNotStart ? .none : isUnbegun ? .atOnce : .later
    case .recalled:
      if graphs[id.graph.number].cell(id.index).isAssigned { commit(.recalled, id, into: &turn) }
    case .progress(_, let fraction, let text):
      noteProgress(of: id, fraction, text)
    // The end of the attempt is what counts.
    case .cancelTaken:
      break
    }
    return .none
  }

  /// A start is told once: a repetition finds the attempt begun. One that overtook its cancellation
  /// is told to stop now.
  private mutating func takeStart(
    _ attempt: AttemptID, _ worker: WorkerID, into turn: inout SchedulingTurn
  ) {
    let id = attempt.operation
    guard graphs[id.graph.number].cell(id.index).isAssigned else { return }
    commit(.executing, id, into: &turn)
    noteBegin(attempt, at: worker.number, turn.now)
    if graphs[id.graph.number].cell(id.index).isCancelled { sendCancel(id, into: &turn) }
  }

  /// Whether an attempt is the one that this worker has now (G13).
  private func isCurrent(_ attempt: AttemptID, _ worker: WorkerID) -> Bool {
    let id = attempt.operation
    guard graphs.contains(id.graph.number), id.index < graphs[id.graph.number].operationCount else {
      return false
    }
    let cell = graphs[id.graph.number].cell(id.index)
    return cell.worker == worker.number && cell.attempt == attempt.attempt
  }

  /// Tells a worker to stop an attempt that is not its own any more. A report of one that cannot
  /// have been its own is a lie, which its connection answers for.
  private mutating func turnAway(
    _ attempt: AttemptID, of worker: WorkerID, into turn: inout SchedulingTurn
  ) {
    lateReports += 1
    if let peer = conversations[worker.number].peer, isLie(attempt, of: worker) {
      turn.lies.append(Lie(peer: peer, attempt: attempt))
    }
    let at = turn.orders(for: worker)
    turn.orders[at].orders.stale.append(attempt)
  }

  /// Whether no correct worker could report this. A late report concerns an attempt that once was
  /// the worker's own; numbers are issued once, and only when they are durable (G3, G14).
  private func isLie(_ attempt: AttemptID, of worker: WorkerID) -> Bool {
    // The worker may know more than a journal that was copied or restored.
    if mayHaveGoneBack { return false }
    let id = attempt.operation
    if id.graph.number > counters.lastGraph || attempt.attempt == 0 { return true }
    guard graphs.contains(id.graph.number) else { return false }
    guard id.index < graphs[id.graph.number].operationCount else { return true }
    let cell = graphs[id.graph.number].cell(id.index)
    if attempt.attempt > cell.attempt { return true }
    return attempt.attempt == cell.attempt && cell.worker != 0 && cell.worker != worker.number
  }

  /// Handles the end of an attempt: it ends the operation, or another attempt follows. The line of
  /// the history is noted before the fact, which changes what the line says; a plain success has
  /// none.
  private mutating func conclude(
    _ id: OperationID, _ result: AttemptResult, by worker: WorkerID, into turn: inout SchedulingTurn
  ) {
    let cell = state.graphs[id.graph.number].cell(id.index)
    if cell.flags.contains(.ahead), cell.phase == .dispatched, !result.isSuccess, !result.hasRun {
      // It was not its time yet: it waits for its dependencies as if it had not been sent ahead.
      // Another attempt would be in line at once (S151).
      return commit(.recalled, id, into: &turn)
    }
    let couldNotStart = cell.isAssigned && result.couldNotStart && !result.wasStopped
    if couldNotStart, lacksHolder(id, of: worker) {
      // Nobody could have given it what it reads: that is no fault of this worker.
      return commit(.recalled, id, into: &turn)
    }
    if result.isSuccess, result.output.isEmpty {
      noteStart(of: id, at: worker.number, turn.now)
      if result != .success { state.note(result, of: id, ends: true, by: worker, into: &turn) }
      commit(.succeeded, id, into: &turn)
      return noteReusable(id, into: &turn)
    }
    if result.cause == .unknownType {
      // The worker lacks the type that it announced: the operation runs elsewhere until its next
      // hello.
      let stage = graphs[id.graph.number].stageNumber(of: id.index)
      let demandClass = graphs[id.graph.number].demandClass(of: stage)
      conversations[worker.number].lacks[demandClass] = classes[demandClass].serial
      if let own = graphs[id.graph.number].stages[stage].ownClass {
        conversations[worker.number].lacks[own] = classes[own].serial
      }
    }
    if !cell.isCancelled, tryElsewhere(id, result, after: worker, at: turn.now) {
      // The fact says that the attempt does not count; the history keeps the real cause.
      var uncounted = result
      uncounted.cause = .workerStopped
      state.note(result, of: id, ends: false, by: worker, into: &turn)
      commit(.attemptFailed(id, uncounted, at: turn.wall), into: &turn)
      return state.recallAhead(of: id, into: &turn)
    }
    if result.hasRun { noteStart(of: id, at: worker.number, turn.now) }
    let isFinal = result.isSuccess || cell.isCancelled || !mayTryAgain(id, cell, result)
    state.note(result, of: id, ends: isFinal, by: worker, into: &turn)
    if isFinal {
      // Recalled: the worker could not know that no other worker would try it.
      if result.couldNotStart { state.recallAhead(of: id, into: &turn) }
      commit(.finished(id, state.withinRoom(result, of: id)), into: &turn)
      noteReusable(id, into: &turn)
      noteRecomputed(id, into: &turn)
    } else {
      commit(.attemptFailed(id, result, at: turn.wall), into: &turn)
      state.recallAhead(of: id, into: &turn)
    }
  }

  /// Whether the retry policy allows another attempt after this failure (S12). Losses are not asked
  /// about here: the coordinator decides them, and `loseWorker` counts them. The failures so far
  /// are compared with `maximum`, so that a maximum of n allows n further runs.
  private func mayTryAgain(
    _ id: OperationID, _ cell: OperationCell, _ result: AttemptResult
  ) -> Bool {
    let stage = graphs[id.graph.number].stageNumber(of: id.index)
    let policy = graphs[id.graph.number].stages[stage].template.retry
    if result.cause == .workerStopped { return !state.runsOnce(id) }
    // A relay has lost the machine that ran it: a loss as any other.
    if result.cause == .lost { return state.mayRunAgainAfterLoss(id) }
    // Final: another attempt would get the same argument and the same outputs (S129, S138).
    if result.wasStopped || result.cause == .badArgument || result.cause == .missingInput
      || result.cause == .inputUnavailable
    {
      return false
    }
    if result.cause == .unknownType { return UInt32(cell.failures) < Limits.lossesBeforeGivingUp }
    guard UInt32(cell.failures) < policy.maximum else { return false }
    return policy.reasons.isEmpty || policy.reasons.contains { $0.matches(result) }
  }

  /// Tells the worker of a running attempt to stop (S92).
  mutating func sendCancel(_ id: OperationID, grace: Span? = nil, into turn: inout SchedulingTurn) {
    let cell = graphs[id.graph.number].cell(id.index)
    guard cell.worker != 0, workers.contains(cell.worker) else { return }
    // No repetition in this conversation: orders are numbered, and a lost one begins a new one.
    let at = turn.orders(for: WorkerID(cell.worker))
    turn.orders[at].orders.cancels.append(
      CancelOrder(
        attempt: AttemptID(operation: id, attempt: cell.attempt), grace: grace))
  }
}

extension AttemptResult {
  /// Whether the end shows that the operation was started.
  fileprivate var hasRun: Bool {
    switch cause {
    case .none, .failed, .timeout, .signal, .outOfMemory, .badOutput: !wasStopped
    case .storeFull: !couldNotStart
    case .lost, .cannotStart, .badArgument, .unknownType, .missingInput, .inputUnavailable,
      .workerStopped:
      false
    }
  }
}

extension RetryPolicy.Reason {
  fileprivate func matches(_ result: AttemptResult) -> Bool {
    switch self {
    case .any: true
    case .failed: result.cause != .timeout && result.cause != .lost
    case .timeout: result.cause == .timeout
    case .outOfMemory: result.cause == .outOfMemory
    case .lost: result.cause == .lost
    case .anySignal: result.cause == .signal
    case .signal(let signal): result.cause == .signal && result.signal == signal
    case .exit(let first, let last):
      result.cause == .failed && result.exitStatus >= Int32(first)
        && result.exitStatus <= Int32(last)
    }
  }
}

extension WorkerReport.Entry {
  /// Whether the attempt has begun, as far as the worker knows.
  fileprivate var impliesStart: Bool {
    switch self {
    case .started, .alreadyStarted, .finished: true
    default: false
    }
  }
}
