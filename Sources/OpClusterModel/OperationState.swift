// The states and the outcomes of operations.

/// The phase of an operation (the table at the head of Semantics.md).
public enum Phase: UInt8, Sendable, CaseIterable {
  /// Known, but in no queue.
  case declared
  /// Queued behind an unfinished dependency, a hold or a barrier.
  case waiting
  /// Queued; only order, limits and room delay it.
  case ready
  /// Assigned to a worker and not started.
  case dispatched
  /// Started at least once; also between two attempts (S12).
  case executing
  /// Ended, for good.
  case finished
}

/// The outcome of an operation (S18). `skipped` is Semantics.md's cancelled(dependency); `timedOut`
/// is a failure with that cause.
public enum Outcome: UInt8, Sendable, CaseIterable {
  case succeeded = 1
  case failed
  case timedOut
  case cancelled
  case skipped
  case lost
}

/// The word for an operation's state; a finished operation shows its outcome.
public enum StateWord: String, Sendable, CaseIterable {
  case declared, waiting, held, ready, dispatched, executing, stopping
  case succeeded, failed
  case timedOut = "timed-out"
  case cancelled, skipped, lost

  public init(_ outcome: Outcome) {
    switch outcome {
    case .succeeded: self = .succeeded
    case .failed: self = .failed
    case .timedOut: self = .timedOut
    case .cancelled: self = .cancelled
    case .skipped: self = .skipped
    case .lost: self = .lost
    }
  }
}

/// The condition under which a finished dependency releases its dependent (S22).
public enum EdgePolicy: UInt8, Sendable, CaseIterable {
  /// Any outcome: Apple's meaning, and the library's default.
  case finished = 0
  /// Success only: the manifest's default.
  case succeeded = 1
  /// Failure, timeout or loss only: for compensation.
  case failed = 2

  public func isSatisfied(by outcome: Outcome) -> Bool {
    switch (self, outcome) {
    case (.finished, _), (.succeeded, .succeeded): true
    case (.failed, .failed), (.failed, .timedOut), (.failed, .lost): true
    case (.succeeded, _), (.failed, _): false
    }
  }
}

/// The order inside one queue (S47, S48). Only these five levels exist.
public enum Priority: Int8, Sendable, CaseIterable, Comparable {
  case veryLow = -8
  case low = -4
  case normal = 0
  case high = 4
  case veryHigh = 8

  /// Rounds any number toward normal, to the first level: 10000 → 8, −6 → −4, 3 → 0 (S48).
  public init(normalising number: Int) {
    self =
      switch number {
      case ..<(-7): .veryLow
      case ..<(-3): .low
      case ..<4: .normal
      case ..<8: .high
      default: .veryHigh
      }
  }
  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// Orders queues among each other (S60) and sets the scheduling class of the job (S55); has no
/// effect on the order inside a queue (S56).
public enum QualityOfService: UInt8, Sendable, CaseIterable, Comparable {
  case background = 0
  case utility
  case `default`
  case userInitiated
  case userInteractive
  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// The reason why an operation is cancelled or skipped.
public enum CancelReason: Hashable, Sendable {
  /// A request, with the reason given; may be empty.
  case request(String)
  /// An edge that can no longer be satisfied: this dependency ended with this outcome (S23).
  case dependency(OperationID, Outcome)
  /// The `on_failure` or `max_failures` of its graph, group or array.
  case failurePolicy
}

/// The cause of an attempt's failure; retry policies refer to it.
public enum FailureCause: UInt8, Sendable, CaseIterable {
  case none = 0
  /// The attempt ended with an unsuccessful exit status, or threw.
  case failed
  case timeout
  /// The attempt was killed by a foreign signal.
  case signal
  case outOfMemory
  /// Its worker was lost.
  case lost
  /// The worker could not start it: the program, the folder or the permission is missing.
  case cannotStart
  /// The argument could not be decoded; never retried (S129).
  case badArgument
  /// The worker does not have the type; the operation is tried elsewhere (S128).
  case unknownType
  /// A required output of a dependency is absent (S138).
  case missingInput
  /// The outputs are too large or malformed.
  case badOutput
  /// The worker process ended it in an orderly stop, or its guard did not let it begin. It does not
  /// count against the operation, unless the operation must not run twice (S12).
  case workerStopped
  /// What a dependency left lay in the store of a worker that is gone, and nobody else has it
  /// (S140).
  case inputUnavailable
  /// The store of its worker has no room for what it left; or for what it reads, if it has not
  /// begun, and then another worker is tried.
  case storeFull
}
