// The journal in SQLite: opens and verifies the folder, starts the journal's thread, and passes
// requests to it. Called by the owner's loop; only open and close block.

import OpClusterSystem
import Synchronization

/// A journal in a folder of its own. One process at a time holds it (F31).
public final class SQLiteJournal: Journal {
  private let folder: StateFolder
  private let lock: LockFile
  private let inbox: Inbox
  private let thread: ThreadHandle
  private let reserve: DiskReserve
  private let files: WrittenFiles
  private let joined = Atomic(false)

  private init(
    folder: StateFolder, lock: LockFile, inbox: Inbox, thread: ThreadHandle, reserve: DiskReserve,
    files: WrittenFiles
  ) {
    self.reserve = reserve
    self.files = files
    self.folder = folder
    self.lock = lock
    self.inbox = inbox
    self.thread = thread
  }

  deinit {
    close()
  }

  /// Opens the journal in `folder`; makes it if it does not exist.
  ///
  /// Verifies everything from the newest snapshot on first. Refuses an invalid journal and leaves
  /// its files unchanged (G6). Read `recovered` before the first snapshot.
  /// - Throws: `.inUse`, `.damaged`, `.format`, `.unsafeFolder`, `.storage` or `.diskFull`.
  public static func open(
    folder path: String, settings: JournalSettings = JournalSettings(), observer: JournalObserver
  ) throws(JournalError) -> (journal: SQLiteJournal, recovered: Recovered) {
    try start(try examine(path, settings), settings, observer)
  }

  /// Opens the journal, but lets `accept` refuse its content before anything is written: the files
  /// stay unchanged then, too (G6).
  /// - Throws: The errors of the other `open`, or the error of `accept`.
  public static func open(
    folder path: String, settings: JournalSettings = JournalSettings(), observer: JournalObserver,
    accept: (Recovered) throws -> Void
  ) throws -> (journal: SQLiteJournal, recovered: Recovered) {
    let found = try examine(path, settings)
    try accept(Recovery.content(found.folder, found.position))
    return try start(found, settings, observer)
  }

  /// A journal of which only the lock has been touched.
  private struct Examined {
    let folder: StateFolder
    let lock: LockFile
    let reserve: DiskReserve
    let position: Position
  }

  private static func examine(
    _ path: String, _ settings: JournalSettings
  ) throws(JournalError) -> Examined {
    let folder = StateFolder(path: path)
    try FileSystem.makeFolder(path)
    let lock = try LockFile(path: folder.lock)
    let reserve = DiskReserve(folder: path, bytes: settings.reserveBytes)
    if try !folder.holdsJournal() { try folder.create() }
    do throws(JournalError) {
      let position = try Recovery.verify(folder)
      return Examined(folder: folder, lock: lock, reserve: reserve, position: position)
    } catch {
      // Reading needs an index in shared memory; the last life's reserve may hold the room for it.
      guard error.exitStatus == 74, reserve.giveUp() else { throw error }
      let position = try Recovery.verify(folder)
      return Examined(folder: folder, lock: lock, reserve: reserve, position: position)
    }
  }

  private static func start(
    _ found: Examined, _ settings: JournalSettings, _ observer: JournalObserver
  ) throws(JournalError) -> (journal: SQLiteJournal, recovered: Recovered) {
    let (folder, position, reserve) = (found.folder, found.position, found.reserve)
    // Free the last life's reserve first: this life may need the room to begin.
    _ = reserve.giveUp()
    try folder.finishCreation()
    let inbox = try Inbox(
      lastSequence: position.lastSequence, lastSnapshot: position.snapshotSequence ?? 0,
      settings: settings)
    let committer = try Committer(
      folder: folder, position: position, inbox: inbox, observer: observer, settings: settings,
      reserve: reserve, life: Int64.random(in: 1...Int64.max))
    let files = committer.files
    _ = reserve.freeBytes(in: folder.path)
    let thread: ThreadHandle
    do throws(SystemError) {
      // The owner's loop takes the signals.
      thread = try startThread(name: "journal", stackSize: 8 << 20, takesSignals: false) {
        committer.run()
      }
    } catch {
      throw .system("pthread_create", "the journal's thread", errno: error.code)
    }
    let journal = SQLiteJournal(
      folder: folder, lock: found.lock, inbox: inbox, thread: thread, reserve: reserve,
      files: files)
    return (journal, Recovery.content(folder, position))
  }

  public func append(_ turn: JournalTurn) -> JournalAnswer {
    inbox.put(turn)
  }

  public func snapshot(
    through sequence: UInt64, content: @escaping @Sendable () -> any SnapshotContent
  ) -> JournalAnswer {
    inbox.put(.writeSnapshot(sequence: sequence, content: content))
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

  public func lostFiles() -> JournalError? {
    do throws(JournalError) {
      try files.check()
      return nil
    } catch {
      return error
    }
  }

  public func makeReader() throws(JournalError) -> any JournalReading {
    try JournalReader(folder: folder.path)
  }

  public func close() {
    // After a failure the thread has closed the inbox itself, but must still be joined once.
    _ = inbox.close()
    if joined.exchange(true, ordering: .acquiringAndReleasing) { return }
    if !thread.isCurrent { thread.join() }
    _ = reserve.giveUp()
    lock.release()
  }
}
