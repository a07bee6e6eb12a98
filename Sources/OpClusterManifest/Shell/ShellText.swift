// Values inside shell text: where a value can stand, and why it cannot stand elsewhere. The worker
// puts `"${OP_VALUE_1?}"` in its place and the value into the environment, so that no shell ever
// parses it; what remains is that it must be one word there, and data. Pure.

import OpClusterModel

enum ShellText {
  /// The value as one word of the shell, for people. What needs no quotes stays as it is.
  static func quoted(_ value: String) -> String {
    if isSafe(value) { return value }
    return "'" + value.replacing("'", with: "'\\''") + "'"
  }

  /// Whether it means nothing but itself wherever it stands, between quotes or not, but for a
  /// word of the shell's own.
  static func isSafe(_ value: String) -> Bool {
    !value.isEmpty
      && value.utf8.allSatisfy { Names.isNameByte($0) || "/:=@%+,".utf8.contains($0) }
  }

  /// Whether it may be written into the text as it is where a word may stand, before `next`.
  static func isPlainWord(_ value: String, before next: UInt8?) -> Bool {
    let opens = next.map { "<>(".utf8.contains($0) } ?? false
    return isSafe(value) && !value.utf8.contains(UInt8(ascii: ",")) && !opens
  }
}

/// Where in a shell text a value stands.
enum ShellPlace: Equatable {
  /// Outside of quotes. `takesMany`: several words can stand there, too.
  case word(takesMany: Bool)
  /// Between double quotes; `isOpening`: right behind the first of them.
  case doubleQuotes(isOpening: Bool)
  case refused(ShellObstacle)
}

/// Why a value cannot stand somewhere.
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
  /// Shells read differently, or not clearly, what stands before.
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

  /// - Parameter expression: the value as it was written.
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

  /// Whether letters and digits may be written there as they are.
  var takesPlain: Bool {
    if case .escaped = self { false } else { true }
  }

  private static let evaluating = ["eval", "trap", "alias"]
}
