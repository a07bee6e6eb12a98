// The states an operation can be in and how it can end, as every reader sees them.

/// The phase of an operation (the table at the head of Semantics.md).
public enum Phase: UInt8, Sendable, CaseIterable {
  /// Known, in no queue.
  case declared
  /// Queued; an unfinished dependency, a hold or a barrier is ahead.
  case waiting
  /// Queued, nothing in its way but order, limits and room.
  case ready
  /// Held by a worker, not started.
  case dispatched
  /// One or more attempts; also between two attempts (S12).
  case executing
  /// Ended; goes nowhere, ever.
  case finished
}

/// How an operation ended (S18). `skipped` is Semantics.md's cancelled(dependency), `timedOut` is
/// a failed one with that cause.
public enum Outcome: UInt8, Sendable, CaseIterable {
  case succeeded = 1
  case failed
  case timedOut
  case cancelled
  case skipped
  case lost
}

/// The word people see for an operation. Finished ones show their outcome.
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

/// When a finished dependency lets its dependent go on (S22).
public enum EdgePolicy: UInt8, Sendable, CaseIterable {
  /// However it ended: Apple's meaning, and the library's default.
  case finished = 0
  /// Only if it succeeded: the manifest's default.
  case succeeded = 1
  /// Only if it failed, timed out or was lost: for compensation.
  case failed = 2

  public func isSatisfied(by outcome: Outcome) -> Bool {
    switch (self, outcome) {
    case (.finished, _), (.succeeded, .succeeded): true
    case (.failed, .failed), (.failed, .timedOut), (.failed, .lost): true
    case (.succeeded, _), (.failed, _): false
    }
  }
}

/// Order inside one queue (S47, S48). Only these five levels exist.
public enum Priority: Int8, Sendable, CaseIterable, Comparable {
  case veryLow = -8
  case low = -4
  case normal = 0
  case high = 4
  case veryHigh = 8

  /// Pulls any number toward normal to the first level met: 10000 → 8, −6 → −4, 3 → 0 (S48).
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

/// Decides between queues (S60) and sets the scheduling class of the job (S55); never the order
/// inside a queue (S56).
public enum QualityOfService: UInt8, Sendable, CaseIterable, Comparable {
  case background = 0
  case utility
  case `default`
  case userInitiated
  case userInteractive
  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// Why an operation is cancelled or skipped.
public enum CancelReason: Hashable, Sendable {
  /// Somebody asked; with the reason they gave, which may be empty.
  case request(String)
  /// An edge can no longer be met: this dependency ended with this outcome (S23).
  case dependency(OperationID, Outcome)
  /// The `on_failure` or `max_failures` of its graph, group or array took effect.
  case failurePolicy
}

/// Why an attempt failed: a closed list that retry policies speak of.
public enum FailureCause: UInt8, Sendable, CaseIterable {
  case none = 0
  /// It ended with an exit status that is not a success, or threw.
  case failed
  case timeout
  /// Killed by a signal that nobody here sent.
  case signal
  case outOfMemory
  /// Its worker was lost.
  case lost
  /// The worker could not start it: no such program, folder or permission.
  case cannotStart
  /// The argument could not be decoded: never retried (S129).
  case badArgument
  /// The worker does not have the type (S128): tried elsewhere.
  case unknownType
  /// A required output of a dependency is absent (S138).
  case missingInput
  /// Its outputs are too large or malformed.
  case badOutput
  /// The worker process ended it in an orderly stop, or its guard did not let it begin. Not counted
  /// against the operation, unless it must not run twice (S12).
  case workerStopped
}
