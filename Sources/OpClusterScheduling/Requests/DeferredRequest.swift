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
    /// The cancellation is committed, but for the parts that are left; then the verdict of each
    /// member is known.
    case finishCancelling(CancellationProgress)
    /// The same of a suspension or resumption of graphs.
    case finishSuspending(SuspensionProgress)
    /// The suspension is committed; the answer names the ones of these that run (S72).
    case answerSuspended([OperationID])
    /// Nothing is committed: decide again. The pinned operations were not handed over meanwhile.
    case decideAgain(ClientRequest, pinned: [OperationRuns], pausesAhead: Bool)
    /// Decide a change again, for all operations that the request selected when it arrived.
    case changeAgain(TargetChange, TargetMembers, pinned: [OperationRuns])
  }
}

extension DeferredRequest {
  mutating func noteUnstarted(_ ids: Set<OperationID>) {
    guard !ids.isEmpty, case .finishCancelling(var progress) = action else { return }
    progress.noteUnstarted(ids)
    action = .finishCancelling(progress)
  }

  /// Whether it can be answered, or decided again.
  var isSettled: Bool { awaiting.isEmpty && !action.hasParts }
}

extension DeferredRequest.Action {
  /// In place, since what is left may be long.
  mutating func forgetPassed() {
    guard case .finishCancelling(var progress) = self else { return }
    self = .answerSuspended([])
    progress.passed = []
    self = .finishCancelling(progress)
  }

  /// Whether it has still to suspend or resume one of these graphs, which ascend.
  func willChange(anyOf graphs: [GraphID]) -> Bool {
    if case .finishSuspending(let progress) = self { progress.isLeft(anyOf: graphs) } else { false }
  }

  /// Whether it is answered only when nothing is left that follows from ends.
  var awaitsEnds: Bool { if case .finishCancelling = self { true } else { false } }

  /// Whether parts of it are left.
  var hasParts: Bool {
    switch self {
    case .finishCancelling(let progress): !progress.isComplete
    case .finishSuspending(let progress): !progress.isComplete
    case .answerSuspended, .decideAgain, .changeAgain: false
    }
  }
}

/// The change that a request makes to each selected operation.
enum TargetChange: Sendable {
  case priority(Priority)
  case hold(Bool)
  case queue(String)
}

/// The operations that a request targets, each once.
struct TargetMembers: Sendable {
  /// By graph, ascending.
  var runs: [OperationRuns] = []
  /// Operations of ended graphs that are only remembered.
  var gone: [OperationID] = []
}
