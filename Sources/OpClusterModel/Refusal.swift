// Why the coordinator says no. A refusal changes nothing (S145).

/// A reply that refuses, with its cause and what to do.
public struct Refusal: Hashable, Error, Sendable {
  public var code: Code
  /// What is wrong, naming the thing.
  public var message: String
  /// What to do about it; may be empty.
  public var hint: String
  /// The operations concerned: a cycle's path, an unknown dependency.
  public var operations: [OperationID]
  /// Too much for now: the same request may be taken after this time, at most
  /// `Limits.longestRetryAfter` (G27). nil: waiting alone will not help.
  public var retryAfter: Span?
  /// There is no room for more operations: only submissions wait until then, all else is taken
  /// meanwhile, since it may be what makes room.
  public var lacksRoom: Bool
  public init(
    _ code: Code, _ message: String, hint: String = "", operations: [OperationID] = [],
    retryAfter: Span? = nil, lacksRoom: Bool = false
  ) {
    self.code = code
    self.message = message
    self.hint = hint
    self.operations = operations
    self.retryAfter = retryAfter
    self.lacksRoom = lacksRoom
  }

  public enum Code: UInt8, Sendable, CaseIterable {
    case alreadyEnqueued = 1
    case alreadyFinished, notReady, badLimit, alreadyStarted
    case queueNotEmpty, queueExists, unknownDependency, expired, selfDependency, cycle
    case conflictingEdge, unknownQueue, unknownGraph, unknownOperation, unknownWorker
    case wouldDeadlock, wouldStarve, badRequest, limitExceeded
    /// Same key, other content (G19).
    case conflict
    case versionMismatch
    /// The peer's role may not say this (G36).
    case forbidden
    /// Too much at once; try again later (G27).
    case busy
    case shuttingDown
    /// A subscriber that did not read was put out (G28).
    case evicted
    case noSuchLog
    case workerUnavailable
    /// The peer was told what this coordinator's journal does not know: an older state was
    /// restored, or it is another cluster. What the peer remembers has no meaning here.
    case otherHistory
  }
}

extension Refusal.Code {
  /// The code as JSON and people see it: `unknownDependency`.
  public var text: String { String(describing: self) }
}
