// Reads TOML 1.0 with the line of every value, which the libraries for Swift do not tell. Dates
// stay texts. Bounded in depth; a text that is no TOML is one error.

import OpClusterModel

enum TomlValue {
  case text(String)
  case integer(Int)
  case number(Double)
  case boolean(Bool)
  /// A date or a time, as it is written.
  case moment(String)
  case array(TomlArray)
  case table(TomlTable)
}

struct TomlNode {
  var value: TomlValue
  var line: Int
}

/// A reference, since headers add to tables that are inside of others.
final class TomlTable {
  fileprivate(set) var entries: [String: TomlNode] = [:]
  fileprivate(set) var order: [String] = []
  /// Whether a header has named it, or it is written in braces.
  fileprivate var isDefined = false
  fileprivate var isClosed = false

  fileprivate func add(_ key: String, _ node: TomlNode) {
    entries[key] = node
    order.append(key)
  }
}

final class TomlArray {
  fileprivate(set) var items: [TomlNode] = []
  /// Whether headers in double brackets made it.
  fileprivate var isOfTables = false
}

struct TomlReader {
  private var reader: ByteReader
  private var line = 1
  private let file: String
  private let session: ImportSession
  private let root = TomlTable()

  /// Reads a whole text.
  static func read(
    _ lines: [String], _ file: String, _ session: ImportSession
  ) throws(ImportStop) -> TomlTable {
    var reader = TomlReader(
      reader: ByteReader(lines.joined(separator: "\n") + "\n"), file: file, session: session)
    try reader.readAll()
    return reader.root
  }

  private init(reader: ByteReader, file: String, session: ImportSession) {
    self.reader = reader
    self.file = file
    self.session = session
  }

  private func wrong(_ reason: String) -> ImportStop {
    session.stop(SourcePlace(file, line), reason)
  }

  private mutating func readAll() throws(ImportStop) {
    var current = root
    while true {
      try skipEmpty()
      guard !reader.isAtEnd else { return }
      if reader.take("[[") {
        let keys = try keys()
        guard reader.take("]]") else { throw wrong("']]' is missing") }
        current = try element(keys)
        try endLine()
      } else if reader.take("[") {
        let keys = try keys()
        guard reader.take("]") else { throw wrong("']' is missing") }
        current = try table(keys)
        try endLine()
      } else {
        try pair(into: current, depth: 0)
        try endLine()
      }
    }
  }

  // MARK: - Between values

  /// Blanks, line ends and comments.
  private mutating func skipEmpty() throws(ImportStop) {
    while true {
      reader.skipBlanks()
      if reader.next == UInt8(ascii: "#") { _ = reader.text { $0 != UInt8(ascii: "\n") } }
      guard reader.take("\n") else { return }
      line += 1
    }
  }

  private mutating func endLine() throws(ImportStop) {
    reader.skipBlanks()
    if reader.next == UInt8(ascii: "#") { _ = reader.text { $0 != UInt8(ascii: "\n") } }
    guard reader.isAtEnd || reader.take("\n") else { throw wrong("the line goes on unexpectedly") }
    line += 1
  }

  private mutating func keys() throws(ImportStop) -> [String] {
    var keys: [String] = []
    repeat {
      reader.skipBlanks()
      if reader.take("\"") {
        keys.append(try basic())
      } else if reader.take("'") {
        keys.append(try literal())
      } else {
        let key = reader.text {
          isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-")
        }
        guard !key.isEmpty else { throw wrong("a key is missing") }
        keys.append(key)
      }
      guard keys.count <= Limits.importDepth else { throw wrong("a key has too many parts") }
      reader.skipBlanks()
    } while reader.take(".")
    return keys
  }

  // MARK: - Tables

  /// The table of a path, where headers may have made parts of it.
  private func descend(_ keys: ArraySlice<String>) throws(ImportStop) -> TomlTable {
    var table = root
    for key in keys {
      switch table.entries[key]?.value {
      case .table(let inner) where !inner.isClosed: table = inner
      case .array(let array) where array.isOfTables:
        guard case .table(let inner)? = array.items.last?.value else {
          throw wrong("'\(key)' is no table")
        }
        table = inner
      case nil:
        let inner = TomlTable()
        table.add(key, TomlNode(value: .table(inner), line: line))
        table = inner
      default: throw wrong("'\(key)' is no table that can be added to")
      }
    }
    return table
  }

  private func table(_ keys: [String]) throws(ImportStop) -> TomlTable {
    let table = try descend(keys[...])
    guard !table.isDefined else { throw wrong("'\(keys.joined(separator: "."))' is there twice") }
    table.isDefined = true
    return table
  }

  private func element(_ keys: [String]) throws(ImportStop) -> TomlTable {
    let outer = try descend(keys.dropLast())
    let key = keys[keys.count - 1]
    let element = TomlTable()
    let node = TomlNode(value: .table(element), line: line)
    element.isDefined = true
    switch outer.entries[key]?.value {
    case .array(let array) where array.isOfTables: array.items.append(node)
    case nil:
      let array = TomlArray()
      array.isOfTables = true
      array.items = [node]
      outer.add(key, TomlNode(value: .array(array), line: line))
    default: throw wrong("'\(key)' is there twice")
    }
    return element
  }

  /// `a.b = value`
  private mutating func pair(into table: TomlTable, depth: Int) throws(ImportStop) {
    let keys = try keys()
    let start = line
    guard reader.take("=") else { throw wrong("'=' is missing") }
    var inner = table
    for key in keys.dropLast() {
      switch inner.entries[key]?.value {
      case .table(let below) where !below.isClosed && !below.isDefined: inner = below
      case nil:
        let below = TomlTable()
        inner.add(key, TomlNode(value: .table(below), line: line))
        inner = below
      default: throw wrong("'\(key)' is no table that can be added to")
      }
    }
    let key = keys[keys.count - 1]
    guard inner.entries[key] == nil else { throw wrong("'\(key)' is there twice") }
    inner.add(key, TomlNode(value: try value(depth: depth), line: start))
  }

  // MARK: - Values

  private mutating func value(depth: Int) throws(ImportStop) -> TomlValue {
    guard depth < Limits.importDepth else { throw wrong("values are too deep in each other") }
    reader.skipBlanks()
    guard let byte = reader.next else { throw wrong("a value is missing") }
    switch byte {
    case UInt8(ascii: "\""):
      if reader.take("\"\"\"") { return .text(try several(UInt8(ascii: "\""))) }
      reader.at += 1
      return .text(try basic())
    case UInt8(ascii: "'"):
      if reader.take("'''") { return .text(try several(UInt8(ascii: "'"))) }
      reader.at += 1
      return .text(try literal())
    case UInt8(ascii: "["):
      reader.at += 1
      return .array(try array(depth))
    case UInt8(ascii: "{"):
      reader.at += 1
      return .table(try braces(depth))
    default: return try plain()
    }
  }

  private mutating func array(_ depth: Int) throws(ImportStop) -> TomlArray {
    let array = TomlArray()
    while true {
      try skipEmpty()
      if reader.take("]") { return array }
      let start = line
      array.items.append(TomlNode(value: try value(depth: depth + 1), line: start))
      try skipEmpty()
      if reader.take(",") { continue }
      guard reader.take("]") else { throw wrong("',' or ']' is missing") }
      return array
    }
  }

  private mutating func braces(_ depth: Int) throws(ImportStop) -> TomlTable {
    let table = TomlTable()
    reader.skipBlanks()
    if !reader.take("}") {
      repeat {
        try pair(into: table, depth: depth + 1)
        reader.skipBlanks()
      } while reader.take(",")
      guard reader.take("}") else { throw wrong("',' or '}' is missing") }
    }
    table.isClosed = true
    return table
  }

  private mutating func plain() throws(ImportStop) -> TomlValue {
    var text = reader.text {
      isLetter($0) || isDigit($0) || [0x2B, 0x2D, 0x2E, 0x3A, 0x5F].contains($0)
    }
    switch text {
    case "true": return .boolean(true)
    case "false": return .boolean(false)
    case "inf", "+inf": return .number(.infinity)
    case "-inf": return .number(-.infinity)
    case "nan", "+nan", "-nan": return .number(.nan)
    default: break
    }
    if text.contains(":") || text.utf8.filter({ $0 == 0x2D }).count == 2 && !text.contains("e") {
      return .moment(text)
    }
    guard !text.isEmpty, !text.hasPrefix("_"), !text.hasSuffix("_"), !text.contains("__") else {
      throw wrong("'\(text)' is no value")
    }
    text = text.replacing("_", with: "")
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] where text.hasPrefix(prefix) {
      let digits = text.dropFirst(2)
      guard digits.first != "-", digits.first != "+", let number = Int(digits, radix: radix) else {
        throw wrong("'\(text)' is no number")
      }
      return .integer(number)
    }
    let isNumeral = text.utf8.allSatisfy {
      isDigit($0) || [0x2B, 0x2D, 0x2E].contains($0) || $0 | 0x20 == UInt8(ascii: "e")
    }
    let whole = text.hasPrefix("-") || text.hasPrefix("+") ? text.dropFirst() : text[...]
    let isOctal = whole.hasPrefix("0") && whole.dropFirst().first?.isNumber == true
    if isNumeral, !isOctal {
      if let number = Int(text) { return .integer(number) }
      if text.contains(where: { ".eE".contains($0) }), whole.first != ".", whole.last != ".",
        let number = Double(text)
      {
        return .number(number)
      }
    }
    throw wrong("'\(text)' is no value")
  }

  // MARK: - Texts

  private mutating func literal() throws(ImportStop) -> String {
    let text = reader.text { $0 != UInt8(ascii: "'") && $0 != UInt8(ascii: "\n") }
    guard reader.take("'") else { throw wrong("a text is not closed") }
    return text
  }

  private mutating func basic() throws(ImportStop) -> String {
    var bytes: [UInt8] = []
    while let byte = reader.next, byte != UInt8(ascii: "\n") {
      reader.at += 1
      if byte == UInt8(ascii: "\"") { return String(decoding: bytes, as: UTF8.self) }
      if byte == UInt8(ascii: "\\") { try escape(&bytes) } else { bytes.append(byte) }
    }
    throw wrong("a text is not closed")
  }

  private mutating func several(_ quote: UInt8) throws(ImportStop) -> String {
    var bytes: [UInt8] = []
    // The line end behind the opening is no part of the text.
    if reader.take("\n") { line += 1 }
    while let byte = reader.next {
      reader.at += 1
      if byte == UInt8(ascii: "\n") { line += 1 }
      if byte == quote, reader.next == quote, reader.next(behind: 1) == quote {
        reader.at += 2
        // Up to two quotes may stand before the closing ones.
        for _ in 0..<2 where reader.take(quote) { bytes.append(quote) }
        return String(decoding: bytes, as: UTF8.self)
      }
      if byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "\"") {
        let start = reader.at
        reader.skipBlanks()
        if reader.next == UInt8(ascii: "\n") {
          skipLines()
        } else {
          reader.at = start
          try escape(&bytes)
        }
      } else {
        bytes.append(byte)
      }
    }
    throw wrong("a text is not closed")
  }

  /// A backslash at the end of a line leaves out all blanks behind it.
  private mutating func skipLines() {
    while true {
      reader.skipBlanks()
      guard reader.take("\n") else { return }
      line += 1
    }
  }

  private mutating func escape(_ bytes: inout [UInt8]) throws(ImportStop) {
    let simple: [UInt8: UInt8] = [
      UInt8(ascii: "b"): 8, UInt8(ascii: "t"): 9, UInt8(ascii: "n"): 10, UInt8(ascii: "f"): 12,
      UInt8(ascii: "r"): 13, UInt8(ascii: "e"): 27, UInt8(ascii: "\""): UInt8(ascii: "\""),
      UInt8(ascii: "\\"): UInt8(ascii: "\\"),
    ]
    guard let byte = reader.next else { throw wrong("a text is not closed") }
    reader.at += 1
    if let meant = simple[byte] {
      bytes.append(meant)
      return
    }
    let length = byte == UInt8(ascii: "u") ? 4 : byte == UInt8(ascii: "U") ? 8 : 0
    var digits = ""
    while digits.utf8.count < length, let next = reader.next, isLetter(next) || isDigit(next) {
      digits.unicodeScalars.append(Unicode.Scalar(next))
      reader.at += 1
    }
    guard length > 0, digits.utf8.count == length, let number = UInt32(digits, radix: 16),
      // A zero byte cannot be in an argument of a command.
      number != 0, let scalar = Unicode.Scalar(number)
    else { throw wrong("an escape in a text is not known") }
    bytes += Array(String(Character(scalar)).utf8)
  }
}
