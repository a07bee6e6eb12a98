// The journal in SQLite: opens and verifies the folder, starts the journal's thread, and passes
// requests on to it. Called by the owner's loop; nothing here waits but open and close.

import Synchronization

/// A journal in a folder of its own. One process at a time holds it (F31).
public final class SQLiteJournal: Journal {
  private let folder: StateFolder
  private let lock: LockFile
  private let inbox: Inbox
  private let thread: OwnThread
  private let reserve: DiskReserve
  private let joined = Atomic(false)

  private init(
    folder: StateFolder, lock: LockFile, inbox: Inbox, thread: OwnThread, reserve: DiskReserve
  ) {
    self.reserve = reserve
    self.folder = folder
    self.lock = lock
    self.inbox = inbox
    self.thread = thread
  }

  deinit {
    close()
  }

  /// Opens the journal in `folder`, which is made when it does not exist.
  ///
  /// Everything from the newest snapshot on is verified first; a journal that does not hold is
  /// refused and its files stay as they are (G6). Read `recovered` before the first snapshot.
  /// - Throws: `.inUse`, `.damaged`, `.format`, `.unsafeFolder`, `.storage` or `.diskFull`.
  public static func open(
    folder path: String, settings: JournalSettings = JournalSettings(), observer: JournalObserver
  ) throws(JournalError) -> (journal: SQLiteJournal, recovered: Recovered) {
    let folder = StateFolder(path: path)
    try FileSystem.makeFolder(path)
    let lock = try LockFile(path: folder.lock)
    // First of all the room that the last life kept: it may be what this one needs to begin.
    let reserve = DiskReserve(folder: path, bytes: settings.reserveBytes)
    if try !folder.holdsJournal() { try folder.create() }
    let position = try Recovery.verify(folder)
    try folder.finishCreation()
    let inbox = try Inbox(
      lastSequence: position.lastSequence, lastSnapshot: position.snapshotSequence ?? 0,
      settings: settings)
    let committer = try Committer(
      folder: folder, position: position, inbox: inbox, observer: observer, settings: settings,
      reserve: reserve)
    _ = reserve.freeBytes(in: path)
    let thread = try OwnThread { committer.run() }
    let journal = SQLiteJournal(
      folder: folder, lock: lock, inbox: inbox, thread: thread, reserve: reserve)
    return (journal, Recovery.content(folder, position))
  }

  public func append(_ turn: Turn) -> JournalAnswer {
    inbox.put(turn)
  }

  public func snapshot(
    through sequence: UInt64, parts: Int, part: @escaping @Sendable (Int) -> [UInt8]
  ) -> JournalAnswer {
    inbox.put(.writeSnapshot(sequence: sequence, parts: parts, part: part))
  }

  public func retainStream(rows: Int, bytes: Int) -> JournalAnswer {
    inbox.put(.trim(.stream, rows: Int64(max(0, rows)), bytes: Int64(max(0, bytes))))
  }

  public func retainChapters(rows: Int, bytes: Int) -> JournalAnswer {
    inbox.put(.trim(.chapters, rows: Int64(max(0, rows)), bytes: Int64(max(0, bytes))))
  }

  public func forget(subject: UInt64) -> JournalAnswer {
    guard subject <= UInt64(Int64.max) else { return .refused }
    return inbox.put(.forget(subject: subject))
  }

  public func settle() -> JournalAnswer {
    guard let home = FileSystem.place(folder.database) else { return .refused }
    return inbox.put(.settle(home: home))
  }

  public func freeBytes() -> UInt64? {
    reserve.freeBytes(in: folder.path)
  }

  public func makeReader() throws(JournalError) -> any JournalReading {
    try JournalReader(folder: folder.path)
  }

  public func close() {
    // After a failure the thread has closed the inbox itself, but still has to be joined once.
    _ = inbox.close()
    if joined.exchange(true, ordering: .acquiringAndReleasing) { return }
    thread.join()
    _ = reserve.giveUp()
    lock.release()
  }
}
