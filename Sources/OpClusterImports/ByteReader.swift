// Reads a text byte by byte, for the small grammars of the formats. Never reads beyond its end.

struct ByteReader {
  let bytes: [UInt8]
  var at = 0

  init(_ text: String) { bytes = Array(text.utf8) }

  var isAtEnd: Bool { at >= bytes.count }
  /// The next byte; nil at the end.
  var next: UInt8? { at < bytes.count ? bytes[at] : nil }
  func next(behind distance: Int) -> UInt8? {
    at + distance < bytes.count ? bytes[at + distance] : nil
  }

  mutating func skipBlanks() { while let byte = next, isBlank(byte) { at += 1 } }

  /// Takes one byte if it is the next.
  mutating func take(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    at += 1
    return true
  }

  mutating func take(_ text: String) -> Bool {
    guard bytes[min(at, bytes.count)...].starts(with: text.utf8) else { return false }
    at += text.utf8.count
    return true
  }

  /// All bytes for which the condition holds.
  mutating func text(while condition: (UInt8) -> Bool) -> String {
    let start = at
    while let byte = next, condition(byte) { at += 1 }
    return String(decoding: bytes[start..<at], as: UTF8.self)
  }

  /// The next word; nil at the end.
  mutating func word() -> String? {
    skipBlanks()
    return isAtEnd ? nil : text { !isBlank($0) }
  }

  var rest: String { String(decoding: bytes[min(at, bytes.count)...], as: UTF8.self) }

  /// Up to the closing quote, which is taken; a backslash before a quote or a backslash is left
  /// out. nil if it is not closed.
  mutating func quoted(_ quote: UInt8) -> String? {
    var found: [UInt8] = []
    while let byte = next {
      at += 1
      if byte == quote { return String(decoding: found, as: UTF8.self) }
      if byte == UInt8(ascii: "\\"), let escaped = next,
        escaped == quote || escaped == UInt8(ascii: "\\")
      {
        found.append(escaped)
        at += 1
      } else {
        found.append(byte)
      }
    }
    return nil
  }
}
