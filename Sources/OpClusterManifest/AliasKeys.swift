// Finds aliases inside mapping keys before the text is given to Yams, which compares whole keys:
// a key that is an alias of aliases of aliases would keep it busy for years. Pure function.

enum AliasKeys {
  /// Where the first alias stands that is a key or part of one; nil for none. Texts that merely
  /// look like it at the start of a line of a block (`*name :`) are taken for it, too.
  static func first(in source: String) -> Place? {
    let bytes = Array(source.utf8)
    guard bytes.contains(UInt8(ascii: "&")), bytes.contains(UInt8(ascii: "*")) else { return nil }
    var line = 1
    var lineStart = 0
    for at in bytes.indices {
      if bytes[at] == UInt8(ascii: "\n") {
        line += 1
        lineStart = at + 1
      }
      let isAlias = bytes[at] == UInt8(ascii: "*") && opensNode(bytes, before: at, lineStart)
      let isExplicit =
        bytes[at] == UInt8(ascii: "?") && opensNode(bytes, before: at, lineStart)
        && isSpace(bytes, at + 1)
      if isExplicit || isAlias && endsInKey(bytes, from: at + 1) {
        let column = bytes[lineStart..<at].count { $0 & 0xC0 != 0x80 } + 1
        return Place(line: line, column: column)
      }
    }
    return nil
  }

  /// Only indentation, or a sign after which a node begins, stands before.
  private static func opensNode(_ bytes: [UInt8], before at: Int, _ lineStart: Int) -> Bool {
    var back = at
    while back > lineStart, bytes[back - 1] == UInt8(ascii: " ") { back -= 1 }
    if back == lineStart { return true }
    return "-{,[?".utf8.contains(bytes[back - 1])
  }

  /// A colon follows the name, or follows the bracket that closes on the same line.
  private static func endsInKey(_ bytes: [UInt8], from start: Int) -> Bool {
    var at = start
    while at < bytes.count, isName(bytes[at]) { at += 1 }
    if at == start { return false }
    if isColon(bytes, after: at) { return true }
    let end = min(bytes.count, start + 1100)
    while at < end, bytes[at] != UInt8(ascii: "\n") {
      let closes = bytes[at] == UInt8(ascii: "]") || bytes[at] == UInt8(ascii: "}")
      if closes, isColon(bytes, after: at + 1) { return true }
      at += 1
    }
    return false
  }

  private static func isColon(_ bytes: [UInt8], after start: Int) -> Bool {
    var at = start
    while at < bytes.count, bytes[at] == UInt8(ascii: " ") { at += 1 }
    return at < bytes.count && bytes[at] == UInt8(ascii: ":") && isSpace(bytes, at + 1)
  }

  private static func isSpace(_ bytes: [UInt8], _ at: Int) -> Bool {
    at >= bytes.count || bytes[at] <= 0x20 || ",]}".utf8.contains(bytes[at])
  }

  private static func isName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
      true
    default: false
    }
  }
}
