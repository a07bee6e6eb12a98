// Requests that wait for workers to answer recalls. They are answered, or decided again, when the
// last answer has arrived or the worker is lost (S91).

import OpClusterModel

extension Scheduler {
  /// Answers every request whose recalls are answered.
  mutating func settleDeferred(into turn: inout SchedulingTurn) {
    // Repeated: a request that is decided again may be answerable at once.
    while settleOnce(into: &turn) {}
  }

  /// Whether any request was settled.
  private mutating func settleOnce(into turn: inout SchedulingTurn) -> Bool {
    if deferred.isEmpty { return false }
    let waiting = deferred
    deferred = []
    var settled = false
    for var request in waiting {
      var unstarted: Set<OperationID> = []
      request.awaiting.removeAll { id in
        if state.isRecalling(id) { return false }
        if !hasBegun(id) { unstarted.insert(id) }
        return true
      }
      request.noteUnstarted(unstarted)
      if request.isSettled, !(hasPendingEnds && request.action.awaitsEnds) {
        settled = true
        finish(request, into: &turn)
      } else {
        deferred.append(request)
      }
    }
    return settled
  }

  private func hasBegun(_ id: OperationID) -> Bool {
    graphs.contains(id.graph.number)
      && graphs[id.graph.number].cell(id.index).runs > 0
  }

  private mutating func finish(_ request: DeferredRequest, into turn: inout SchedulingTurn) {
    switch request.action {
    case .finishCancelling(let progress):
      // Of many graphs it shows only in the end that none has such an operation. That nothing is in
      // a queue is no error.
      var isNothing = false
      if case .selection = progress.search { isNothing = progress.counts.total == 0 }
      turn.answer(
        request.asker,
        isNothing ? .refused(Self.noOperation) : .cancelled(progress.verdicts, progress.counts))
    case .finishSuspending(let progress):
      if progress.isSuspended {
        answerSuspended(request.asker, progress.members, into: &turn)
      } else {
        turn.answer(request.asker, .done(turn.commit))
      }
    case .answerSuspended(let members): answerSuspended(request.asker, members, into: &turn)
    case .decideAgain(let what, let pinned, let pausesAhead):
      if pausesAhead { aheadPauses -= 1 }
      state.unpin(pinned)
      handleClient(request.asker, what, into: &turn)
    case .changeAgain(let what, let members, let pinned):
      state.unpin(pinned)
      reply(to: request.asker, into: &turn) { (core, turn) throws(Refusal) in
        try core.change(request.asker, members, what, into: &turn)
      }
    }
  }

  private func answerSuspended(
    _ asker: Asker, _ members: [OperationID], into turn: inout SchedulingTurn
  ) {
    let executing = members.filter { runsNow($0) }.prefix(Limits.rowsPerReply)
    turn.answer(asker, .suspended(executing: Array(executing)))
  }

  private func runsNow(_ id: OperationID) -> Bool {
    guard graphs.contains(id.graph.number) else { return false }
    let cell = graphs[id.graph.number].cell(id.index)
    return cell.phase == .executing && !cell.flags.contains(.retrying)
  }
}
