// The interface of all journals: append turns, learn when they are durable, replace history by a
// snapshot. Called by the owner's loop; disk access happens elsewhere.

/// The answer of a journal to a request. A request never blocks and never throws.
public enum JournalAnswer: Sendable, Hashable {
  /// The request will be carried out, in the order of the requests.
  case accepted
  /// A limit of the queue is reached: repeat the request after the next `onDurable`.
  case full
  /// Nothing was taken: the next turn must have the sequence `expected`. The journal never has a
  /// gap.
  case outOfOrder(expected: UInt64)
  /// Nothing was taken: a number exceeds `Int64.max`, or a snapshot is empty, not ahead of the last
  /// one, or beyond the last accepted turn.
  case refused
  /// The journal has failed or is closed; it takes nothing any more (G7).
  case closed
}

/// Notifications of a journal. Every closure runs on the thread of the journal, so it must only
/// post into a mailbox.
public struct JournalObserver: Sendable {
  /// Every turn up to and including this one is on disk; grows strictly (G1, G3).
  public var onDurable: @Sendable (UInt64) -> Void
  /// The journal has failed; called at most once. Nothing is acknowledged afterwards (G7).
  public var onFailure: @Sendable (JournalError) -> Void
  /// The snapshot through this turn is on disk, and the next recovery uses it (G9).
  public var onSnapshot: @Sendable (UInt64) -> Void
  /// The disk is full and the reserve has been freed: further writes must be small (G8).
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
/// Each implementation has an `open` function of its own, which also returns the recovered content.
public protocol Journal: Sendable {
  /// Queues a turn for the next transaction. Never waits for the disk.
  func append(_ turn: JournalTurn) -> JournalAnswer

  /// Replaces the turns up to `sequence` by a snapshot, a few parts at a time between turns.
  /// `content` is called once, on the journal's thread, where the parts are made as well. The
  /// snapshot counts only when all of it is durable; until then the former one and every turn stay
  /// (G9).
  func snapshot(
    through sequence: UInt64, content: @escaping @Sendable () -> any SnapshotContent
  ) -> JournalAnswer

  /// Deletes the oldest rows of the event stream until at most `rows` and `bytes` are left.
  func retainStream(rows: Int, bytes: Int) -> JournalAnswer

  /// Deletes the oldest chapters of all subjects until at most `rows` and `bytes` are left.
  func retainChapters(rows: Int, bytes: Int) -> JournalAnswer

  /// Deletes the chapters and documents of a subject. After a crash the request may be lost: repeat
  /// it.
  func forget(subject: UInt64) -> JournalAnswer

  /// Marks the journal in its present place as the current one: the next open finds
  /// `Recovered.isAtHome`.
  func settle() -> JournalAnswer

  /// The free bytes of the disk for this user, beside the reserve, which is made again if there is
  /// room; nil if the journal has no disk (G8).
  func freeBytes() -> UInt64?

  /// Returns an error if the written files are not those that a start would find; nil if they are.
  /// Accesses the disk.
  func lostFiles() -> JournalError?

  /// Makes a reader of history for the calling thread. The reader sees only durable rows.
  ///
  /// - Throws: `JournalError` if the journal cannot be read.
  func makeReader() throws(JournalError) -> any JournalReading

  /// Makes all accepted turns durable, does the requested work, and closes the files. Blocks. Turns
  /// that a snapshot includes may be deleted only after the next open. A second call does nothing.
  func close()
}

/// What a snapshot consists of.
public protocol SnapshotContent {
  /// The number of its parts, at least one.
  var count: Int { get }
  /// The bytes of a part, 0 ..< `count`; asked for in this order.
  func encoded(_ part: Int) -> [UInt8]
}
