// Words for a shell, as GNU parallel writes them, and whether a text needs a shell at all. Pure.

/// How a value becomes one word of a Bourne shell, and when no shell is needed.
package enum ShellQuotation {
  /// Returns one word: unchanged if no character of it means anything to a shell, else in single
  /// quotes.
  package static func word(_ value: String) -> String {
    if value.isEmpty { return "''" }
    if value.utf8.allSatisfy(isInert) { return value }
    var word = "'"
    for scalar in value.unicodeScalars {
      if scalar == "'" { word += "'\"'\"'" } else { word.unicodeScalars.append(scalar) }
    }
    word += "'"
    // Quotes around nothing say nothing, at both ends.
    if word.hasPrefix("''") { word.removeFirst(2) }
    if word.hasSuffix("''") { word.removeLast(2) }
    return word
  }

  /// Whether a byte means itself to every shell, wherever it stands in a word.
  private static func isInert(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"):
      true
    default: "-_.+/".utf8.contains(byte)
    }
  }

  /// Whether a text is blanks and words that a shell takes as they are. More characters than in
  /// `word` are harmless here, since these were typed and not inserted.
  package static func isPlain(_ text: String) -> Bool {
    text.utf8.allSatisfy { isInert($0) || " :,@%".utf8.contains($0) || $0 == UInt8(ascii: "=") }
  }

  /// Whether a shell must run a command that begins with this word: the word sets a variable, or it
  /// is one that only a shell knows or treats differently.
  package static func needsShell(firstWord word: String) -> Bool {
    word.isEmpty || word.contains("=") || shellWords.contains(word)
  }

  /// Reserved words, special built-in utilities, and those that act on the shell itself or have no
  /// program everywhere.
  private static let shellWords: Set<String> = [
    "!", ".", ":", "alias", "bg", "break", "builtin", "case", "cd", "command", "continue",
    "declare", "do", "done", "elif", "else", "esac", "eval", "exec", "exit", "export", "fc", "fg",
    "fi", "for", "function", "getopts", "hash", "if", "in", "jobs", "let", "local", "popd",
    "pushd", "read", "readonly", "return", "set", "shift", "source", "then", "time", "times",
    "trap", "type", "typeset", "ulimit", "umask", "unalias", "unset", "until", "wait", "while",
  ]
}
