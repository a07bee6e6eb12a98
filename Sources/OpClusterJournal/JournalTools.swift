// What a person does to a journal from outside: verify, export, back up, compact, cut.
// Called by commands, on their thread; everything blocks until it is done.

/// Offline work on the journal in a folder. Reading works beside a running process, too.
public enum JournalTools {
  /// What `verify` found.
  public struct Report: Sendable, Hashable {
    public let snapshotSequence: UInt64?
    public let lastSequence: UInt64
    public let streamRows: Int
    public let chapterRows: Int
    public let documentRows: Int
  }

  /// Checks everything: SQLite's own structure, each checksum, each sequence (G6).
  public static func verify(folder path: String) throws(JournalError) -> Report {
    let folder = try existing(path)
    let position = try Recovery.verify(folder)
    let connection = try Connection(path: folder.database, access: .readOnly)
    try verifyStructure(connection)
    return Report(
      snapshotSequence: position.snapshotSequence, lastSequence: position.lastSequence,
      streamRows: try verifyRows(connection, "stream", "first", "first", "count"),
      chapterRows: try verifyRows(
        connection, "chapters", "row", "subject", "(first << 32) | last"),
      documentRows: try verifyRows(connection, "documents", "subject", "subject", "kind"))
  }

  /// The snapshot and the turns up to the first that is damaged, for an export: reaching that one
  /// throws `.damaged`. `lastSequence` says nothing here.
  public static func readUntilDamage(folder path: String) throws(JournalError) -> Recovered {
    let folder = try existing(path)
    return Recovery.content(folder, try Recovery.untilDamage(folder))
  }

  /// The verified snapshot and turns.
  public static func read(folder path: String) throws(JournalError) -> Recovered {
    let folder = try existing(path)
    return Recovery.content(folder, try Recovery.verify(folder))
  }

  /// Writes a compact copy of the journal, as of one moment, into a new folder and verifies it.
  public static func backup(folder path: String, to copy: String) throws(JournalError) {
    let source = try existing(path)
    _ = try Recovery.verify(source)
    let target = StateFolder(path: copy)
    try FileSystem.makeFolder(copy)
    let lock = try LockFile(path: target.lock)
    defer { withExtendedLifetime(lock) {} }
    guard try !target.holdsJournal() else {
      throw JournalError(
        kind: .storage, code: 0, message: "folder \(copy) holds a journal already",
        advice: "name a new folder for the backup")
    }
    // SQLite fills an existing empty file, which so has the right mode from the start.
    try FileSystem.makeFile(target.unfinished)
    let connection = try Connection(path: source.database, access: .readOnly)
    let statement = try connection.prepare("VACUUM INTO ?")
    try statement.bind(target.unfinished, at: 1)
    try statement.run()
    do {
      let made = try Connection(path: target.unfinished, access: .readWrite)
      // Even where the backup is written over the very file it was made of, it may be older than
      // what others were told: it is at home nowhere.
      try made.execute("DELETE FROM meta WHERE key = 'home'")
      try made.execute("PRAGMA journal_mode = WAL")
    }
    try FileSystem.synchronize(target.unfinished)
    try FileSystem.move(target.unfinished, to: target.database)
    try target.finishCreation()
    _ = try verify(folder: copy)
  }

  /// Bytes of the journal's database and of what is still to be merged into it.
  public static func size(folder path: String) throws(JournalError) -> UInt64 {
    let folder = try existing(path)
    return (FileSystem.size(folder.database) ?? 0) + (FileSystem.size(folder.writeAheadLog) ?? 0)
  }

  /// Drops what the newest snapshot replaces and gives unused space back to the disk, each in a
  /// transaction (G9). The journal must not be in use.
  public static func compact(folder path: String) throws(JournalError) {
    try alter(path) { connection, position throws(JournalError) in
      if let snapshot = position?.snapshotSequence {
        try connection.execute(
          """
          BEGIN;
          DELETE FROM turns WHERE sequence <= \(snapshot);
          DELETE FROM snapshots WHERE sequence <> \(snapshot);
          COMMIT;
          """)
      }
      try connection.execute("VACUUM")
    }
  }

  /// Cuts the turns behind `sequence` off, with the stream and the chapters that came with them:
  /// what a person decides for a damaged journal, after a copy of the folder (G6). Documents stay
  /// as they are, but for those that came with them and are damaged, too. Not to be used on a
  /// journal that verifies.
  public static func cut(folder path: String, after sequence: UInt64) throws(JournalError) {
    let last = Int64(clamping: sequence)
    try alter(path, verified: false) { connection, _ throws(JournalError) in
      for table in ["turns", "snapshots", "stream", "chapters"] {
        let statement = try connection.prepare("DELETE FROM \(table) WHERE sequence > ?")
        try statement.bind(last)
        try statement.run()
      }
      try dropDamagedDocuments(connection, after: last)
      try connection.execute("DELETE FROM meta WHERE key = 'home'")
      for table in History.allCases {
        try connection.execute(
          """
          REPLACE INTO meta SELECT '\(table)Rows', count(*) FROM \(table);
          REPLACE INTO meta SELECT '\(table)Bytes', ifnull(sum(length(body)), 0) FROM \(table);
          """)
      }
    }
  }

  private static func dropDamagedDocuments(
    _ connection: Connection, after sequence: Int64
  ) throws(JournalError) {
    let rows = try connection.prepare(
      "SELECT subject, kind, checksum, body FROM documents WHERE sequence > ?")
    try rows.bind(sequence)
    var damaged: [(subject: Int64, kind: Int64)] = []
    while try rows.step() {
      let (subject, kind) = (rows.integer(0), rows.integer(1))
      if rows.checksum(subject, kind, column: 3) != rows.integer(2) {
        damaged.append((subject, kind))
      }
    }
    rows.reset()
    let drop = try connection.prepare("DELETE FROM documents WHERE subject = ? AND kind = ?")
    for (subject, kind) in damaged {
      try drop.bind(subject, kind)
      try drop.run()
    }
  }

  private static func alter(
    _ path: String, verified: Bool = true,
    _ body: (Connection, Position?) throws(JournalError) -> Void
  ) throws(JournalError) {
    let folder = try existing(path)
    let lock = try LockFile(path: folder.lock)
    defer { withExtendedLifetime(lock) {} }
    let position = verified ? try Recovery.verify(folder) : nil
    let connection = try Connection(path: folder.database, access: .readWrite)
    try body(connection, position)
    try connection.checkpoint(truncate: true)
  }

  private static func existing(_ path: String) throws(JournalError) -> StateFolder {
    let folder = StateFolder(path: path)
    guard try folder.holdsJournal() else {
      throw JournalError(
        kind: .storage, code: 0, message: "folder \(path) holds no journal",
        advice: "name the folder of a coordinator's journal")
    }
    return folder
  }

  private static func verifyStructure(_ connection: Connection) throws(JournalError) {
    let rows = try connection.prepare("PRAGMA integrity_check(1)")
    defer { rows.reset() }
    guard try rows.step(), rows.text(0) == "ok" else {
      throw .damaged("the database", because: rows.text(0))
    }
  }

  /// Verifies the checksum of every row of a table of history; returns the number of rows.
  private static func verifyRows(
    _ connection: Connection, _ table: String, _ key: String, _ first: String, _ second: String
  ) throws(JournalError) -> Int {
    let rows = try connection.prepare(
      "SELECT \(key), \(first), \(second), checksum, body FROM \(table)")
    defer { rows.reset() }
    var count = 0
    while try rows.step() {
      guard rows.checksum(rows.integer(1), rows.integer(2), column: 4) == rows.integer(3) else {
        throw .damaged("\(table) \(rows.integer(0))", because: "its checksum does not hold")
      }
      count += 1
    }
    return count
  }
}
