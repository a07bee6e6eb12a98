// What an opened journal holds: where it stands, and its newest snapshot and turns as streams.
// Read by the owner between opening a journal and its first append, on the owner's thread.

/// The verified content of a journal from its newest snapshot on (G4, G6).
public struct Recovered: Sendable {
  /// The turn that the newest snapshot includes; nil when there is none.
  public let snapshotSequence: UInt64?
  /// Parts of that snapshot; 0 when there is none.
  public let snapshotParts: Int
  /// The last durable turn; 0 for a new journal. The next turn must be this plus 1.
  public let lastSequence: UInt64
  /// The epoch of that turn, or 0 when no turn is left behind the snapshot.
  public let lastEpoch: UInt64
  /// The first event number that no row of the stream covers yet; 0 for an empty stream.
  public let nextEvent: UInt64
  /// Pages of a last transaction that a crash or a power loss kept from being committed, and that
  /// are dropped: nothing acknowledged was in them (G5).
  public let droppedFrames: Int
  /// Whether the database is the very file in which it was made, or in which a coordinator has
  /// settled (`Journal.settle`). Else it was copied, restored from a backup, or cut: it may be
  /// older than what workers and clients were told.
  public let isAtHome: Bool

  let visitParts: @Sendable (_ visit: ([UInt8]) throws -> Void) throws -> Void
  let visitTurns: @Sendable (_ visit: (Turn) throws -> Void) throws -> Void

  /// Hands over the parts of the newest snapshot in order, one at a time.
  /// Throws what `visit` throws, or a `JournalError`.
  public func forEachSnapshotPart(_ visit: ([UInt8]) throws -> Void) throws {
    try visitParts(visit)
  }

  /// Hands over the turns behind the snapshot in order, without attachments, one at a time.
  /// Throws what `visit` throws, or a `JournalError`.
  public func forEachTurn(_ visit: (Turn) throws -> Void) throws {
    try visitTurns(visit)
  }
}
