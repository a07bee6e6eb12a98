// Operation names in selections (S97): exact, or `*` for any characters and `?` for one.

/// A name or pattern to compare with many names.
public struct NamePattern: Hashable, Sendable {
  public let text: String
  /// nil: an exact name.
  private let pattern: [Character]?

  public init(_ text: String) {
    self.text = text
    pattern = text.utf8.contains { $0 == 0x2A || $0 == 0x3F } ? Array(text) : nil
  }

  /// Whether it may match several names.
  public var isPattern: Bool { pattern != nil }

  /// Whether it matches this name. A name with `*` or `?` in it also matches itself.
  public func matches(_ name: String) -> Bool {
    if name == text { return true }
    guard let pattern else { return false }
    return Self.matches(Array(name), pattern)
  }

  /// Backtracks only to the last `*`: at most the product of both lengths.
  private static func matches(_ name: [Character], _ pattern: [Character]) -> Bool {
    var at = 0
    var next = 0
    /// The position behind the last `*`, and the end of the text it matches so far.
    var star: (next: Int, at: Int)?
    while at < name.count {
      if next < pattern.count, pattern[next] == "*" {
        next += 1
        star = (next, at)
      } else if next < pattern.count, pattern[next] == "?" || pattern[next] == name[at] {
        next += 1
        at += 1
      } else if let last = star {
        star = (last.next, last.at + 1)
        next = last.next
        at = last.at + 1
      } else {
        return false
      }
    }
    return pattern[next...].allSatisfy { $0 == "*" }
  }
}
