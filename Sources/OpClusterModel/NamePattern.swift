// Operation names in selections (S97): exact, or `*` for any characters and `?` for one.

/// A name or pattern to compare with many names.
public struct NamePattern: Hashable, Sendable {
  public let text: String
  /// nil: an exact name.
  private let pattern: [Character]?
  /// The same for names in ASCII, if it is ASCII itself: a byte each, and nothing to allocate.
  private let bytes: [UInt8]?

  public init(_ text: String) {
    self.text = text
    let isPattern = text.utf8.contains { $0 == 0x2A || $0 == 0x3F }
    pattern = isPattern ? Array(text) : nil
    bytes = isPattern && Self.isPlain(text) ? Array(text.utf8) : nil
  }

  /// Whether it may match several names.
  public var isPattern: Bool { pattern != nil }

  /// Whether it matches this name. A name with `*` or `?` in it also matches itself.
  public func matches(_ name: String) -> Bool {
    if name == text { return true }
    guard let pattern else { return false }
    if let bytes, Self.isPlain(name) {
      return Self.matches(name.utf8, bytes, any: 0x2A, one: 0x3F)
    }
    return Self.matches(Array(name), pattern, any: "*", one: "?")
  }

  /// Whether each byte is a character: CR and LF may be one together.
  private static func isPlain(_ text: String) -> Bool {
    text.utf8.allSatisfy { $0 < 0x80 && $0 != 0x0D }
  }

  /// Backtracks only to the last `any`: at most the product of both lengths.
  private static func matches<Name: Collection>(
    _ name: Name, _ pattern: [Name.Element], any: Name.Element, one: Name.Element
  ) -> Bool where Name.Element: Equatable {
    var at = name.startIndex
    var next = 0
    /// The position behind the last `any`, and the end of the text it matches so far.
    var star: (next: Int, at: Name.Index)?
    while at < name.endIndex {
      if next < pattern.count, pattern[next] == any {
        next += 1
        star = (next, at)
      } else if next < pattern.count, pattern[next] == one || pattern[next] == name[at] {
        next += 1
        name.formIndex(after: &at)
      } else if let last = star {
        at = name.index(after: last.at)
        star = (last.next, at)
        next = last.next
      } else {
        return false
      }
    }
    return pattern[next...].allSatisfy { $0 == any }
  }
}
