// Combines input sources to rows of arguments: all with all, or side by side. The first source is
// read as it comes, so that it may be endless; the others are kept. Pure; the readers are given.

/// Reads one source: the next record, or nil at its end.
package typealias RecordReader = () throws(InputProblem) -> String?

/// The settings that concern what is read.
package struct RowSettings: Sendable {
  /// Splits records into columns (`--colsep`), a regular expression; nil: a record is one column.
  package var columnSeparator: String?
  /// Which blanks are taken off (`--trim`): of `lr`.
  package var trims = ""
  /// The first record of each source gives names (`--header :`).
  package var hasHeader = false
  /// All sources side by side, the shorter ones repeated (`--link`).
  package var linksAll = false
  /// A record that ends its source (`-E`).
  package var end: String?
  /// Records without anything but blanks are left out (`-r`).
  package var skipsEmpty = false

  package init() {}
}

/// The rows of arguments of all sources. For one thread.
package final class ArgumentRows {
  private let settings: RowSettings
  private let separator: ColumnSeparator?
  private var readers: [(read: RecordReader, isLinked: Bool)]
  /// The names of all columns, in their order; empty without a header.
  package private(set) var names: [String] = []
  /// What the groups of sources after the first one give.
  private var others: [[[String]]] = []
  /// The row of the first group, and the number of the combination with the others.
  private var first: [String]?
  private var combination = 0
  private var combinations = 1
  /// The number of readers in the first group.
  private var firstCount = 1
  /// What `--link` has read of each source, once one has ended.
  private var kept: [[[String]]] = []
  private var ended: [Bool] = []
  private var linkedRow = 0

  /// Reads the headers, and all of the sources after the first.
  package init(
    _ readers: [(read: RecordReader, isLinked: Bool)], _ settings: RowSettings
  ) throws(InputProblem) {
    self.readers = readers
    self.settings = settings
    separator = try settings.columnSeparator.map { text throws(InputProblem) in
      try ColumnSeparator(text)
    }
    if settings.hasHeader {
      for at in readers.indices { names += try row(at) ?? [] }
    }
    if settings.linksAll {
      kept = readers.map { _ in [] }
      ended = readers.map { _ in false }
      return
    }
    firstCount = 1 + readers.dropFirst().prefix { $0.isLinked }.count
    var at = firstCount
    while at < readers.count {
      let count = 1 + readers[(at + 1)...].prefix { $0.isLinked }.count
      var rows: [[String]] = []
      while let row = try sideBySide(at..<(at + count)) { rows.append(row) }
      others.append(rows)
      combinations = combinations.multipliedReportingOverflow(by: rows.count).partialValue
      at += count
    }
  }

  /// The next row; nil at the end.
  package func next() throws(InputProblem) -> [String]? {
    if settings.linksAll { return try nextLinked() }
    if first == nil || combination >= combinations {
      guard combinations > 0, let row = try sideBySide(0..<firstCount) else { return nil }
      first = row
      combination = 0
    }
    guard var row = first else { return nil }
    var rest = combination
    var picked: [[String]] = []
    // The last source changes first.
    for rows in others.reversed() {
      picked.append(rows[rest % rows.count])
      rest /= rows.count
    }
    for part in picked.reversed() { row += part }
    combination += 1
    return row
  }

  /// The shortest source ends the row's group.
  private func sideBySide(_ places: Range<Int>) throws(InputProblem) -> [String]? {
    var row: [String] = []
    for at in places {
      guard let part = try self.row(at) else { return nil }
      row += part
    }
    return row
  }

  /// Ended sources begin again, until the longest has ended.
  private func nextLinked() throws(InputProblem) -> [String]? {
    var parts: [[String]] = []
    var isNew = false
    for at in readers.indices {
      if !ended[at] {
        if let part = try row(at) {
          kept[at].append(part)
          parts.append(part)
          isNew = true
          continue
        }
        ended[at] = true
      }
      guard !kept[at].isEmpty else { return nil }
      parts.append(kept[at][linkedRow % kept[at].count])
    }
    guard isNew else { return nil }
    // One source alone is never begun again.
    if readers.count == 1 { kept[0] = [] }
    linkedRow += 1
    return parts.flatMap { $0 }
  }

  private func row(_ at: Int) throws(InputProblem) -> [String]? {
    while let record = try readers[at].read() {
      if let end = settings.end, record == end {
        readers[at].read = { () throws(InputProblem) in nil }
        return nil
      }
      if settings.skipsEmpty, record.allSatisfy(\.isWhitespace) { continue }
      return separator.map { $0.columns(of: record).map(trimmed) } ?? [trimmed(record)]
    }
    return nil
  }

  private func trimmed(_ value: String) -> String {
    guard !settings.trims.isEmpty else { return value }
    var rest = value[...]
    if settings.trims.contains("l") { rest = rest.drop(while: \.isWhitespace) }
    if settings.trims.contains("r") {
      while rest.last?.isWhitespace == true { rest.removeLast() }
    }
    return String(rest)
  }
}

/// What stands between columns.
private struct ColumnSeparator {
  private let text: String
  /// nil: `text` means itself.
  private let pattern: Regex<AnyRegexOutput>?

  init(_ text: String) throws(InputProblem) {
    self.text = text
    let meanings = "\\^$.|?*+()[]{}"
    guard !text.isEmpty, text.contains(where: { meanings.contains($0) }) else {
      pattern = nil
      guard !text.isEmpty else { throw InputProblem("--colsep is empty") }
      return
    }
    do {
      // Scalars, as in Perl: a combining mark does not hide what stands before it.
      pattern = try Regex(text).matchingSemantics(.unicodeScalar)
    } catch {
      throw InputProblem(
        "--colsep '\(text)' is no regular expression",
        hint: "a character that means something to one stands behind a backslash: '\\|'")
    }
  }

  /// By bytes: a combining mark does not hide what stands before it.
  private static func split(_ record: [UInt8], at separator: [UInt8]) -> [String] {
    var columns: [String] = []
    var start = 0
    var at = 0
    while at + separator.count <= record.count {
      if record[at...].starts(with: separator) {
        columns.append(String(decoding: record[start..<at], as: UTF8.self))
        at += separator.count
        start = at
      } else {
        at += 1
      }
    }
    return columns + [String(decoding: record[start...], as: UTF8.self)]
  }

  /// A separator that matches nothing at all separates nothing.
  func columns(of record: String) -> [String] {
    guard let pattern else {
      return Self.split(Array(record.utf8), at: Array(text.utf8))
    }
    return record.split(separator: pattern, omittingEmptySubsequences: false).map(String.init)
  }
}
