// The places in shell text where a value can stand, and the obstacles elsewhere. The worker writes
// `"${OP_VALUE_1?}"` in place of a value and puts the value into the environment, so no shell ever
// parses it. The scanner still checks that it is one word there, and data. Pure.
// Texts of the obstacles are findings of a manifest, so they say what to write instead.

import OpClusterModel

/// Values of an attempt never go through here: texts are quoted for people, or known to be
/// harmless.
enum ShellText {
  /// Quotes a value as one shell word, for people. A value that needs no quotes stays as it is.
  static func quoted(_ value: String) -> String {
    if isSafe(value) { return value }
    // By scalars: for the shell a quote is one, whatever mark combines with it.
    return "'" + value.unicodeScalars.map { $0 == "'" ? "'\\''" : String($0) }.joined() + "'"
  }

  /// Whether the shell takes a value literally in every place, with or without quotes. Reserved
  /// words are not considered.
  /// The list is short on purpose: each sign in it is literal in every place of every shell.
  static func isSafe(_ value: String) -> Bool {
    !value.isEmpty
      && value.utf8.allSatisfy { Names.isNameByte($0) || "/:=@%+,".utf8.contains($0) }
  }

  /// Whether a value may be written without quotes in the place of a word, before `next`.
  /// A comma could begin an expansion of braces; before `<`, `>` or `(` a word can become something
  /// else.
  static func isPlainWord(_ value: String, before next: UInt8?) -> Bool {
    let opens = next.map { "<>(".utf8.contains($0) } ?? false
    return isSafe(value) && !value.utf8.contains(UInt8(ascii: ",")) && !opens
  }
}

/// The place of a value in a shell text.
/// The scanner finds it, the substitution obeys it.
enum ShellPlace: Equatable {
  /// Outside of quotes. `takesMany`: several words can stand there.
  /// Several words may replace one in arguments, but not in the target of a redirection.
  case word(takesMany: Bool)
  /// Between double quotes; `isOpening`: right behind the first of them.
  case doubleQuotes(isOpening: Bool)
  case refused(ShellObstacle)
}

/// The reason why a value cannot stand in a place.
/// Each is a place where quoting would not keep a value data.
enum ShellObstacle: Equatable {
  case singleQuotes
  case backquotes
  case arithmetic
  case parameterExpansion
  case hereDocument
  case indexing
  /// `[[ … -gt … ]]`, which bash evaluates.
  case evaluatedCondition
  /// The program takes the word for code.
  case code(program: String)
  /// The builtin takes the word for the name of a variable, which bash evaluates.
  case variableName(builtin: String)
  /// Behind a backslash or a `$`.
  case escaped
  /// The text before is ambiguous: shells read it differently, or unclearly.
  case unclear(String)

  var message: String {
    switch self {
    case .singleQuotes: "nothing is put in between single quotes, which hold what others read"
    case .backquotes: "a value cannot stand between backquotes"
    case .arithmetic: "a value cannot stand in arithmetic, which evaluates what it holds"
    case .parameterExpansion: "a value cannot stand inside of '${…}'"
    case .hereDocument: "a value cannot stand in a here-document"
    case .indexing: "a value cannot be a subscript, which is evaluated"
    case .evaluatedCondition: "'[[ … ]]' evaluates what it compares as a number"
    case .code(let program): "'\(program)' would take the value for a part of its program"
    case .variableName(let builtin): "'\(builtin)' evaluates the name of a variable"
    case .escaped: "a value cannot stand behind '\\' or '$'"
    case .unclear(let what): "whether the value is quoted is not clear behind \(what)"
    }
  }

  /// Returns the remedy, without a full stop.
  ///
  /// - Parameter expression: The value as written.
  func hint(_ expression: String) -> String {
    let variable = "set a variable by 'env', and use that"
    switch self {
    case .singleQuotes: return "use double quotes, or \(variable)"
    case .backquotes: return "write $(…)"
    case .arithmetic, .indexing:
      return "\(variable) when you have checked that it is a number"
    case .parameterExpansion: return variable
    case .hereDocument: return "give the text by 'stdin', or \(variable)"
    case .evaluatedCondition: return "write [ … ]"
    case .code(let program) where Self.evaluating.contains(program):
      return "run it without '\(program)', or write ${{ raw(\(expression)) }} if it is code"
    case .code:
      return "give it as an argument of its own, without quotes, or write "
        + "${{ raw(\(expression)) }} if it is code"
    case .variableName: return "write the name"
    case .escaped: return "leave that out, or put it between quotes"
    case .unclear: return variable
    }
  }

  /// Whether letters and digits may be written in that place without quotes.
  /// Behind a backslash even a letter could mean something else.
  var takesPlain: Bool {
    if case .escaped = self { false } else { true }
  }

  /// Programs that take every word for code; for others, one word can be data.
  private static let evaluating = ["eval", "trap", "alias"]
}
