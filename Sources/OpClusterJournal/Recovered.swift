// The content of an opened journal: its position, and its newest snapshot and turns as streams.
// Read on the owner's thread between opening a journal and its first append.

/// The verified content of a journal from its newest snapshot on (G4, G6).
public struct Recovered: Sendable {
  /// The last turn in the newest snapshot; nil without a snapshot.
  public let snapshotSequence: UInt64?
  /// The number of parts of that snapshot; 0 without one.
  public let snapshotParts: Int
  /// The last durable turn; 0 for a new journal. The next turn must be this plus 1.
  public let lastSequence: UInt64
  /// The epoch of that turn; 0 if no turn is left behind the snapshot.
  public let lastEpoch: UInt64
  /// The first event number behind all rows of the stream; 0 for an empty stream.
  public let nextEvent: UInt64
  /// Pages of a last transaction that a crash or a power loss interrupted. They are dropped:
  /// nothing acknowledged was in them (G5).
  public let droppedFrames: Int
  /// Whether the database is still the file in which it was made, or in which a coordinator has
  /// settled (`Journal.settle`). Otherwise it was copied, restored from a backup, or cut: it may be
  /// older than what workers and clients were told.
  public let isAtHome: Bool

  let visitParts: @Sendable (_ visit: ([UInt8]) throws -> Void) throws -> Void
  let visitTurns: @Sendable (_ visit: (JournalTurn) throws -> Void) throws -> Void

  /// Passes the parts of the newest snapshot in order, one at a time.
  ///
  /// - Throws: The error of `visit`, or a `JournalError`.
  public func forEachSnapshotPart(_ visit: ([UInt8]) throws -> Void) throws {
    try visitParts(visit)
  }

  /// Passes the turns behind the snapshot in order, without attachments, one at a time.
  ///
  /// - Throws: The error of `visit`, or a `JournalError`.
  public func forEachTurn(_ visit: (JournalTurn) throws -> Void) throws {
    try visitTurns(visit)
  }
}
