// Values inside shell text: quoting of what is known now, and a look at the quotes around a
// place, since a value between quotes of the manifest's own would be taken apart by the shell.
// Pure.

enum ShellText {
  /// The value as one word of the shell. What needs no quotes stays as it is.
  static func quoted(_ value: String) -> String {
    if isSafe(value) { return value }
    return "'" + value.replacing("'", with: "'\\''") + "'"
  }

  /// Whether the shell takes it for one plain word wherever it stands.
  static func isSafe(_ value: String) -> Bool {
    !value.isEmpty
      && value.utf8.allSatisfy { Names.isNameByte($0) || "/:=@%+,".utf8.contains($0) }
  }

  /// Where in a shell text a place is.
  enum Surrounding: Equatable {
    case free
    /// Between single or double quotes.
    case quoted
    /// Behind the start of a here-document, where this reading of the text ends.
    case afterHereDocument
  }
}

/// Reads shell text from left to right, just far enough to know whether it is inside quotes.
struct ShellScanner {
  private enum Level {
    case command, parenthesis, backquote, double
  }
  private var levels: [Level] = [.command]
  private var isSingle = false
  private var isComment = false
  private var isEscaped = false
  private var sawHereDocument = false
  private var last: Unicode.Scalar = "\n"
  private var beforeLast: Unicode.Scalar = "\n"

  var surrounding: ShellText.Surrounding {
    if sawHereDocument { return .afterHereDocument }
    return isSingle || levels.last == .double ? .quoted : .free
  }

  mutating func read(_ text: String) {
    for scalar in text.unicodeScalars {
      step(scalar)
      (beforeLast, last) = (last, scalar)
    }
  }
  /// A value stands here: a part of a word.
  mutating func passValue() { (beforeLast, last) = (last, "x") }

  private mutating func step(_ scalar: Unicode.Scalar) {
    if isEscaped {
      isEscaped = false
    } else if isComment {
      isComment = scalar != "\n"
    } else if isSingle {
      isSingle = scalar != "'"
    } else if scalar == "\\" {
      isEscaped = true
    } else if scalar == "`" {
      toggle(.backquote)
    } else if levels.last == .double {
      if scalar == "\"" { levels.removeLast() }
      if scalar == "(", last == "$" { levels.append(.parenthesis) }
    } else {
      stepCommand(scalar)
    }
  }

  private mutating func stepCommand(_ scalar: Unicode.Scalar) {
    switch scalar {
    case "'": isSingle = true
    case "\"": levels.append(.double)
    case "(": levels.append(.parenthesis)
    case ")": if levels.last == .parenthesis { levels.removeLast() }
    case "#": isComment = " \t\n;&|(".unicodeScalars.contains(last)
    case "<": if last == "<", beforeLast != "<" { sawHereDocument = true }
    default: break
    }
  }

  private mutating func toggle(_ level: Level) {
    if levels.last == level { levels.removeLast() } else { levels.append(level) }
  }
}
