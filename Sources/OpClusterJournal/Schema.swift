// The tables of a journal, the creation of a new one, and the files of a folder. Used while
// opening, and by the tools, on the calling thread.

/// The files of a journal in its folder.
struct StateFolder: Sendable {
  let path: String

  var database: String { path + "/journal.db" }
  var writeAheadLog: String { path + "/journal.db-wal" }
  var lock: String { path + "/journal.lock" }
  /// A database under construction; renamed to `database` when it is complete.
  var unfinished: String { path + "/journal.new" }
  /// The position of the present life's commits.
  var mark: String { path + "/journal.mark" }
  /// The rollback journal of SQLite without a write-ahead log.
  var rollbackJournal: String { path + "/journal.db-journal" }
  /// Exists from the first complete database on: without it a lost database would look new (G6).
  var created: String { path + "/journal.created" }

  /// Whether there is a journal. Refuses a folder that has lost its database (G6), and a database
  /// that another program has switched to another journal mode.
  func holdsJournal() throws(JournalError) -> Bool {
    if let size = FileSystem.size(database), size > 0 {
      try checkJournalMode()
      return true
    }
    for path in [database, writeAheadLog, created] where FileSystem.size(path) != nil {
      throw .damaged("database \(database)", because: "it is missing or empty beside \(path)")
    }
    return false
  }

  /// Refuses a database without a write-ahead log: after a kill only a writer could repair it, and
  /// this program's promises are untested there. Two bytes of the header tell the mode.
  private func checkJournalMode() throws(JournalError) {
    let header = FileSystem.begin(of: database, bytes: 20)
    guard header.count == 20, header.starts(with: Array("SQLite format 3\0".utf8)) else { return }
    let hasRollback = FileSystem.size(rollbackJournal).map { $0 > 0 } ?? false
    guard header[18] != 2 || header[19] != 2 || hasRollback else { return }
    throw JournalError(
      kind: .damaged(record: "the journal mode of \(database)"), code: 0,
      message: "database \(database) does not use a write-ahead log any more: another program has "
        + "changed its journal mode",
      advice: "nothing was changed; set it back with 'sqlite3 \(database) \"PRAGMA journal_mode = "
        + "WAL\"' and start again, or restore a backup")
  }

  /// Makes an empty journal, complete under another name first, so that no crash leaves half of
  /// one.
  func create() throws(JournalError) {
    for suffix in ["-wal", "-shm", "-journal"] { FileSystem.remove(unfinished + suffix) }
    try FileSystem.makeFile(unfinished)
    do {
      let connection = try Connection(path: unfinished, access: .readWrite)
      try connection.execute(Schema.creation)
      // The rename keeps the place of the file.
      if let home = FileSystem.place(unfinished) {
        try connection.execute("INSERT INTO meta VALUES ('home', \(home))")
      }
      try connection.checkpoint(.emptied)
    }
    try FileSystem.synchronize(unfinished)
    try FileSystem.move(unfinished, to: database)
    try finishCreation()
  }

  /// Removes an unwanted journal that was just made here.
  func removeJournal() {
    for file in [unfinished, database] {
      for suffix in ["", "-wal", "-shm", "-journal"] { FileSystem.remove(file + suffix) }
    }
    FileSystem.remove(created)
    FileSystem.remove(mark)
  }

  /// Writes the mark that a database exists here, also after a crash just before it.
  func finishCreation() throws(JournalError) {
    guard FileSystem.size(created) == nil else { return }
    try FileSystem.synchronize(path)
    try FileSystem.makeFile(created)
    try FileSystem.synchronize(path)
  }
}

enum Schema {
  /// The version of the tables below, kept in `meta`.
  static let format: Int64 = 1

  /// Tables with a rowid. Measured on turns of 200 and 2,000 bytes, WITHOUT ROWID writes 13 % and
  /// 50 % slower, reads at half the speed and needs 12 % and 130 % more space. On documents it is
  /// better at 200 bytes (+30 %) and worse at 2,000 (-50 %).
  static let creation = """
    PRAGMA auto_vacuum = NONE;
    PRAGMA journal_mode = WAL;
    BEGIN;
    CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE turns (
      sequence INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, checksum INTEGER NOT NULL,
      body BLOB NOT NULL);
    CREATE TABLE snapshots (
      sequence INTEGER NOT NULL, part INTEGER NOT NULL, parts INTEGER NOT NULL,
      checksum INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (sequence, part));
    CREATE TABLE stream (
      first INTEGER PRIMARY KEY, count INTEGER NOT NULL, sequence INTEGER NOT NULL,
      checksum INTEGER NOT NULL, body BLOB NOT NULL);
    CREATE TABLE chapters (
      row INTEGER PRIMARY KEY, subject INTEGER NOT NULL, first INTEGER NOT NULL,
      last INTEGER NOT NULL, sequence INTEGER NOT NULL, checksum INTEGER NOT NULL,
      body BLOB NOT NULL);
    CREATE INDEX chapters_of_subject ON chapters (subject);
    CREATE TABLE documents (
      subject INTEGER NOT NULL, kind INTEGER NOT NULL, sequence INTEGER NOT NULL,
      checksum INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (subject, kind));
    INSERT INTO meta VALUES ('format', \(format));
    COMMIT;
    """

  /// Refuses databases of another format, and databases that are no journal. SQLite trusts the
  /// first page about the tables: with a wrong bit in it, a full table can look empty (G6).
  static func check(_ connection: Connection) throws(JournalError) {
    let found = try tables(connection)
    guard found.contains(where: { $0.name == "meta" }) else {
      throw .damaged("the tables", because: "some are missing")
    }
    let version = try connection.number("SELECT value FROM meta WHERE key = 'format'")
    guard let version else { throw .damaged("meta", because: "the format is missing") }
    guard version == format else { throw .format(found: version) }
    let made = try Connection(path: ":memory:", access: .readWrite)
    try made.execute(creation)
    let asCreated = try tables(made)
    if found == asCreated { return }
    // The layout of backups and compacted journals.
    try made.execute("VACUUM")
    if found == (try tables(made)) { return }
    let lost = asCreated.filter { expected in
      !found.contains { $0.name == expected.name && $0.words == expected.words }
    }
    throw .damaged(
      lost.first.map { "table \($0.name)" } ?? "the tables",
      because: "the database's first page does not describe it as it was made")
  }

  private struct Table: Equatable {
    var name: String
    /// Its type, its table, and its SQL text.
    var words: [String]
    /// Its root page.
    var page: Int64
  }

  private static func tables(_ connection: Connection) throws(JournalError) -> [Table] {
    let rows = try connection.prepare(
      """
      SELECT name, type, tbl_name, ifnull(sql, ''), rootpage FROM sqlite_schema
      WHERE name NOT LIKE 'sqlite_stat%' ORDER BY name, type
      """)
    defer { rows.reset() }
    var tables: [Table] = []
    while try rows.step() {
      tables.append(
        Table(
          name: rows.text(0), words: [rows.text(1), rows.text(2), rows.text(3)],
          page: rows.integer(4)))
    }
    return tables
  }
}
