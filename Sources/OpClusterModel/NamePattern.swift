// Names of operations as selections say them (S97): exact, or with `*` for any characters, none
// included, and `?` for exactly one.

/// A name to look for, made once and compared with many.
public struct NamePattern: Hashable, Sendable {
  public let text: String
  /// nil: an exact name.
  private let pattern: [Character]?

  public init(_ text: String) {
    self.text = text
    pattern = text.utf8.contains { $0 == 0x2A || $0 == 0x3F } ? Array(text) : nil
  }

  /// Whether it may mean several names.
  public var isPattern: Bool { pattern != nil }

  /// Whether it means this name. A name that contains `*` or `?` itself is meant by itself.
  public func matches(_ name: String) -> Bool {
    if name == text { return true }
    guard let pattern else { return false }
    return Self.matches(Array(name), pattern)
  }

  /// Goes back to the last `*` alone: at most the product of both lengths.
  private static func matches(_ name: [Character], _ pattern: [Character]) -> Bool {
    var at = 0
    var next = 0
    /// After the last `*`, and what it has swallowed so far.
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
