// Verifies the rows of history beside the turns: stream, chapters, documents. Used by the tools on
// their thread; while serving, each row is verified when it is read.

enum HistoryCheck {
  /// The numbers of valid rows.
  struct Count: Sendable, Hashable {
    var stream = 0
    var chapters = 0
    var documents = 0
  }

  /// Verifies the checksum of every row that came with a turn up to `last`.
  /// - Parameter base: The turn of the newest snapshot, 0 without one; decides the remedy.
  static func verify(
    _ connection: Connection, through last: Int64 = .max, base: UInt64
  ) throws(JournalError) -> Count {
    var count = Count()
    count.stream = try rows(
      connection, last, base, table: "stream", key: "first", numbers: "first, count",
      meaning: "events")
    count.chapters = try rows(
      connection, last, base, table: "chapters", key: "row",
      numbers: "subject, (first << 32) | last", meaning: "ends of attempts")
    count.documents = try rows(
      connection, last, base, table: "documents", key: "rowid", numbers: "subject, kind",
      meaning: "what is kept of a graph")
    return count
  }

  private static func rows(
    _ connection: Connection, _ last: Int64, _ base: UInt64, table: String, key: String,
    numbers: String, meaning: String
  ) throws(JournalError) -> Int {
    let rows = try connection.prepare(
      "SELECT \(key), \(numbers), sequence, checksum, body FROM \(table) WHERE sequence <= ?")
    defer { rows.reset() }
    try rows.bind(last)
    var count = 0
    while try rows.step() {
      guard rows.checksum(rows.integer(1), rows.integer(2), column: 5) == rows.integer(4) else {
        let turn = rows.integer(3)
        throw .damaged(
          "\(table) row \(rows.integer(0)) (\(meaning) of turn \(turn))",
          because: "its checksum does not hold",
          remedy: .history(turn: turn, base: Int64(clamping: base)))
      }
      count += 1
    }
    return count
  }
}
