// Checks the history during use: a little at a time, each time in one read transaction, so that
// neither a question nor the write-ahead log waits for it. SQLite does not notice a path that no
// longer leads to a row: if an index or a page has lost entries, every answer is incomplete and
// looks whole. So each row is looked up by each path. On the thread of the reader.

/// A table of history that can be damaged separately.
public enum HistoryTable: String, Sendable, CaseIterable {
  case stream
  case chapters
  case documents
}

/// The progress of a check of the history. A new check begins with the ends of every table.
public struct HistoryInspection: Sendable {
  enum Stage: Int, Sendable {
    case endsOfStream, endsOfChapters, endsOfDocuments
    case stream, chapters, chapterIndex, documents, documentIndex
  }

  var stage = Stage.endsOfStream
  /// The last checked row, in the order of the stage.
  var after: (first: Int64, second: Int64) = (-1, -1)
  /// The expected beginning of the next row of the stream; nil if unknown.
  var expected: Int64?

  /// A damaged row: only questions that need it are affected. The caller takes it by setting it to
  /// nil.
  public var damagedRow: JournalError?

  /// The table that is checked at present.
  public var table: HistoryTable {
    switch stage {
    case .endsOfStream, .stream: .stream
    case .endsOfChapters, .chapters, .chapterIndex: .chapters
    case .endsOfDocuments, .documents, .documentIndex: .documents
    }
  }

  /// Whether the ends of every table were checked; that is fast for any length.
  public var hasSeenEnds: Bool { stage.rawValue >= Stage.stream.rawValue }

  public init() {}

  /// Skips the part that could not be checked; true if nothing is left.
  public mutating func skip() -> Bool {
    guard let next = Stage(rawValue: stage.rawValue + 1) else { return true }
    enter(next)
    return false
  }

  fileprivate mutating func enter(_ next: Stage) {
    stage = next
    after = (-1, -1)
  }
}

/// The statements name their index or forbid it: a check by the path that SQLite chooses would look
/// twice along the same one.
final class HistoryInspector {
  /// The rows and bytes of one step.
  private static let rows: Int64 = 256
  private static let bytes = 256 << 10

  private let connection: Connection
  private let streamEnds: Statement
  private let stream: Statement
  private let chapters: Statement
  private let chapterBySubject: Statement
  private let chaptersOfSubject: Statement
  private let chaptersOfLater: Statement
  private let chapter: Statement
  private let documents: Statement
  private let documentBySubject: Statement
  private let documentsBySubject: Statement
  private let document: Statement

  init(_ connection: Connection) throws(JournalError) {
    self.connection = connection
    streamEnds = try connection.prepare(
      """
      SELECT (SELECT min(first) FROM stream), first + count FROM stream ORDER BY first DESC LIMIT 1
      """)
    stream = try connection.prepare(
      """
      SELECT first, count, checksum, body FROM stream WHERE first > ?1
      AND first > ?2 ORDER BY first LIMIT ?3
      """)
    chapters = try connection.prepare(
      """
      SELECT row, subject, first, last, checksum, body FROM chapters NOT INDEXED
      WHERE row > ?1 AND row > ?2 ORDER BY row LIMIT ?3
      """)
    chapterBySubject = try connection.prepare(
      """
      SELECT row FROM chapters INDEXED BY chapters_of_subject WHERE subject = ? AND row = ?
      """)
    chaptersOfSubject = try connection.prepare(
      """
      SELECT subject, row FROM chapters INDEXED BY chapters_of_subject
      WHERE subject = ? AND row > ? ORDER BY row LIMIT ?
      """)
    chaptersOfLater = try connection.prepare(
      """
      SELECT subject, row FROM chapters INDEXED BY chapters_of_subject
      WHERE subject > ? ORDER BY subject, row LIMIT ?
      """)
    chapter = try connection.prepare("SELECT subject FROM chapters NOT INDEXED WHERE row = ?")
    documents = try connection.prepare(
      """
      SELECT rowid, subject, kind, checksum, body FROM documents NOT INDEXED
      WHERE rowid > ?1 AND rowid > ?2 ORDER BY rowid LIMIT ?3
      """)
    documentBySubject = try connection.prepare(
      """
      SELECT rowid FROM documents INDEXED BY sqlite_autoindex_documents_1
      WHERE subject = ? AND kind = ?
      """)
    documentsBySubject = try connection.prepare(
      """
      SELECT subject, kind, rowid FROM documents INDEXED BY sqlite_autoindex_documents_1
      WHERE (subject, kind) > (?, ?) ORDER BY subject, kind LIMIT ?
      """)
    document = try connection.prepare(
      "SELECT subject, kind FROM documents NOT INDEXED WHERE rowid = ?")
  }

  /// Runs one step in a transaction of its own. True when everything was checked. A thrown error is
  /// damage of a whole table, after which the caller skips to the next stage.
  func inspect(_ inspection: inout HistoryInspection) throws(JournalError) -> Bool {
    try connection.execute("BEGIN")
    do throws(JournalError) {
      let isOver = try look(&inspection)
      try connection.execute("COMMIT")
      return isOver
    } catch {
      connection.rollBack()
      throw error
    }
  }

  /// One step of the present stage: at most `rows` rows or `bytes` bytes.
  private func look(_ inspection: inout HistoryInspection) throws(JournalError) -> Bool {
    switch inspection.stage {
    case .endsOfStream:
      try lookAtEndsOfStream()
      try lookAtTotals(.stream)
      inspection.enter(.endsOfChapters)
    case .endsOfChapters:
      try lookAtTotals(.chapters)
      try lookAtEndsOfChapters()
      inspection.enter(.endsOfDocuments)
    case .endsOfDocuments:
      try lookAtEndsOfDocuments()
      inspection.enter(.stream)
    case .stream:
      if try lookAtStream(&inspection) { inspection.enter(.chapters) }
    case .chapters:
      if try lookAtChapters(&inspection) { inspection.enter(.chapterIndex) }
    case .chapterIndex:
      if try lookAtChapterIndex(&inspection) { inspection.enter(.documents) }
    case .documents:
      if try lookAtDocuments(&inspection) { inspection.enter(.documentIndex) }
    case .documentIndex:
      return try lookAtDocumentIndex(&inspection)
    }
    return false
  }

  // MARK: - The ends

  /// The number of rows is stored apart, since counting them would read the whole table.
  private func lookAtTotals(_ history: History) throws(JournalError) {
    let stored = try Totals.stored(history, connection)
    let first = try connection.number("SELECT \(history.key) FROM \(history) LIMIT 1")
    if (stored.rows > 0) == (first != nil) { return }
    throw Self.damaged(
      "\(history)", "it shows \(first == nil ? "no row" : "rows"), and must show \(stored.rows)")
  }

  // Checks the first and last row of each table by its index, and the other way round. That finds
  // at once the loss of a whole page, or of the root of a tree.

  private func lookAtEndsOfChapters() throws(JournalError) {
    for order in ["ASC", "DESC"] {
      try lookUp("SELECT subject, row FROM chapters NOT INDEXED ORDER BY row \(order) LIMIT 1") {
        rows throws(JournalError) in
        try findChapter(rows.integer(0), rows.integer(1))
      }
      try lookUp(
        """
        SELECT subject, row FROM chapters INDEXED BY chapters_of_subject
        ORDER BY subject \(order), row \(order) LIMIT 1
        """
      ) { rows throws(JournalError) in try expectChapter(rows.integer(0), rows.integer(1)) }
    }
  }

  private func lookAtEndsOfDocuments() throws(JournalError) {
    for order in ["ASC", "DESC"] {
      try lookUp(
        "SELECT subject, kind, rowid FROM documents NOT INDEXED ORDER BY rowid \(order) LIMIT 1"
      ) { rows throws(JournalError) in
        try findDocument(rows.integer(0), rows.integer(1), row: rows.integer(2))
      }
      try lookUp(
        """
        SELECT subject, kind, rowid FROM documents INDEXED BY sqlite_autoindex_documents_1
        ORDER BY subject \(order), kind \(order) LIMIT 1
        """
      ) { rows throws(JournalError) in
        try expectDocument(rows.integer(0), rows.integer(1), row: rows.integer(2))
      }
    }
  }

  /// A statement that is prepared anew: it is used twice in a whole check.
  private func lookUp(
    _ text: String, _ body: (Statement) throws(JournalError) -> Void
  ) throws(JournalError) {
    let rows = try connection.prepare(text)
    defer { rows.reset() }
    if try rows.step() { try body(rows) }
  }

  private func lookAtEndsOfStream() throws(JournalError) {
    let stored = try Totals.stored(.stream, connection)
    defer { streamEnds.reset() }
    guard stored.hasEnds, try streamEnds.step() else { return }
    let (begin, end) = (streamEnds.integer(0), streamEnds.integer(1))
    guard begin != stored.begin || end != stored.end else { return }
    throw Self.damaged(
      "stream",
      "it holds the events from \(begin) up to \(end), and must hold those from \(stored.begin) "
        + "up to \(stored.end)")
  }

  // MARK: - Row by row

  /// Rows must follow each other without a gap: an event that is missing in the middle would be a
  /// gap that no reader can explain.
  private func lookAtStream(
    _ inspection: inout HistoryInspection
  ) throws(JournalError) -> Bool {
    try forEach(stream, &inspection) { rows, inspection throws(JournalError) in
      let (first, count) = (rows.integer(0), rows.integer(1))
      if rows.checksum(first, count, column: 3) != rows.integer(2) {
        inspection.damagedRow = Self.damaged("stream row \(first)", "its checksum does not hold")
      }
      if let expected = inspection.expected, first != expected {
        // Retention may have dropped the expected rows.
        try lookAtEndsOfStream()
        let begin = try connection.number("SELECT min(first) FROM stream")
        guard begin == first else {
          throw Self.damaged("stream", "events \(expected) to \(first - 1) are missing")
        }
      }
      let (next, isBeyond) = first.addingReportingOverflow(count)
      inspection.expected = isBeyond ? nil : next
      inspection.after = (first, first)
      return rows.length(3)
    }
  }

  private func lookAtChapters(
    _ inspection: inout HistoryInspection
  ) throws(JournalError) -> Bool {
    try forEach(chapters, &inspection) { rows, inspection throws(JournalError) in
      let (row, subject) = (rows.integer(0), rows.integer(1))
      let members = Checksum.pair(
        UInt32(truncatingIfNeeded: rows.integer(2)), UInt32(truncatingIfNeeded: rows.integer(3)))
      if rows.checksum(subject, members, column: 5) != rows.integer(4) {
        inspection.damagedRow = Self.damaged("chapters row \(row)", "its checksum does not hold")
      }
      try findChapter(subject, row)
      inspection.after = (row, row)
      return rows.length(5)
    }
  }

  /// First the rest of one subject, then later ones, which together are the order of the index.
  private func lookAtChapterIndex(
    _ inspection: inout HistoryInspection
  ) throws(JournalError) -> Bool {
    let (subject, row) = inspection.after
    var found = 0
    try chaptersOfSubject.bind(subject, row, Self.rows)
    try chaptersOfLater.bind(subject, Self.rows)
    for rows in [chaptersOfSubject, chaptersOfLater] {
      defer { rows.reset() }
      while found < Int(Self.rows), try rows.step() {
        let entry = (first: rows.integer(0), second: rows.integer(1))
        try expectChapter(entry.first, entry.second)
        inspection.after = entry
        found += 1
      }
    }
    return found == 0
  }

  private func lookAtDocuments(
    _ inspection: inout HistoryInspection
  ) throws(JournalError) -> Bool {
    try forEach(documents, &inspection) { rows, inspection throws(JournalError) in
      let (row, subject, kind) = (rows.integer(0), rows.integer(1), rows.integer(2))
      if rows.checksum(subject, kind, column: 4) != rows.integer(3) {
        inspection.damagedRow = Self.damaged("documents row \(row)", "its checksum does not hold")
      }
      try findDocument(subject, kind, row: row)
      inspection.after = (row, row)
      return rows.length(4)
    }
  }

  /// Bodies are not read again: their checksums were checked on the way by rows.
  private func lookAtDocumentIndex(
    _ inspection: inout HistoryInspection
  ) throws(JournalError) -> Bool {
    try forEach(documentsBySubject, &inspection) { rows, inspection throws(JournalError) in
      let entry = (first: rows.integer(0), second: rows.integer(1))
      try expectDocument(entry.first, entry.second, row: rows.integer(2))
      inspection.after = entry
      return 0
    }
  }

  /// Visits the next rows behind `after`; true if there were none.
  private func forEach(
    _ rows: Statement, _ inspection: inout HistoryInspection,
    _ body: (Statement, inout HistoryInspection) throws(JournalError) -> Int
  ) throws(JournalError) -> Bool {
    defer { rows.reset() }
    try rows.bind(inspection.after.first, inspection.after.second, Self.rows)
    var (found, bytes) = (0, 0)
    while bytes < Self.bytes, try rows.step() {
      bytes += try body(rows, &inspection)
      found += 1
    }
    return found == 0
  }

  // MARK: - Both ways

  private func findChapter(_ subject: Int64, _ row: Int64) throws(JournalError) {
    defer { chapterBySubject.reset() }
    try chapterBySubject.bind(subject, row)
    if try chapterBySubject.step() { return }
    throw .damaged(
      "the index of chapters", because: "row \(row) of subject \(subject) is not in it",
      remedy: .index)
  }

  private func expectChapter(_ subject: Int64, _ row: Int64) throws(JournalError) {
    defer { chapter.reset() }
    try chapter.bind(row)
    if try chapter.step(), chapter.integer(0) == subject { return }
    throw Self.damaged("chapters", "row \(row) of subject \(subject) is missing, which is indexed")
  }

  private func findDocument(
    _ subject: Int64, _ kind: Int64, row: Int64
  ) throws(JournalError) {
    defer { documentBySubject.reset() }
    try documentBySubject.bind(subject, kind)
    if try documentBySubject.step(), documentBySubject.integer(0) == row { return }
    throw .damaged(
      "the index of documents", because: "document \(kind) of subject \(subject) is not in it",
      remedy: .index)
  }

  private func expectDocument(
    _ subject: Int64, _ kind: Int64, row: Int64
  ) throws(JournalError) {
    defer { document.reset() }
    try document.bind(row)
    if try document.step(), document.integer(0) == subject, document.integer(1) == kind { return }
    throw Self.damaged(
      "documents", "document \(kind) of subject \(subject) is missing, which is indexed")
  }

  private static func damaged(_ record: String, _ reason: String) -> JournalError {
    .damaged(record, because: reason, remedy: .historyOfReader)
  }
}
