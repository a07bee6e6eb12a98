// Matches file names by pattern: `*`, `?`, `[a-z]`, `[!a-z]`, folder by folder. Sorts by bytes;
// matches hidden names only if the pattern writes the dot. Called by the array decoder.
// The tree is walked through `FileAccess`, so tests need no disk. Links are names like any other.

/// `**` has no meaning of its own, and a brace is a character.
struct Glob {
  let files: FileAccess
  /// More matches are an error.
  let maximumMatches: Int

  /// Returns the matching paths in the form of the pattern: relative ones stay relative to
  /// `folder`. nil if there are too many.
  /// Folders that cannot be listed have no matches. Each level is complete before the next, so the
  /// limit bounds the memory of every level.
  func paths(_ pattern: String, in folder: String) -> [String]? {
    let parts = pattern.split(separator: "/").map(String.init)
    var found = [pattern.hasPrefix("/") ? "/" : ""]
    for part in parts {
      var next: [String] = []
      for start in found {
        guard let names = names(part, in: start.hasPrefix("/") ? start : folder + "/" + start)
        else { continue }
        next += names.map { start.isEmpty || start == "/" ? start + $0 : start + "/" + $0 }
        if next.count > maximumMatches { return nil }
      }
      found = next
    }
    return found.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// nil if the folder cannot be listed. Names without a pattern are looked for in the list as
  /// well.
  private func names(_ part: String, in folder: String) -> [String]? {
    if part == "." || part == ".." { return [part] }
    guard let all = files.list(folder) else { return nil }
    let isPattern = part.contains { "*?[".contains($0) }
    if !isPattern { return all.contains(part) ? [part] : [] }
    let pattern = Array(part.unicodeScalars)
    return all.filter { name in
      // A pattern that begins with a star does not mean hidden names.
      (part.hasPrefix(".") || !name.hasPrefix("."))
        && Self.matches(Array(name.unicodeScalars), pattern)
    }
  }

  /// Matches in the product of both lengths: only the last `*` is tried again.
  /// A backtracking over all stars would be exponential.
  static func matches(_ name: [Unicode.Scalar], _ pattern: [Unicode.Scalar]) -> Bool {
    var at = 0
    var place = 0
    var star: (pattern: Int, name: Int)?
    while at < name.count {
      if place < pattern.count, pattern[place] == "*" {
        star = (place + 1, at)
        // The star takes nothing at first.
        place += 1
      } else if place < pattern.count, let next = step(name[at], pattern, place) {
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
  private static func step(_ scalar: Unicode.Scalar, _ pattern: [Unicode.Scalar], _ at: Int)
    -> Int?
  {
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
