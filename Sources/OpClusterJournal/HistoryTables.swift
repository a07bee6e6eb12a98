// The tables of history beside the turns: stream, chapters, documents, with the numbers of rows and
// bytes for retention. Used by the journal's thread.

/// A table of history from which the oldest rows can be deleted.
enum History: String, Sendable, CaseIterable {
  case stream
  case chapters

  /// The column that orders the rows by age.
  var key: String { self == .stream ? "first" : "row" }

  /// The expression for the key behind a row: events have no gaps.
  var keyBehind: String { self == .stream ? "first + count" : "row + 1" }

  /// The names in `meta` of the values of `Totals`, in their order. Written out, since every commit
  /// binds some.
  var names: [String] { self == .stream ? Self.streamNames : Self.chapterNames }
  private static let streamNames = [
    "streamRows", "streamBytes", "streamBegin", "streamEnd", "streamSeal",
  ]
  private static let chapterNames = ["chaptersRows", "chaptersBytes"]
}

/// The rows and the bytes of bodies in a table. Kept in `meta`, changed in the same transaction as
/// the table.
struct Totals: Equatable {
  var rows: Int64 = 0
  var bytes: Int64 = 0
  /// The stream holds the events `begin ..< end`. These ends reveal a damaged page at either end.
  var begin: Int64 = 0
  var end: Int64 = 0
  /// Whether the ends are known: a version that does not keep them may have written last.
  var hasEnds = false

  static func stored(_ table: History, _ connection: Connection) throws(JournalError) -> Totals {
    func value(_ name: String) throws(JournalError) -> Int64? {
      try connection.number("SELECT value FROM meta WHERE key = '\(table)\(name)'")
    }
    var totals = Totals(rows: try value("Rows") ?? 0, bytes: try value("Bytes") ?? 0)
    guard table == .stream, let begin = try value("Begin"), let end = try value("End") else {
      return totals
    }
    (totals.begin, totals.end) = (begin, end)
    totals.hasEnds = try value("Seal") == totals.seal
    return totals
  }

  /// A checksum that says that the ends were written with these numbers.
  var seal: Int64 { Checksum.of(rows, bytes, [UInt8]()) }

  /// What `meta` keeps, in the order of `History.names`, which may have fewer.
  fileprivate var values: [Int64] { [rows, bytes, begin, end, seal] }
}

final class HistoryTables {
  private let insertStream: Statement
  private let insertChapter: Statement
  private let insertDocument: Statement
  private let dropDocuments: Statement
  private let save: Statement
  private(set) var stream: Totals
  private(set) var chapters: Totals
  private var saved: (stream: Totals, chapters: Totals)

  /// The values to restore when a transaction is rolled back.
  var mark: (Totals, Totals, (stream: Totals, chapters: Totals)) {
    get { (stream, chapters, saved) }
    set { (stream, chapters, saved) = newValue }
  }

  init(_ connection: Connection) throws(JournalError) {
    insertStream = try connection.prepare(
      "INSERT INTO stream (first, count, sequence, checksum, body) VALUES (?, ?, ?, ?, ?)")
    insertChapter = try connection.prepare(
      """
      INSERT INTO chapters (subject, first, last, sequence, checksum, body)
      VALUES (?, ?, ?, ?, ?, ?)
      """)
    insertDocument = try connection.prepare(
      """
      INSERT INTO documents (subject, kind, sequence, checksum, body) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET
      sequence = excluded.sequence, checksum = excluded.checksum, body = excluded.body
      """)
    dropDocuments = try connection.prepare("DELETE FROM documents WHERE subject = ?")
    save = try connection.prepare(
      "INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value")
    var totals = (
      stream: try Totals.stored(.stream, connection),
      chapters: try Totals.stored(.chapters, connection)
    )
    if !totals.stream.hasEnds {
      totals.stream.begin = try connection.number("SELECT min(first) FROM stream") ?? 0
      totals.stream.end =
        try connection.number("SELECT first + count FROM stream ORDER BY first DESC LIMIT 1") ?? 0
    }
    (stream, chapters) = totals
    saved = totals
  }

  func insert(_ attachment: Attachment, sequence: Int64) throws(JournalError) {
    switch attachment {
    case .stream(let first, let count, let body):
      let checksum = Checksum.of(Int64(first), Int64(count), body)
      try insertStream.bind(Int64(first), Int64(count), sequence, checksum)
      try insertStream.run(body: body, at: 5)
      if stream.rows == 0 { stream.begin = Int64(first) }
      stream.end = Int64(first) + Int64(count)
      change(.stream, rows: 1, bytes: Int64(body.count))
    case .chapter(let subject, let first, let last, let body):
      let checksum = Checksum.of(Int64(subject), Checksum.pair(first, last), body)
      try insertChapter.bind(Int64(subject), Int64(first), Int64(last), sequence, checksum)
      try insertChapter.run(body: body, at: 6)
      change(.chapters, rows: 1, bytes: Int64(body.count))
    case .document(let subject, let kind, let body):
      let checksum = Checksum.of(Int64(subject), Int64(kind), body)
      try insertDocument.bind(Int64(subject), Int64(kind), sequence, checksum)
      try insertDocument.run(body: body, at: 5)
    case .erasure(let subject):
      try dropDocuments.bind(Int64(subject))
      try dropDocuments.run()
    }
  }

  func totals(_ table: History) -> Totals { table == .stream ? stream : chapters }

  func change(_ table: History, rows: Int64, bytes: Int64) {
    switch table {
    case .stream:
      stream.rows += rows
      stream.bytes += bytes
    case .chapters:
      chapters.rows += rows
      chapters.bytes += bytes
    }
  }

  /// Notes that the events before this one were deleted.
  func beginStream(at event: Int64) { stream.begin = event }

  /// Writes the values that have changed, inside the transaction that changed them.
  func saveTotals() throws(JournalError) {
    if stream != saved.stream { try save(.stream, stream, before: saved.stream) }
    if chapters != saved.chapters { try save(.chapters, chapters, before: saved.chapters) }
    saved = (stream, chapters)
  }

  private func save(
    _ table: History, _ totals: Totals, before: Totals
  ) throws(JournalError) {
    // What a version that does not keep the ends has left of them is not what was read.
    let isWhole = table == .stream && !before.hasEnds
    let (values, former) = (totals.values, before.values)
    for (at, name) in table.names.enumerated() where isWhole || values[at] != former[at] {
      try save.bind(name, at: 1)
      try save.bind(values[at], from: 2)
      try save.run()
    }
    if table == .stream { stream.hasEnds = true }
  }
}

extension Checksum {
  /// Combines two 32-bit numbers into one of the two numbers of a checksum.
  static func pair(_ first: UInt32, _ last: UInt32) -> Int64 {
    Int64(bitPattern: UInt64(first) << 32 | UInt64(last))
  }
}
