// Patterns of file names: `*`, `?`, `[a-z]`, `[!a-z]`. Pure; whoever has a folder's names asks it.

/// The pattern of one name, without folders. A brace is a character, and `**` is `*`.
package struct FileNamePattern: Sendable {
  private let pattern: [Unicode.Scalar]
  /// A pattern that begins with a star does not mean hidden names.
  private let meansHidden: Bool

  package init(_ text: some StringProtocol) {
    pattern = Array(text.unicodeScalars)
    meansHidden = text.hasPrefix(".")
  }

  /// Whether the text is more than a name.
  package static func isPattern(_ text: some StringProtocol) -> Bool {
    text.contains { "*?[".contains($0) }
  }

  package func matches(_ name: String) -> Bool {
    (meansHidden || !name.hasPrefix(".")) && matches(Array(name.unicodeScalars))
  }

  /// Matches in the product of both lengths: only the last `*` is tried again.
  /// A backtracking over all stars would be exponential.
  private func matches(_ name: [Unicode.Scalar]) -> Bool {
    var at = 0
    var place = 0
    var star: (pattern: Int, name: Int)?
    while at < name.count {
      if place < pattern.count, pattern[place] == "*" {
        star = (place + 1, at)
        // The star takes nothing at first.
        place += 1
      } else if place < pattern.count, let next = step(name[at], place) {
        at += 1
        place = next
      } else if let last = star {
        // One more character for the last star, and a new try behind it.
        star = (last.pattern, last.name + 1)
        (place, at) = (last.pattern, last.name + 1)
      } else {
        return false
      }
    }
    return pattern[place...].allSatisfy { $0 == "*" }
  }

  /// Returns the next position in the pattern if the element at `at` matches the scalar.
  /// An unclosed bracket is a character. A `]` right behind the opening one belongs to the set.
  private func step(_ scalar: Unicode.Scalar, _ at: Int) -> Int? {
    switch pattern[at] {
    case "?": return at + 1
    case "[":
      guard let end = pattern[(at + 1)...].dropFirst().firstIndex(of: "]") else {
        return scalar == "[" ? at + 1 : nil
      }
      var from = at + 1
      let negated = pattern[from] == "!" || pattern[from] == "^"
      if negated { from += 1 }
      var isIn = false
      while from < end {
        if from + 2 < end, pattern[from + 1] == "-" {
          isIn = isIn || (pattern[from] <= scalar && scalar <= pattern[from + 2])
          from += 3
        } else {
          isIn = isIn || pattern[from] == scalar
          from += 1
        }
      }
      return isIn != negated ? end + 1 : nil
    default:
      return pattern[at] == scalar ? at + 1 : nil
    }
  }
}
