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
      if request.awaiting.isEmpty {
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
    case .answerCancel(let verdicts, let counts):
      turn.answer(request.asker, .cancelled(verdicts, counts))
    case .answerSuspended(let members):
      turn.answer(
        request.asker,
        .suspended(executing: Array(members.filter { runsNow($0) }.prefix(Limits.rowsPerReply))))
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

  private func runsNow(_ id: OperationID) -> Bool {
    guard graphs.contains(id.graph.number) else { return false }
    let cell = graphs[id.graph.number].cell(id.index)
    return cell.phase == .executing && !cell.flags.contains(.retrying)
  }
}
