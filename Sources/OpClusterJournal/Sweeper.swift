// Runs chores in slices: writes snapshots and deletes old rows, a little at a time, so that a
// waiting turn is never delayed for long (G9). Used by the journal's thread, inside transactions.

/// All statements are prepared once: a slice must be short. A chore is repeated with the same
/// values until a slice says that it is done.
struct Sweeper {
  private let tables: HistoryTables
  private let settings: JournalSettings
  private let insertPart: Statement
  private let dropParts: Statement
  private let firstTurn: Statement
  private let dropTurns: Statement
  private let oldest: [History: Statement]
  private let dropOldest: [History: Statement]
  private let oldestOfSubject: Statement
  private let dropOfSubject: Statement
  private let dropDocuments: Statement
  private let setHome: Statement
  /// The number of rows that one slice deletes; adapts to the duration of slices.
  private var sliceRows: Int64 = 256
  private var sliceStart = ContinuousClock.now
  /// The present snapshot, and its next part.
  private var content: (any SnapshotContent)?
  private var nextPart = 0

  /// Whether no snapshot is half written.
  var isBetweenSnapshots: Bool { nextPart == 0 }

  init(
    _ connection: Connection, tables: HistoryTables, settings: JournalSettings
  ) throws(JournalError) {
    self.tables = tables
    self.settings = settings
    insertPart = try connection.prepare(
      "INSERT INTO snapshots (sequence, part, parts, checksum, body) VALUES (?, ?, ?, ?, ?)")
    dropParts = try connection.prepare(
      """
      DELETE FROM snapshots WHERE rowid IN
      (SELECT rowid FROM snapshots WHERE sequence <> ? LIMIT ?) RETURNING 1
      """)
    firstTurn = try connection.prepare("SELECT min(sequence) FROM turns")
    dropTurns = try connection.prepare("DELETE FROM turns WHERE sequence <= ?")
    var oldest: [History: Statement] = [:]
    var dropOldest: [History: Statement] = [:]
    for table in History.allCases {
      oldest[table] = try connection.prepare(
        "SELECT \(table.key), length(body), \(table.keyBehind) FROM \(table) "
          + "ORDER BY \(table.key) LIMIT ?")
      dropOldest[table] = try connection.prepare("DELETE FROM \(table) WHERE \(table.key) <= ?")
    }
    self.oldest = oldest
    self.dropOldest = dropOldest
    oldestOfSubject = try connection.prepare(
      "SELECT row, length(body), row + 1 FROM chapters WHERE subject = ? ORDER BY row LIMIT ?")
    dropOfSubject = try connection.prepare("DELETE FROM chapters WHERE subject = ? AND row <= ?")
    setHome = try connection.prepare("REPLACE INTO meta VALUES ('home', ?)")
    dropDocuments = try connection.prepare("DELETE FROM documents WHERE subject = ?")
  }

  /// Runs one slice; true if the chore is done.
  mutating func slice(of chore: Chore) throws(JournalError) -> Bool {
    sliceStart = .now
    switch chore {
    case .writeSnapshot(let sequence, let content):
      return try writeParts(Int64(sequence), content)
    case .dropSnapshots(let except):
      return try deleteSnapshots(except: except.map { Int64($0) } ?? -1)
    case .dropTurns(let sequence):
      return try deleteTurns(through: Int64(sequence))
    case .trim(let table, let rows, let bytes):
      return try trim(table, rows: rows, bytes: bytes)
    case .forget(let subject):
      return try forget(Int64(subject))
    case .settle(let home):
      try setHome.bind(home)
      try setHome.run()
      return true
    }
  }

  /// Adapts the size of slices to the duration of the last one, including its commit.
  mutating func measured() {
    let elapsed = ContinuousClock.now - sliceStart
    if elapsed > .microseconds(settings.sliceMicroseconds) {
      sliceRows = max(16, sliceRows / 2)
    } else if elapsed < .microseconds(settings.sliceMicroseconds / 2) {
      sliceRows = min(16_384, sliceRows * 2)
    }
  }

  /// Parts until the bytes of a slice are reached, at least one. Nothing refers to the snapshot
  /// before its last part is there.
  private mutating func writeParts(
    _ sequence: Int64, _ made: () -> any SnapshotContent
  ) throws(JournalError) -> Bool {
    let content = content ?? made()
    self.content = content
    let parts = content.count
    precondition(parts > 0, "nothing would replace the turns")
    var bytes = 0
    while nextPart < parts, bytes < settings.snapshotSliceBytes {
      let body = content.encoded(nextPart)
      let number = Int64(nextPart)
      try insertPart.bind(sequence, number, Int64(parts), Checksum.of(sequence, number, body))
      try insertPart.run(body: body, at: 5)
      bytes += body.count
      nextPart += 1
    }
    guard nextPart == parts else { return false }
    self.content = nil
    nextPart = 0
    return true
  }

  private func deleteSnapshots(except sequence: Int64) throws(JournalError) -> Bool {
    // Parts are large: delete a few at a time.
    let limit: Int64 = 4
    defer { dropParts.reset() }
    try dropParts.bind(sequence, limit)
    var count: Int64 = 0
    while try dropParts.step() { count += 1 }
    return count < limit
  }

  /// Oldest first, a range of sequences at a time.
  private func deleteTurns(through sequence: Int64) throws(JournalError) -> Bool {
    defer { firstTurn.reset() }
    // The minimum of no rows is NULL, which reads as 0; sequences begin at 1.
    guard try firstTurn.step(), firstTurn.integer(0) > 0 else { return true }
    let last = min(sequence, firstTurn.integer(0) + sliceRows - 1)
    firstTurn.reset()
    try dropTurns.bind(last)
    try dropTurns.run()
    return last == sequence
  }

  /// The totals of the table are counted along, so that no slice counts rows.
  private func trim(
    _ table: History, rows: Int64, bytes: Int64
  ) throws(JournalError) -> Bool {
    guard let oldest = oldest[table], let drop = dropOldest[table] else { return true }
    let totals = tables.totals(table)
    try oldest.bind(sliceRows)
    let slice = try count(oldest) { dropped in
      totals.rows - dropped.rows > rows || totals.bytes - dropped.bytes > bytes
    }
    guard let last = slice.last else { return true }
    try drop.bind(last)
    try drop.run()
    tables.change(table, rows: -slice.totals.rows, bytes: -slice.totals.bytes)
    if table == .stream { tables.beginStream(at: slice.totals.end) }
    return slice.totals.rows < sliceRows
  }

  /// The chapters first, in slices; the few documents with the last one.
  private func forget(_ subject: Int64) throws(JournalError) -> Bool {
    try oldestOfSubject.bind(subject, sliceRows)
    let slice = try count(oldestOfSubject) { _ in true }
    if let last = slice.last {
      try dropOfSubject.bind(subject, last)
      try dropOfSubject.run()
      tables.change(.chapters, rows: -slice.totals.rows, bytes: -slice.totals.bytes)
    }
    guard slice.totals.rows < sliceRows else { return false }
    try dropDocuments.bind(subject)
    try dropDocuments.run()
    return true
  }

  /// Counts the rows of (key, length, key behind it) to delete, as long as `wanted` returns true.
  private func count(
    _ statement: Statement, while wanted: (Totals) -> Bool
  ) throws(JournalError) -> (last: Int64?, totals: Totals) {
    defer { statement.reset() }
    var totals = Totals()
    var last: Int64?
    while wanted(totals), try statement.step() {
      last = statement.integer(0)
      totals.rows += 1
      totals.bytes += statement.integer(1)
      totals.end = statement.integer(2)
    }
    return (last, totals)
  }
}
