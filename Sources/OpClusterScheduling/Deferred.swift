// Requests that wait for workers to answer recalls: decided, or decided anew, when the last answer
// is in or the worker is lost (S91).

import OpClusterModel

struct DeferredRequest: Sendable {
  var asker: Asker
  var awaiting: [OperationID]
  var action: Action

  enum Action: Sendable {
    /// The cancellation is committed; what each member came to is known now.
    case answerCancel([CancelVerdict], total: UInt32)
    /// The suspension is committed; those of these that run are named (S72).
    case answerSuspended([OperationID])
    /// Nothing is committed: ask again. These were kept from being handed over meanwhile.
    case decideAgain(ClientRequest, pinned: [OperationID], pausesAhead: Bool)
  }
}

extension Scheduler {
  /// Recalls what a request needs back, and keeps it back until the request is decided.
  mutating func deferRequest(
    _ asker: Asker, _ request: ClientRequest, awaiting: [OperationID], pausesAhead: Bool,
    into turn: inout Turn
  ) {
    for id in awaiting {
      graphs[id.graph.number].update(id.index) { $0.flags.insert(.pinned) }
      askRecall(id, into: &turn)
    }
    deferred.append(
      DeferredRequest(
        asker: asker, awaiting: awaiting,
        action: .decideAgain(request, pinned: awaiting, pausesAhead: pausesAhead)))
  }

  /// Answers whatever has become answerable.
  mutating func settleDeferred(into turn: inout Turn) {
    if deferred.isEmpty { return }
    let waiting = deferred
    deferred = []
    for var request in waiting {
      request.awaiting.removeAll { !isRecalling($0) }
      if request.awaiting.isEmpty {
        finish(request, into: &turn)
      } else {
        deferred.append(request)
      }
    }
  }

  private mutating func finish(_ request: DeferredRequest, into turn: inout Turn) {
    switch request.action {
    case .answerCancel(let verdicts, let total):
      let now = verdicts.map { known in
        guard known.verdict == .executing, !isRunning(known.operation) else { return known }
        return CancelVerdict(operation: known.operation, verdict: .cancelled)
      }
      turn.answer(request.asker, .cancelled(now, total: total))
    case .answerSuspended(let members):
      turn.answer(
        request.asker,
        .suspended(executing: Array(members.filter { isRunning($0) }.prefix(Limits.rowsPerReply))))
    case .decideAgain(let what, let pinned, let pausesAhead):
      if pausesAhead { aheadPauses -= 1 }
      for id in pinned where graphs.contains(id.graph.number) {
        graphs[id.graph.number].update(id.index) { $0.flags.remove(.pinned) }
        if graphs[id.graph.number].cell(id.index).isInLine {
          enterLine(id, graphs[id.graph.number].stageNumber(of: id.index))
        }
      }
      handleClient(request.asker, what, into: &turn)
    }
  }

  private func isRunning(_ id: OperationID) -> Bool {
    guard graphs.contains(id.graph.number) else { return false }
    let cell = graphs[id.graph.number].cell(id.index)
    return cell.phase == .executing && !cell.flags.contains(.retrying)
  }
}
