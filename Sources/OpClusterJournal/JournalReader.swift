// Reads history beside the writer, with a connection of its own. Made and used on one thread, not
// the journal's; sees only committed and synced rows.

/// The limit of one call of a reader: at most `rows`, and no further row after `bytes` are reached.
public struct ReadLimit: Sendable {
  public var rows: Int
  public var bytes: Int

  public init(rows: Int, bytes: Int = 1 << 20) {
    self.rows = rows
    self.bytes = bytes
  }
}

/// Events `first ..< first + count` of the stream.
public struct StreamRow: Sendable, Hashable {
  public let first: UInt64
  public let count: UInt32
  public let body: [UInt8]
}

/// A chapter about a subject; newer chapters have a larger `row`, and existing rows never share
/// one.
public struct ChapterRow: Sendable, Hashable {
  public let row: UInt64
  public let sequence: UInt64
  public let first: UInt32
  public let last: UInt32
  public let body: [UInt8]
}

/// The document of one kind about a subject.
public struct DocumentRow: Sendable, Hashable {
  public let subject: UInt64
  public let body: [UInt8]
}

/// Durable history. Not Sendable: each thread makes a reader of its own.
public protocol JournalReading {
  /// Returns the events that the stream holds; nil if it is empty.
  func streamBounds() throws(JournalError) -> Range<UInt64>?
  /// Returns rows that hold event `from` or later ones, oldest first.
  func stream(from: UInt64, limit: ReadLimit) throws(JournalError) -> [StreamRow]
  /// Returns chapters with a member in `members`, oldest first, behind row `after` (0 for all).
  func chapters(
    subject: UInt64, overlapping members: ClosedRange<UInt32>, after row: UInt64, limit: ReadLimit
  ) throws(JournalError) -> [ChapterRow]
  /// Returns the document of a kind about a subject; nil if there is none.
  func document(subject: UInt64, kind: Int) throws(JournalError) -> [UInt8]?
  /// Returns documents of a kind, largest subject first, below `before` (nil for all).
  func documents(
    kind: Int, before subject: UInt64?, limit: ReadLimit
  ) throws(JournalError) -> [DocumentRow]
  /// Checks the next few rows of the history: whether they are valid, and whether every path leads
  /// to them. Returns true after the last row.
  ///
  /// - Throws: `.damaged` for a row or a path that fails the check.
  func inspect(_ inspection: inout HistoryInspection) throws(JournalError) -> Bool
}

/// The reader of a SQLite journal. Verifies every row by its checksum.
public final class JournalReader: JournalReading {
  private let bounds: Statement
  private let streamRows: Statement
  private let chapterRows: Statement
  private let oneDocument: Statement
  private let documentRows: Statement
  private let inspector: HistoryInspector

  /// Opens the journal in `folder` for reading, also while a process writes to it.
  ///
  /// - Throws: `JournalError` if the journal cannot be opened or has another format.
  public init(folder path: String) throws(JournalError) {
    let connection = try Connection(path: StateFolder(path: path).database, access: .readOnly)
    try Schema.check(connection)
    inspector = try HistoryInspector(connection)
    bounds = try connection.prepare(
      """
      SELECT (SELECT min(first) FROM stream), first + count FROM stream
      ORDER BY first DESC LIMIT 1
      """)
    streamRows = try connection.prepare(
      """
      SELECT first, count, checksum, body FROM stream
      WHERE first >= coalesce((SELECT max(first) FROM stream WHERE first <= ?1), ?1)
      AND first + count > ?1 ORDER BY first LIMIT ?2
      """)
    chapterRows = try connection.prepare(
      """
      SELECT row, sequence, first, last, checksum, body FROM chapters
      WHERE subject = ? AND first <= ? AND last >= ? AND row > ? ORDER BY row LIMIT ?
      """)
    oneDocument = try connection.prepare(
      "SELECT checksum, body FROM documents WHERE subject = ? AND kind = ?")
    documentRows = try connection.prepare(
      """
      SELECT subject, checksum, body FROM documents WHERE subject < ? AND kind = ?
      ORDER BY subject DESC LIMIT ?
      """)
  }

  public func streamBounds() throws(JournalError) -> Range<UInt64>? {
    defer { bounds.reset() }
    guard try bounds.step() else { return nil }
    guard let first = UInt64(exactly: bounds.integer(0)),
      let end = UInt64(exactly: bounds.integer(1)), first <= end
    else {
      throw .damaged("stream", because: "its ends are no numbers", remedy: .historyOfReader)
    }
    return first..<end
  }

  public func stream(from: UInt64, limit: ReadLimit) throws(JournalError) -> [StreamRow] {
    guard let from = Int64(exactly: from) else { return [] }
    try streamRows.bind(from, Int64(limit.rows))
    return try collect(streamRows, limit.bytes) { rows throws(JournalError) in
      let (first, count) = (rows.integer(0), rows.integer(1))
      let body = try rows.verifiedBody(3, first, count, checksum: 2, name: "stream \(first)")
      return (StreamRow(first: UInt64(first), count: UInt32(count), body: body), body.count)
    }
  }

  public func chapters(
    subject: UInt64, overlapping members: ClosedRange<UInt32>, after row: UInt64, limit: ReadLimit
  ) throws(JournalError) -> [ChapterRow] {
    guard let subject = Int64(exactly: subject), let row = Int64(exactly: row) else { return [] }
    let (lower, upper) = (Int64(members.lowerBound), Int64(members.upperBound))
    try chapterRows.bind(subject, upper, lower, row, Int64(limit.rows))
    return try collect(chapterRows, limit.bytes) { rows throws(JournalError) in
      // Damaged numbers contradict the checksum.
      let first = UInt32(truncatingIfNeeded: rows.integer(2))
      let last = UInt32(truncatingIfNeeded: rows.integer(3))
      let body = try rows.verifiedBody(
        5, subject, Checksum.pair(first, last), checksum: 4, name: "chapter \(rows.integer(0))")
      let chapter = ChapterRow(
        row: UInt64(rows.integer(0)), sequence: UInt64(clamping: rows.integer(1)), first: first,
        last: last,
        body: body)
      return (chapter, body.count)
    }
  }

  public func document(subject: UInt64, kind: Int) throws(JournalError) -> [UInt8]? {
    guard let subject = Int64(exactly: subject) else { return nil }
    defer { oneDocument.reset() }
    try oneDocument.bind(subject, Int64(kind))
    guard try oneDocument.step() else { return nil }
    return try oneDocument.verifiedBody(
      1, subject, Int64(kind), checksum: 0, name: "document \(subject) \(kind)")
  }

  public func documents(
    kind: Int, before subject: UInt64?, limit: ReadLimit
  ) throws(JournalError) -> [DocumentRow] {
    let before = subject.flatMap { Int64(exactly: $0) } ?? Int64.max
    try documentRows.bind(before, Int64(kind), Int64(limit.rows))
    return try collect(documentRows, limit.bytes) { rows throws(JournalError) in
      let subject = rows.integer(0)
      let body = try rows.verifiedBody(
        2, subject, Int64(kind), checksum: 1, name: "document \(subject) \(kind)")
      return (DocumentRow(subject: UInt64(subject), body: body), body.count)
    }
  }

  public func inspect(_ inspection: inout HistoryInspection) throws(JournalError) -> Bool {
    try inspector.inspect(&inspection)
  }

  private func collect<Row>(
    _ statement: Statement, _ bytes: Int,
    _ read: (Statement) throws(JournalError) -> (row: Row, bytes: Int)
  ) throws(JournalError) -> [Row] {
    defer { statement.reset() }
    var found: [Row] = []
    var size = 0
    while size < bytes, try statement.step() {
      let (row, count) = try read(statement)
      found.append(row)
      size += count
    }
    return found
  }
}

extension Statement {
  /// Returns the body in a column if its checksum with two numbers is right.
  func verifiedBody(
    _ column: Int32, _ first: Int64, _ second: Int64, checksum: Int32, name: String
  ) throws(JournalError) -> [UInt8] {
    guard self.checksum(first, second, column: column) == integer(checksum) else {
      throw .damaged(name, because: "its checksum does not hold", remedy: .historyOfReader)
    }
    return bytes(column)
  }
}
