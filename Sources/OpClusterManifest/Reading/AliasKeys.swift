// Finds aliases inside mapping keys before Yams parses the text. Yams compares whole keys, so a key
// of nested aliases could keep it busy for years. Values only.
// The check is of the text, since everything else happens after the parser. It may refuse a text
// that YAML would take: that is the safe side.

import OpClusterModel

/// An alias costs at most the length of a key, and an explicit key the rest of its line.
struct AliasKeys {
  /// The whole text; positions are offsets of bytes.
  private let bytes: [UInt8]
  /// Names of possible anchors in the text.
  private let anchors: Set<ArraySlice<UInt8>>

  /// Returns the place of the first alias that is a key or part of one; nil if there is none. A
  /// text line that begins like `*name :` counts as one if the manifest has an anchor `name`.
  static func first(in source: String) -> Place? {
    let keys = AliasKeys(source)
    return keys.anchors.isEmpty ? nil : keys.first()
  }

  /// A name behind `&` counts as an anchor wherever a node may begin before it.
  private init(_ source: String) {
    bytes = Array(source.utf8)
    var anchors: Set<ArraySlice<UInt8>> = []
    for at in bytes.indices where bytes[at] == UInt8(ascii: "&") {
      // In the middle of a word `&` is text.
      if at > 0, bytes[at - 1] > 0x20, !"[{,".utf8.contains(bytes[at - 1]) { continue }
      let name = bytes[(at + 1)...].prefix(while: Self.isName)
      if !name.isEmpty { anchors.insert(name) }
    }
    self.anchors = anchors
  }

  /// Stops at the first, as one finding says enough.
  private func first() -> Place? {
    var line = 1
    var lineStart = 0
    // Only two signs can begin a key with an alias in it: the alias itself, and the mark of an
    // explicit key.
    for at in bytes.indices {
      switch bytes[at] {
      case UInt8(ascii: "\n"):
        line += 1
        lineStart = at + 1
      case UInt8(ascii: "*"), UInt8(ascii: "?"):
        guard opensNode(before: at, lineStart) else { continue }
        let isExplicit = bytes[at] == UInt8(ascii: "?")
        if isExplicit ? isExplicitKey(at, lineStart) : endsInKey(at) {
          // Columns count characters, as all places do: continuation bytes are passed over.
          let column = bytes[lineStart..<at].count { $0 & 0xC0 != 0x80 } + 1
          return Place(line: line, column: column)
        }
      default: break
      }
    }
    return nil
  }

  /// Whether only indentation, or a sign after which a node begins, stands before.
  private func opensNode(before at: Int, _ lineStart: Int) -> Bool {
    var back = at
    while back > lineStart, bytes[back - 1] == UInt8(ascii: " ") { back -= 1 }
    return back == lineStart || "-{,[?".utf8.contains(bytes[back - 1])
  }

  /// Without an anchor of that name the star is a text.
  private func isAlias(_ at: Int) -> Bool {
    bytes[at] == UInt8(ascii: "*")
      && anchors.contains(bytes[(at + 1)...].prefix(while: Self.isName))
  }

  /// Whether `? key` begins here with an alias on the same line, or with a key that continues
  /// below.
  /// An explicit key may run over lines, so one that is not finished on its own is taken for a bad
  /// one.
  private func isExplicitKey(_ start: Int, _ lineStart: Int) -> Bool {
    guard isSpace(start + 1) else { return false }
    var at = start + 1
    while at < bytes.count, bytes[at] == UInt8(ascii: " ") { at += 1 }
    if at == bytes.count || bytes[at] == UInt8(ascii: "\n") {
      return bytes[lineStart..<start].allSatisfy { $0 == UInt8(ascii: " ") }
    }
    while at < bytes.count, bytes[at] != UInt8(ascii: "\n") {
      if isAlias(at), opensNode(before: at, lineStart) { return true }
      at += 1
    }
    return false
  }

  /// Whether a colon follows the alias, or follows a bracket that closes on the same line.
  /// Looks for `*name:`, and for `[*name]:` or `{*name}:`.
  private func endsInKey(_ start: Int) -> Bool {
    guard isAlias(start) else { return false }
    var at = start + 1
    while at < bytes.count, Self.isName(bytes[at]) { at += 1 }
    if isColon(after: at) { return true }
    // An implicit key has at most 1024 characters.
    let end = min(bytes.count, start + 4100)
    while at < end, bytes[at] != UInt8(ascii: "\n") {
      let closes = bytes[at] == UInt8(ascii: "]") || bytes[at] == UInt8(ascii: "}")
      if closes, isColon(after: at + 1) { return true }
      at += 1
    }
    return false
  }

  /// A colon must be followed by a blank, or it is part of a text.
  private func isColon(after start: Int) -> Bool {
    var at = start
    while at < bytes.count, bytes[at] == UInt8(ascii: " ") { at += 1 }
    return at < bytes.count && bytes[at] == UInt8(ascii: ":") && isSpace(at + 1)
  }

  /// Also true at the end of the text, and before signs that end a node in flow style.
  private func isSpace(_ at: Int) -> Bool {
    at >= bytes.count || bytes[at] <= 0x20 || ",]}".utf8.contains(bytes[at])
  }

  /// libyaml takes letters, digits, `_` and `-` for the name of an anchor.
  private static func isName(_ byte: UInt8) -> Bool {
    Names.isNameByte(byte) && byte != UInt8(ascii: ".")
  }
}
