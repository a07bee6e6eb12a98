// The one interface of journals: append, be told when durable, replace history by a snapshot.
// Called by the owner's loop; everything that touches a disk happens elsewhere.

/// What a journal says to a request; it never blocks and never throws.
public enum JournalAnswer: Sendable, Hashable {
  /// It will be done in the order of the requests.
  case accepted
  /// A bound of the queue is reached: ask again after the next `onDurable`.
  case full
  /// Nothing was taken: the next turn must have this sequence. A gap never gets in.
  case outOfOrder(expected: UInt64)
  /// Nothing was taken: a number is beyond `Int64.max`, or a snapshot is empty or not ahead of the
  /// last one or beyond the last accepted turn.
  case refused
  /// The journal failed or was closed; nothing is taken any more (G7).
  case closed
}

/// What the owner of a journal is told; every closure runs on the thread of the journal, so it
/// only posts into a mailbox.
public struct JournalObserver: Sendable {
  /// Every turn up to and including this one is on disk; grows strictly (G1, G3).
  public var onDurable: @Sendable (UInt64) -> Void
  /// The journal has failed; called at most once, nothing is acknowledged afterwards (G7).
  public var onFailure: @Sendable (JournalError) -> Void
  /// The snapshot through this turn is on disk and will be used by the next recovery (G9).
  public var onSnapshot: @Sendable (UInt64) -> Void
  /// The disk is full and the reserve has been given up: what comes now must be little (G8).
  public var onReserve: @Sendable () -> Void

  public init(
    onDurable: @escaping @Sendable (UInt64) -> Void,
    onFailure: @escaping @Sendable (JournalError) -> Void,
    onSnapshot: @escaping @Sendable (UInt64) -> Void = { _ in },
    onReserve: @escaping @Sendable () -> Void = {}
  ) {
    self.onDurable = onDurable
    self.onFailure = onFailure
    self.onSnapshot = onSnapshot
    self.onReserve = onReserve
  }
}

/// An ordered record of turns that outlives the process.
///
/// Implementations are opened by functions of their own, which hand back what they recovered.
public protocol Journal: Sendable {
  /// Queues a turn for the next transaction. Never waits for the disk.
  func append(_ turn: Turn) -> JournalAnswer

  /// Replaces the turns up to `sequence` by a snapshot, a few parts at a time between turns;
  /// `part` is called with 0 ..< `parts` on the journal's thread. The snapshot counts only once
  /// all of it is durable; until then the former one and every turn stay (G9).
  func snapshot(
    through sequence: UInt64, parts: Int, part: @escaping @Sendable (Int) -> [UInt8]
  ) -> JournalAnswer

  /// Deletes the oldest rows of the event stream until at most `rows` and `bytes` are left.
  func retainStream(rows: Int, bytes: Int) -> JournalAnswer

  /// Deletes the oldest chapters, of whatever subject, until at most `rows` and `bytes` are left.
  func retainChapters(rows: Int, bytes: Int) -> JournalAnswer

  /// Deletes the chapters and documents of a subject. A crash may come first: ask again then.
  func forget(subject: UInt64) -> JournalAnswer

  /// Notes that this journal, where it is, is the one that goes on: the next open finds it
  /// `Recovered.isAtHome`.
  func settle() -> JournalAnswer

  /// Bytes that the disk still has for this user, beside the reserve, which is made again when
  /// there is room for it; nil where that has no meaning (G8).
  func freeBytes() -> UInt64?

  /// What has become of the files that are written, if they are not the ones that a start would
  /// find; nil: they are. Looks at the disk.
  func lostFiles() -> JournalError?

  /// A reader of history for the calling thread. It sees only what is durable.
  func makeReader() throws(JournalError) -> any JournalReading

  /// Makes durable what was accepted, does what was asked for, and lets the disk go. Blocks; turns
  /// that a snapshot includes may be deleted after the next open. Does nothing the second time.
  func close()
}

extension Journal {
  /// As `snapshot(through:parts:part:)`, with parts that exist already.
  public func snapshot(through sequence: UInt64, parts: [[UInt8]]) -> JournalAnswer {
    snapshot(through: sequence, parts: parts.count) { parts[$0] }
  }
}
