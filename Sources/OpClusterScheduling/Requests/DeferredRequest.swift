// The answer to a request, at once or after workers have answered recalls.

import OpClusterModel

/// The answer to a request that was not refused.
enum Answer: Sendable {
  case now(ClientReply)
  /// Workers must return operations first: a `DeferredRequest` answers, or is decided again.
  case later
}

struct DeferredRequest: Sendable {
  var asker: Asker
  var awaiting: [OperationID]
  var action: Action

  enum Action: Sendable {
    /// The cancellation is committed; the verdict of each member is known now.
    case answerCancel([CancelVerdict], VerdictCounts)
    /// The suspension is committed; the answer names the ones of these that run (S72).
    case answerSuspended([OperationID])
    /// Nothing is committed: decide again. The pinned operations were not handed over meanwhile.
    case decideAgain(ClientRequest, pinned: [OperationRuns], pausesAhead: Bool)
    /// Decide a change again, for all operations that the request selected when it arrived.
    case changeAgain(TargetChange, TargetMembers, pinned: [OperationRuns])
  }
}

extension DeferredRequest {
  /// Sets the verdict of members that came back unstarted, and will never start, to `cancelled`; a
  /// member that had started stays `executing`, even if it has ended since (S91).
  mutating func noteUnstarted(_ ids: Set<OperationID>) {
    guard !ids.isEmpty, case .answerCancel(var verdicts, var counts) = action else { return }
    for at in verdicts.indices where ids.contains(verdicts[at].operation) {
      verdicts[at].verdict = .cancelled
    }
    counts.move(ids.count, from: .executing, to: .cancelled)
    action = .answerCancel(verdicts, counts)
  }
}

/// The change that a request makes to each selected operation.
enum TargetChange: Sendable {
  case priority(Priority)
  case hold(Bool)
  case queue(String)
}
