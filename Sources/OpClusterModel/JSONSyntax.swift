// Checks the syntax of JSON: of typed arguments before they are sent, and of outputs that are shown
// unchanged. Pure; the depth is limited, so no input can overflow the stack.

/// The first error in a JSON text.
public struct JSONMistake: Error, Hashable, Sendable {
  /// The number of bytes before the error.
  public var offset: Int
  /// The token that was expected there.
  public var expected: String
}

public enum JSONSyntax {
  /// Maximum nesting of arrays and objects.
  public static let maximumDepth = 200

  /// Checks one JSON value with optional whitespace around it.
  ///
  /// - Throws: The first mistake.
  public static func check(_ bytes: [UInt8]) throws(JSONMistake) {
    guard String(validating: bytes, as: UTF8.self) != nil else {
      throw JSONMistake(offset: 0, expected: "UTF-8")
    }
    var reader = JSONReader(bytes: bytes)
    try reader.value(depth: 0)
    reader.skipBlanks()
    if reader.at < bytes.count { throw reader.mistake("the end") }
  }

  public static func isValid(_ bytes: [UInt8]) -> Bool {
    do throws(JSONMistake) {
      try check(bytes)
      return true
    } catch {
      return false
    }
  }
}

private struct JSONReader {
  let bytes: [UInt8]
  var at = 0

  func mistake(_ expected: String) -> JSONMistake { JSONMistake(offset: at, expected: expected) }
  private var next: UInt8? { at < bytes.count ? bytes[at] : nil }

  mutating func skipBlanks() {
    while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { at += 1 }
  }

  mutating func value(depth: Int) throws(JSONMistake) {
    guard depth <= JSONSyntax.maximumDepth else { throw mistake("less depth") }
    skipBlanks()
    switch next {
    case UInt8(ascii: "{"): try members(depth: depth)
    case UInt8(ascii: "["): try items(depth: depth)
    case UInt8(ascii: "\""): try string()
    case UInt8(ascii: "t"): try word("true")
    case UInt8(ascii: "f"): try word("false")
    case UInt8(ascii: "n"): try word("null")
    case let byte? where byte == UInt8(ascii: "-") || (0x30...0x39).contains(byte): try number()
    default: throw mistake("a value")
    }
  }

  private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: scalar) else { return false }
    at += 1
    return true
  }

  private mutating func members(depth: Int) throws(JSONMistake) {
    at += 1
    skipBlanks()
    if take("}") { return }
    while true {
      skipBlanks()
      guard next == UInt8(ascii: "\"") else { throw mistake("a key in double quotes") }
      try string()
      skipBlanks()
      guard take(":") else { throw mistake("':'") }
      try value(depth: depth + 1)
      skipBlanks()
      if take("}") { return }
      guard take(",") else { throw mistake("',' or '}'") }
    }
  }

  private mutating func items(depth: Int) throws(JSONMistake) {
    at += 1
    skipBlanks()
    if take("]") { return }
    while true {
      try value(depth: depth + 1)
      skipBlanks()
      if take("]") { return }
      guard take(",") else { throw mistake("',' or ']'") }
    }
  }

  private mutating func string() throws(JSONMistake) {
    at += 1
    while let byte = next {
      if take("\"") { return }
      guard byte >= 0x20 else { throw mistake("an escape for a control character") }
      at += 1
      guard byte == UInt8(ascii: "\\") else { continue }
      if take("u") {
        for _ in 0..<4 {
          guard let digit = next, Character(Unicode.Scalar(digit)).isHexDigit else {
            throw mistake("a hexadecimal digit")
          }
          at += 1
        }
      } else {
        guard let escape = next, "\"\\/bfnrt".utf8.contains(escape) else {
          throw mistake("an escape")
        }
        at += 1
      }
    }
    throw mistake("the closing quote")
  }

  private mutating func word(_ word: String) throws(JSONMistake) {
    guard bytes[at...].starts(with: word.utf8) else { throw mistake("a value") }
    at += word.utf8.count
  }

  private mutating func digits() throws(JSONMistake) {
    let start = at
    while let byte = next, (0x30...0x39).contains(byte) { at += 1 }
    if at == start { throw mistake("a digit") }
  }

  private mutating func number() throws(JSONMistake) {
    _ = take("-")
    if !take("0") { try digits() }
    if take(".") { try digits() }
    if take("e") || take("E") {
      if !take("+") { _ = take("-") }
      try digits()
    }
  }
}
