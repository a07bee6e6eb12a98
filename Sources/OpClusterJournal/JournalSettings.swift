// The limits of a journal (G27). Given at open, never changed afterwards.

/// The limits of a journal's queues, transactions and delays.
public struct JournalSettings: Sendable {
  /// Maximum accepted turns that are not durable; beyond it `append` answers `.full`.
  public var queueTurns = 65_536
  /// Maximum bytes of such turns. An empty queue accepts a larger turn.
  public var queueBytes = 32 << 20
  /// Maximum turns of one transaction.
  public var batchTurns = 4_096
  /// The bytes after which a transaction takes no further turn.
  public var batchBytes = 4 << 20
  /// Maximum waiting snapshots, retentions and forgets; beyond it the answer is `.full`.
  public var queueChores = 65_536
  /// The target duration of one slice of a chore in microseconds; a waiting turn waits about that
  /// long.
  public var sliceMicroseconds: Int64 = 10_000
  /// Bytes of a snapshot written in one slice; a part is never divided.
  public var snapshotSliceBytes = 1 << 20
  /// Pages (4 KiB) of the write-ahead log after which they are copied into the database. The log
  /// grows beyond that by one transaction, and further only while a reader needs it.
  public var checkpointPages: Int32 = 1_000
  /// Maximum size of the database; nil means the disk's limit. A write beyond it fails with
  /// `.diskFull`.
  public var maximumDatabaseBytes: UInt64?

  /// Room on the disk that is reserved for running work and freed when the disk is full (G8). 0: no
  /// reserve, and a full disk is a failure like others.
  public var reserveBytes: UInt64 = 0

  public init() {}
}
