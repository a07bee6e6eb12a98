// The form of key files: lines of a word and its values, comments, empty lines. Pure.

/// Parses lines of `word value…`. A `#` begins a comment only at the start of a line, because it is
/// also a character of keys.
enum KeyLines {
  /// The words of each non-empty line, with its number.
  static func words(of text: String) -> [(number: Int, words: [Substring])] {
    text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
      .compactMap { offset, line in
        let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" || $0 == "\r" })
        guard let first = words.first, !first.hasPrefix("#") else { return nil }
        return (offset + 1, words)
      }
  }

  static func malformed(_ path: String, _ line: Int, _ what: String) -> KeyError {
    KeyError(
      .malformed, "\(path), line \(line): \(what)",
      hint: "restore a copy, or remove the line and add the key again")
  }
}
