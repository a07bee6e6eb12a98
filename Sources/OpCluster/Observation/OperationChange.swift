// The changes of an operation for observers (S104, S106): the counterpart of KVO's key paths.

public import OpClusterModel

/// One change of an operation, in the order of the coordinator's log.
public struct OperationChange: Hashable, Sendable {
  /// The operation's own gapless count, from 1 (S106).
  public var sequence: UInt32
  /// The position in the coordinator's single ordered log (S1).
  public var commit: UInt64
  public var kind: Kind

  public enum Kind: Hashable, Sendable {
    case isReady(Bool)
    case isExecuting(Bool)
    case isFinished(Outcome)
    case isCancelled(CancelReason)
    /// Its hold gate closed or opened (S44).
    case isHeld(Bool)
    case queuePriority(Priority)
    /// A dependency was added or removed after the submission.
    case dependencies
    /// A run began, with its number for people (S12).
    case attemptStarted(UInt32)
    /// A run ended and the operation will be tried again.
    case attemptEnded(UInt32, FailureCause)
    /// Recorded once, after `isFinished` (S109).
    case completed
  }
}

extension OperationChange.Kind {
  /// nil: observers are not told this kind of event.
  init?(_ kind: Event.Kind) {
    switch kind {
    case .isReady(let value): self = .isReady(value)
    case .isExecuting(let value): self = .isExecuting(value)
    case .isFinished(let outcome): self = .isFinished(outcome)
    case .isCancelled(let reason): self = .isCancelled(reason)
    case .attemptStarted(let run, _): self = .attemptStarted(run)
    case .attemptEnded(let run, let cause): self = .attemptEnded(run, cause)
    case .completion: self = .completed
    case .priority(let priority): self = .queuePriority(priority)
    case .isHeld(let value): self = .isHeld(value)
    case .dependencyAdded, .dependencyRemoved, .enqueued: self = .dependencies
    default: return nil
    }
  }
}
