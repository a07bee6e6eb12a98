// Requests that wait for workers to answer recalls. They are answered, or decided again, when the
// last answer has arrived or the worker is lost (S91).

import OpClusterModel

struct DeferredRequest: Sendable {
  var asker: Asker
  var awaiting: [OperationID]
  var action: Action

  enum Action: Sendable {
    /// The cancellation is committed; the verdict of each member is known now.
    case answerCancel([CancelVerdict], total: UInt32)
    /// The suspension is committed; the answer names the ones of these that run (S72).
    case answerSuspended([OperationID])
    /// Nothing is committed: decide again. The pinned operations were not handed over meanwhile.
    case decideAgain(ClientRequest, pinned: [OperationID], pausesAhead: Bool)
    /// Decide a change again, for all operations that the request selected when it arrived.
    case changeAgain(TargetChange, TargetMembers, pinned: [OperationID])
  }
}

extension DeferredRequest {
  /// Sets the verdict of members that came back unstarted, and will never start, to `cancelled`; a
  /// member that had started stays `executing`, even if it has ended since (S91).
  fileprivate mutating func noteUnstarted(_ ids: Set<OperationID>) {
    guard !ids.isEmpty, case .answerCancel(var verdicts, let total) = action else { return }
    for at in verdicts.indices where ids.contains(verdicts[at].operation) {
      verdicts[at].verdict = .cancelled
    }
    action = .answerCancel(verdicts, total: total)
  }
}

extension Scheduler {
  /// Recalls the operations that a request needs, and pins the ones that it may change until it is
  /// decided.
  mutating func deferRequest(
    _ asker: Asker, awaiting: [OperationID], pinning: [OperationID],
    _ action: DeferredRequest.Action, into turn: inout Turn
  ) {
    state.pin(pinning)
    for id in awaiting { state.askRecall(id, into: &turn) }
    deferred.append(DeferredRequest(asker: asker, awaiting: awaiting, action: action))
  }

  /// Answers every request whose recalls are answered.
  mutating func settleDeferred(into turn: inout Turn) {
    // Repeated: a request that is decided again may be answerable at once.
    while settleOnce(into: &turn) {}
  }

  /// Whether any request was settled.
  private mutating func settleOnce(into turn: inout Turn) -> Bool {
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
      && graphs[id.graph.number].cell(id.index).flags.contains(.begun)
  }

  private mutating func finish(_ request: DeferredRequest, into turn: inout Turn) {
    switch request.action {
    case .answerCancel(let verdicts, let total):
      turn.answer(request.asker, .cancelled(verdicts, total: total))
    case .answerSuspended(let members):
      turn.answer(
        request.asker,
        .suspended(executing: Array(members.filter { isRunning($0) }.prefix(Limits.rowsPerReply))))
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

  private func isRunning(_ id: OperationID) -> Bool {
    guard graphs.contains(id.graph.number) else { return false }
    let cell = graphs[id.graph.number].cell(id.index)
    return cell.phase == .executing && !cell.flags.contains(.retrying)
  }
}
