// Maintenance of a journal by a person: verify, export, back up, compact, cut. Called by commands
// on their thread; every call blocks until it is done.

/// Maintenance of the journal in a folder. Reading also works beside a running process.
public enum JournalTools {
  /// The result of `verify`.
  public struct Report: Sendable, Hashable {
    public let snapshotSequence: UInt64?
    public let lastSequence: UInt64
    public let streamRows: Int
    public let chapterRows: Int
    public let documentRows: Int
  }

  /// Checks everything: SQLite's own structure, each checksum, each sequence (G6).
  /// - Parameter isUnused: Whether a process that uses the journal is an error (`.inUse`).
  /// - Throws: `.damaged` for the first failed check, or another `JournalError`.
  public static func verify(
    folder path: String, isUnused: Bool = false
  ) throws(JournalError) -> Report {
    let folder = try existing(path)
    let lock = isUnused ? try LockFile(path: folder.lock) : nil
    defer { withExtendedLifetime(lock) {} }
    let position = try Recovery.verify(folder)
    let connection = try Connection(path: folder.database, access: .readOnly)
    try verifyStructure(connection)
    let rows = try HistoryCheck.verify(connection, base: position.snapshotSequence ?? 0)
    // This also finds the damage that a serving coordinator would find.
    var inspection = HistoryInspection()
    let inspector = try HistoryInspector(connection)
    while try !inspector.inspect(&inspection) {}
    return Report(
      snapshotSequence: position.snapshotSequence, lastSequence: position.lastSequence,
      streamRows: rows.stream, chapterRows: rows.chapters, documentRows: rows.documents)
  }

  /// Passes the snapshot and the turns up to the first damaged one, for an export; reaching that
  /// one throws `.damaged`. `lastSequence` is meaningless here. Reads one moment, as `read` does.
  ///
  /// - Throws: `JournalError`, or the error of `body`.
  public static func readUntilDamage<Result>(
    folder path: String, _ body: (Recovered) throws -> Result
  ) throws -> Result {
    try body(try Recovery.readUntilDamage(try existing(path)))
  }

  /// Passes the verified snapshot and turns of one moment. Until `body` returns, the write-ahead
  /// log of a process that uses the journal grows.
  ///
  /// - Throws: `JournalError`, or the error of `body`.
  public static func read<Result>(
    folder path: String, _ body: (Recovered) throws -> Result
  ) throws -> Result {
    try body(try Recovery.read(try existing(path)))
  }

  /// Writes a compact copy of one moment of the journal into a new folder and verifies it, also
  /// with `check`. Removes a copy that fails.
  ///
  /// - Throws: `JournalError`, or the error of `check`.
  public static func backup(
    folder path: String, to copy: String, check: (Recovered) throws -> Void = { _ in }
  ) throws {
    let source = try existing(path)
    _ = try Recovery.verify(source)
    let target = StateFolder(path: copy)
    let isFolderNew = FileSystem.size(copy) == nil
    let isLockNew = FileSystem.size(target.lock) == nil
    try FileSystem.makeFolder(copy)
    let lock = try LockFile(path: target.lock)
    defer { withExtendedLifetime(lock) {} }
    guard try !target.holdsJournal() else {
      throw JournalError(
        kind: .storage, code: 0, message: "folder \(copy) holds a journal already",
        advice: "name a new folder for the backup")
    }
    do {
      try makeCopy(of: source, in: target)
      _ = try verify(folder: copy)
      try read(folder: copy, check)
    } catch {
      target.removeJournal()
      if isLockNew { FileSystem.remove(target.lock) }
      if isFolderNew { FileSystem.removeFolder(copy) }
      throw error
    }
  }

  private static func makeCopy(
    of source: StateFolder, in target: StateFolder
  ) throws(JournalError) {
    // SQLite fills an existing empty file, which thus has the right mode from the start.
    try FileSystem.makeFile(target.unfinished)
    let connection = try Connection(path: source.database, access: .readOnly)
    let statement = try connection.prepare("VACUUM INTO ?")
    try statement.bind(target.unfinished, at: 1)
    try statement.run()
    do {
      let made = try Connection(path: target.unfinished, access: .readWrite)
      // The backup may be older than what others were told, even if it replaces its own source: it
      // is at home nowhere.
      try made.execute("DELETE FROM meta WHERE key IN ('home', 'life')")
      try made.execute("PRAGMA journal_mode = WAL")
    }
    try FileSystem.synchronize(target.unfinished)
    try FileSystem.move(target.unfinished, to: target.database)
    try target.finishCreation()
  }

  /// Returns the bytes of the journal's database and of its write-ahead log.
  ///
  /// - Throws: `JournalError` if there is no journal.
  public static func size(folder path: String) throws(JournalError) -> UInt64 {
    let folder = try existing(path)
    return (FileSystem.size(folder.database) ?? 0) + (FileSystem.size(folder.writeAheadLog) ?? 0)
  }

  /// Verifies everything, then drops the turns that the newest snapshot replaces and returns unused
  /// space to the disk, each in a transaction (G9). The journal must not be in use.
  ///
  /// - Throws: `JournalError`, for example `.inUse` or `.damaged`.
  public static func compact(folder path: String) throws(JournalError) {
    let folder = try existing(path)
    let lock = try LockFile(path: folder.lock)
    defer { withExtendedLifetime(lock) {} }
    let found = try verify(folder: path)
    let connection = try Connection(path: folder.database, access: .readWrite)
    if let snapshot = found.snapshotSequence {
      try connection.execute(
        """
        BEGIN;
        DELETE FROM turns WHERE sequence <= \(snapshot);
        DELETE FROM snapshots WHERE sequence <> \(snapshot);
        COMMIT;
        """)
    }
    try connection.execute("VACUUM")
    try connection.execute(Life.end)
    try connection.checkpoint(.emptied)
  }

  static func existing(_ path: String) throws(JournalError) -> StateFolder {
    let folder = StateFolder(path: path)
    guard try folder.holdsJournal() else {
      throw JournalError(
        kind: .storage, code: 0, message: "folder \(path) holds no journal",
        advice: "name the folder of a coordinator's journal")
    }
    return folder
  }

  static func verifyStructure(_ connection: Connection) throws(JournalError) {
    let rows = try connection.prepare("PRAGMA integrity_check(1)")
    defer { rows.reset() }
    guard try rows.step(), rows.text(0) == "ok" else {
      throw .damaged("the database", because: rows.text(0))
    }
  }
}
