// The bounds of a journal, in one place (G27). Given at open, never changed afterwards.

/// How much a journal may hold back, write at once and keep others waiting.
public struct JournalSettings: Sendable {
  /// Turns accepted and not yet durable; beyond it `append` answers `.full`.
  public var queueTurns = 65_536
  /// Bytes of turns accepted and not yet durable. A larger turn is accepted by an empty queue.
  public var queueBytes = 32 << 20
  /// The most turns that one transaction holds.
  public var batchTurns = 4_096
  /// The bytes after which a transaction takes no further turn.
  public var batchBytes = 4 << 20
  /// Snapshots, retentions and forgets waiting to be worked off; beyond it the answer is `.full`.
  public var queueChores = 65_536
  /// What one slice of a chore aims at, in microseconds; a waiting turn waits about that long.
  public var sliceMicroseconds: Int64 = 10_000
  /// Bytes of a snapshot written in one slice; a single part is never divided.
  public var snapshotSliceBytes = 1 << 20
  /// Pages (4 KiB) of write-ahead log after which they are copied into the database; it grows by
  /// one transaction beyond that, and further only while a reader needs it.
  public var checkpointPages: Int32 = 1_000
  /// The database grows no further than this; nil leaves the limit to the disk. The write that
  /// would exceed it fails with `.diskFull`.
  public var maximumDatabaseBytes: UInt64?

  /// Room on the disk that is kept for what already runs, and given up for it when the disk is
  /// full (G8); 0: none, and a full disk is a failure like others.
  public var reserveBytes: UInt64 = 0

  public init() {}
}
