// A worker's result of an attempt.

/// The end of one attempt as the worker saw it; the coordinator concludes later (retry, cancelled,
/// S100). The default value is a plain success, which costs no bytes on the wire.
public struct AttemptResult: Hashable, Sendable {
  /// `.none` for a success.
  public var cause: FailureCause = .none
  /// Exit status of a command; 0 otherwise.
  public var exitStatus: Int32 = 0
  /// The signal that ended a command; 0 for none.
  public var signal: Int32 = 0
  /// The operation ended because it was told to stop, or because it read its cancellation flag.
  public var wasStopped: Bool = false
  /// KILL was needed after the grace (cancelled(forced), S92).
  public var wasForced: Bool = false
  /// Peak resident memory of the process tree in bytes; 0 without a process.
  public var maximumResidentBytes: UInt64 = 0
  /// User and system time, in microseconds.
  public var processorMicroseconds: UInt64 = 0
  /// Start and end by the worker's wall clock; for people (G31).
  public var startedAt: WallTime = .unknown
  public var endedAt: WallTime = .unknown
  /// Outputs (`key=value` lines of `OP_OUTPUT`, or a typed result), opaque, at most
  /// `Limits.outputBytes`.
  public var output: [UInt8] = []
  /// The thrown error, or the end of stderr, for people; at most `Limits.diagnosticBytes`.
  public var diagnostic: String = ""
  public init() {}

  public static let success = AttemptResult()
  public var isSuccess: Bool { cause == .none && !wasStopped }
  /// Whether its worker could not begin it, and another one may: what it needs is missing there.
  package var couldNotStart: Bool {
    cause == .cannotStart || cause == .storeFull && startedAt == .unknown
  }

  /// The outcome by which a worker lets dependents go on that it holds ahead of time (S151); nil if
  /// the coordinator alone knows what follows: it may try the operation elsewhere.
  package func outcomeAtWorker(isCancelled: Bool) -> Outcome? {
    if isCancelled || wasStopped { return .cancelled }
    if couldNotStart { return nil }
    switch cause {
    case .none: return .succeeded
    case .timeout: return .timedOut
    case .workerStopped, .unknownType, .lost, .cannotStart: return nil
    case .failed, .signal, .outOfMemory, .badArgument, .missingInput, .inputUnavailable,
      .badOutput, .storeFull:
      return .failed
    }
  }
}
