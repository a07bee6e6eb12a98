// The keys of `opbatch top`, as a terminal sends them.

/// A key that means something.
public enum TopKey: Hashable, Sendable {
  case character(Character)
  case enter, escape, backspace, tab, up, down, pageUp, pageDown

  /// The keys that bytes of a terminal stand for; what means nothing is left out. An escape at the
  /// end is the key itself: terminals send the bytes of one key at once.
  public static func keys(of bytes: [UInt8]) -> [TopKey] {
    var keys: [TopKey] = []
    var rest = bytes[...]
    while let byte = rest.first {
      rest = rest.dropFirst()
      switch byte {
      case 0x1b: keys += escaped(&rest)
      case 0x0d, 0x0a: keys.append(.enter)
      case 0x09: keys.append(.tab)
      case 0x7f, 0x08: keys.append(.backspace)
      case 0..<0x20: break
      case 0x20..<0x7f: keys.append(.character(Character(Unicode.Scalar(byte))))
      default:
        // A character beyond ASCII, of two to four bytes.
        let count = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1
        let text = String(decoding: [byte] + rest.prefix(count), as: UTF8.self)
        rest = rest.dropFirst(count)
        if text.count == 1, let character = text.first, character != "\u{fffd}" {
          keys.append(.character(character))
        }
      }
    }
    return keys
  }

  private static func escaped(_ rest: inout ArraySlice<UInt8>) -> [TopKey] {
    guard let next = rest.first, next == UInt8(ascii: "[") || next == UInt8(ascii: "O") else {
      return [.escape]
    }
    rest = rest.dropFirst()
    let parameters = rest.prefix { $0 >= 0x30 && $0 <= 0x3f }
    rest = rest.dropFirst(parameters.count)
    guard let last = rest.popFirst() else { return [.escape] }
    switch (last, parameters.first) {
    case (UInt8(ascii: "A"), _): return [.up]
    case (UInt8(ascii: "B"), _): return [.down]
    case (UInt8(ascii: "~"), UInt8(ascii: "5")): return [.pageUp]
    case (UInt8(ascii: "~"), UInt8(ascii: "6")): return [.pageDown]
    default: return []
    }
  }
}
