// Refusals of the coordinator. A refusal changes nothing (S145).

/// A reply that refuses, with the cause and the remedy.
public struct Refusal: Hashable, Error, Sendable {
  public var code: Code
  /// The problem; names the thing.
  public var message: String
  /// The remedy; may be empty.
  public var hint: Advice
  /// The operations concerned: a cycle's path, or an unknown dependency. The initializer keeps the
  /// first `Limits.operationsPerRefusal`.
  public var operations: [OperationID]
  /// The time after which the same request may be accepted, at most `Limits.longestRetryAfter`
  /// (G27). nil: waiting alone does not help.
  public var retryAfter: Span?
  /// There is no room for more operations. Only submissions must wait; others may make room.
  public var lacksRoom: Bool
  public init(
    _ code: Code, _ message: String, hint: Advice = "", operations: [OperationID] = [],
    retryAfter: Span? = nil, lacksRoom: Bool = false
  ) {
    self.code = code
    self.message = message
    self.hint = hint
    // A path may be as long as the world is large.
    self.operations =
      operations.count > Limits.operationsPerRefusal
      ? Array(operations.prefix(Limits.operationsPerRefusal)) : operations
    self.retryAfter = retryAfter
    self.lacksRoom = lacksRoom
  }

  public enum Code: UInt8, Sendable, CaseIterable {
    case alreadyEnqueued = 1
    case alreadyFinished, notReady, badLimit, alreadyStarted
    case queueNotEmpty, queueExists, unknownDependency, expired, selfDependency, cycle
    case conflictingEdge, unknownQueue, unknownGraph, unknownOperation, unknownWorker
    case wouldDeadlock, wouldStarve, badRequest, limitExceeded
    /// The key was used with other content (G19).
    case conflict
    case versionMismatch
    /// The peer's role does not allow the message (G36).
    case forbidden
    /// Too much at once; retry later (G27).
    case busy
    case shuttingDown
    /// The subscriber did not read and was evicted (G28).
    case evicted
    case noSuchLog
    case workerUnavailable
    /// The peer knows something that this coordinator's journal does not contain: an older state
    /// was restored, or it is another cluster. The peer's knowledge has no meaning here.
    case otherHistory
  }
}

extension Refusal.Code {
  /// The code for JSON and people: `unknownDependency`.
  public var text: String { String(describing: self) }
}
