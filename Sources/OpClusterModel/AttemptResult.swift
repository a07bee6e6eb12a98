// What a worker says about the end of an attempt.

/// The end of one attempt: what the worker saw, before the coordinator draws its conclusions
/// (retry, cancelled, S100). The all-default value is a plain success that costs nothing to send.
public struct AttemptResult: Hashable, Sendable {
  /// `.none` for a success.
  public var cause: FailureCause = .none
  /// Exit status of a command; 0 otherwise.
  public var exitStatus: Int32 = 0
  /// The signal that ended a command; 0 for none.
  public var signal: Int32 = 0
  /// The operation ended because it was told to stop, or had looked at its flag.
  public var wasStopped: Bool = false
  /// KILL was needed after the grace (cancelled(forced), S92).
  public var wasForced: Bool = false
  /// Peak resident memory of the process tree, in bytes; 0 where there was no process.
  public var maximumResidentBytes: UInt64 = 0
  /// User and system time, in microseconds.
  public var processorMicroseconds: UInt64 = 0
  /// When it started and ended by the worker's wall clock; for people (G31).
  public var startedAt: WallTime = .unknown
  public var endedAt: WallTime = .unknown
  /// Outputs (`key=value` lines of `OP_OUTPUT`, or a typed result), opaque, at most
  /// `Limits.outputBytes`.
  public var output: [UInt8] = []
  /// What went wrong, for people: the thrown error, or the end of stderr; at most
  /// `Limits.diagnosticBytes`.
  public var diagnostic: String = ""
  public init() {}

  public static let success = AttemptResult()
  public var isSuccess: Bool { cause == .none && !wasStopped }
}
