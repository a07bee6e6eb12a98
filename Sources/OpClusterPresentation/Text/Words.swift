// The words for states, causes and policies in tables, pages and JSON.
// Programs and manifests depend on the words with underscores and hyphens: they are never changed.

public import OpClusterModel

extension Priority {
  /// The word of the manifest: `very-low` … `very-high`.
  public var word: String {
    switch self {
    case .veryLow: "very-low"
    case .low: "low"
    case .normal: "normal"
    case .high: "high"
    case .veryHigh: "very-high"
    }
  }
}

extension QualityOfService {
  /// The word of the manifest.
  public var word: String {
    switch self {
    case .background: "background"
    case .utility: "utility"
    case .default: "default"
    case .userInitiated: "user-initiated"
    case .userInteractive: "user-interactive"
    }
  }
}

extension EdgePolicy {
  public var word: String {
    switch self {
    case .finished: "finished"
    case .succeeded: "succeeded"
    case .failed: "failed"
    }
  }
}

extension Outcome {
  /// The word of the rules: timed-out is a failure, skipped is a cancellation (S18).
  public var word: String {
    switch self {
    case .succeeded: "succeeded"
    case .failed, .timedOut: "failed"
    case .cancelled, .skipped: "cancelled"
    case .lost: "lost"
    }
  }
}

extension GraphOutcome {
  public var word: String {
    switch self {
    case .succeeded: "succeeded"
    case .failed: "failed"
    case .cancelled: "cancelled"
    }
  }
}

extension FailureCause {
  /// The word for programs.
  public var word: String {
    switch self {
    case .none: "none"
    case .failed: "failed"
    case .timeout: "timeout"
    case .signal: "signal"
    case .outOfMemory: "out_of_memory"
    case .lost: "lost"
    case .cannotStart: "cannot_start"
    case .badArgument: "bad_argument"
    case .unknownType: "unknown_type"
    case .missingInput: "missing_input"
    case .inputUnavailable: "input_unavailable"
    case .storeFull: "store_full"
    case .badOutput: "bad_output"
    case .workerStopped: "worker_stopped"
    }
  }

  /// The words for people.
  public var sentence: String {
    switch self {
    case .none: "succeeded"
    case .failed: "failed"
    case .timeout: "ran into its timeout"
    case .signal: "killed by a signal"
    case .outOfMemory: "ran out of memory"
    case .lost: "its worker was lost"
    case .cannotStart: "could not be started"
    case .badArgument: "its argument could not be decoded"
    case .unknownType: "no such operation type at the worker"
    case .missingInput: "an output that it needs is absent"
    case .inputUnavailable: "no worker has an output that it needs"
    case .storeFull: "no room in its worker's store"
    case .badOutput: "its outputs are missing, too large or malformed"
    case .workerStopped: "its worker stopped in good order"
    }
  }

  /// Whether a process ended by itself or by a signal, so that its status is meaningful.
  var hasStatus: Bool {
    switch self {
    case .none, .failed, .timeout, .signal, .outOfMemory, .badOutput: true
    case .lost, .cannotStart, .badArgument, .unknownType, .missingInput, .inputUnavailable,
      .storeFull, .workerStopped:
      false
    }
  }
}

extension CancelReason {
  /// The word for programs.
  public var word: String {
    switch self {
    case .request: "request"
    case .dependency: "dependency"
    case .failurePolicy: "failure_policy"
    }
  }
}

/// A status is told only where a process had one; otherwise the worker's own words stand for it.
extension AttemptResult {
  /// Describes the end of an attempt: `exit status 2`, `killed by KILL (9)`, `ran into its
  /// timeout`.
  public var sentence: String {
    switch cause {
    case .none where wasStopped: wasForced ? "stopped, KILL was needed" : "stopped"
    case .failed where exitStatus != 0: "exit status \(exitStatus)"
    case .failed where !spokenOf.isEmpty: spokenOf
    case .signal where signal != 0: "killed by \(signalName(signal))"
    case .timeout where signal != 0: "\(cause.sentence), ended by \(signalName(signal))"
    default: cause.sentence
    }
  }
}

extension AttemptResult {
  /// Whether a process ended so; the diagnostic is then the end of its stderr. One that could not
  /// be started has a status all the same.
  var isOfProcess: Bool { cause != .cannotStart && (exitStatus != 0 || signal != 0) }

  /// The worker's reason for the end, in one line; nil if a process said something, or if
  /// `sentence` says it all.
  public var wordsOfWorker: String? {
    guard !cause.hasStatus, !spokenOf.isEmpty, spokenOf != sentence else { return nil }
    return spokenOf
  }

  /// The first line of the failure text of a type or of blocks.
  fileprivate var spokenOf: String {
    truncate(safeLines(diagnostic).first ?? "", to: 200)
  }
}

/// Formats `TERM (15)`; a rare signal has only its number.
/// Numbers are those of Linux.
public func signalName(_ number: Int32) -> String {
  let names: [Int32: String] = [
    1: "HUP", 2: "INT", 3: "QUIT", 4: "ILL", 6: "ABRT", 7: "BUS", 8: "FPE", 9: "KILL",
    10: "USR1", 11: "SEGV", 12: "USR2", 13: "PIPE", 14: "ALRM", 15: "TERM", 24: "XCPU",
    25: "XFSZ",
  ]
  return names[number].map { "\($0) (\(number))" } ?? "signal \(number)"
}
