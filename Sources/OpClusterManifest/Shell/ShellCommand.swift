// The state of one list of commands in shell text: the words of the current command, and whether
// the next word is a command, which reserved words and `case` depend on. One level of
// `ShellScanner`. Pure.
// It knows as much of the grammar as the place of a value depends on. Whether the text is valid is
// the shell's business.

import OpClusterModel

struct ShellCommand {
  /// The list in which the commands stand: its end, and the meaning of `)`, depend on it.
  enum Kind { case top, substitution, subshell, words, function }
  /// The position within a `case`; it decides the meaning of `)`.
  private enum Case { case subject, expectsIn, pattern, body }

  let kind: Kind
  /// The words of the current command, without assignments and redirections.
  /// Compared with names of programs, so quotes are resolved: `"eval"` is one.
  private(set) var words: [String] = []
  /// The current word, quoted parts included; 1 stands for a part that is known only later.
  private(set) var word: [UInt8] = []
  private(set) var isInWord = false
  private(set) var isCommandNext = true
  /// Whether the word has no quoted or unknown part: only then it can be a reserved word.
  private var isPlain = true
  /// Whether the word is the target of a redirection.
  private var isTarget = false
  private var isHereString = false
  /// One entry for each `case` that is open.
  private var cases: [Case] = []
  private var patternHasWord = false
  /// Between `[[` and `]]`.
  private(set) var isCondition = false
  /// Whether the condition has had an operator that evaluates.
  private var evaluates = false
  /// The values between `[[` and `]]`, by their number.
  private(set) var conditionValues: [Int] = []

  init(_ kind: Kind) { self.kind = kind }

  /// `isPlain` is false for a byte in quotes or behind a backslash.
  mutating func append(_ byte: UInt8, isPlain: Bool = true) {
    word.append(byte)
    isInWord = true
    if !isPlain { self.isPlain = false }
  }
  /// Marks the beginning of quotes, or with `isUnknown` a part that is known only later.
  mutating func markWord(isUnknown: Bool = false) {
    if isUnknown { word.append(1) }
    isInWord = true
    isPlain = false
  }
  /// The word behind a redirection is a file's name, and not one of the command's.
  mutating func expectTarget() {
    // In `2>file` the number is not a word of the command.
    if isInWord, word.allSatisfy(Names.isDigit) { (word, isInWord, isPlain) = ([], false, true) }
    endWord()
    isTarget = true
  }

  /// Called behind `<<<`.
  mutating func expectHereString() { isHereString = true }

  // MARK: - Ends

  /// Ends the current word.
  /// Sorts the finished word: target, word of a list, operand, part of `case`, or word of a
  /// command.
  mutating func endWord() {
    guard isInWord else { return }
    let text = String(decoding: word, as: UTF8.self)
    let wasPlain = isPlain
    (word, isInWord, isPlain) = ([], false, true)
    if isTarget {
      (isTarget, isHereString) = (false, false)
    } else if kind == .words || kind == .function {
      words.append(text)
    } else if isCondition {
      endConditionWord(text, wasPlain)
    } else if !endCaseWord(text, wasPlain) {
      take(text, wasPlain)
    }
  }

  /// Ends the current command.
  /// A list of words and a condition go on over line ends.
  mutating func endCommand() {
    endWord()
    (isTarget, isHereString) = (false, false)
    guard kind != .words, kind != .function, !isCondition else { return }
    begin()
  }

  /// Ends a compound in brackets of any kind. Only redirections may follow.
  /// A `)` in place of the words: nothing that follows is a command's name.
  mutating func endCompound() {
    words = [")"]
    isCommandNext = false
  }
  /// Begins a command, such as the body behind `name()`.
  mutating func begin() {
    words = []
    isCommandNext = true
  }

  /// Reserved words count only where a command may stand. Assignments before a command are no words
  /// of it.
  private mutating func take(_ text: String, _ wasPlain: Bool) {
    if words == ["function"] { return begin() }
    if words.count == 2, words[0] == "for" || words[0] == "select", text == "do" { return begin() }
    guard isCommandNext else {
      words.append(text)
      return
    }
    if wasPlain {
      if Self.prefixes.contains(text) { return }
      switch text {
      case "case": return cases.append(.subject)
      case "[[":
        (isCondition, evaluates, conditionValues) = (true, false, [])
        return
      case "esac" where cases.last == .body: cases.removeLast()
      default: break
      }
    }
    if isAssignment(text) { return }
    words.append(text)
    isCommandNext = false
  }

  /// A command follows each of them.
  private static let prefixes: Set<String> = [
    "if", "then", "elif", "else", "do", "while", "until", "!", "{", "time",
  ]

  /// Whether the word belongs to the head or the pattern of a `case`.
  private mutating func endCaseWord(_ text: String, _ wasPlain: Bool) -> Bool {
    guard let state = cases.last, state != .body else { return false }
    let at = cases.count - 1
    switch state {
    case .subject: cases[at] = .expectsIn
    case .expectsIn:
      cases[at] = .pattern
      patternHasWord = false
    case .pattern where text == "esac" && wasPlain && !patternHasWord:
      cases.removeLast()
      endCompound()
    case .pattern, .body: patternHasWord = true
    }
    return true
  }

  /// `]]` ends the condition only as a plain word.
  private mutating func endConditionWord(_ text: String, _ wasPlain: Bool) {
    if wasPlain, text == "]]" {
      isCondition = false
      return endCompound()
    }
    if Self.evaluating.contains(text) { evaluates = true }
  }
  /// Bash takes their operands for arithmetic, or for names.
  private static let evaluating: Set<String> = [
    "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R",
  ]

  // MARK: - case

  /// Where `)` ends a pattern rather than a list.
  var isPattern: Bool { cases.last == .pattern }
  var isPatternStart: Bool { isPattern && !isInWord && !patternHasWord }
  mutating func endPattern() {
    endWord()
    guard !cases.isEmpty else { return }
    cases[cases.count - 1] = .body
    begin()
  }
  /// `;;`, `;&` or `;;&`.
  mutating func endBody() {
    guard cases.last == .body else { return }
    cases[cases.count - 1] = .pattern
    patternHasWord = false
  }

  // MARK: - Values

  /// Whether the condition evaluates its operands, as far as it has been read.
  var conditionEvaluates: Bool { evaluates }
  mutating func noteConditionValue(_ number: Int) {
    if isCondition { conditionValues.append(number) }
  }

  /// Whether several words may replace one.
  /// False where a second word would change the command: in a target, in a pattern, as the command
  /// itself.
  var takesMany: Bool {
    if kind == .words { return word.isEmpty }
    return !isTarget && !isCondition && cases.last != .subject && !isPattern && !isCommandNext
      && !Self.declaring.contains(words.first ?? "")
  }

  /// The reason why a value cannot be in the current word, however it is quoted.
  /// nil means that a value may stand here as a word of its own.
  var obstacle: ShellObstacle? {
    if hasOpenSubscript { return .indexing }
    // The command is a reader of the text, and may take it for code.
    if isHereString {
      // The reader of `<<<` may be a shell.
      if words.isEmpty { return .unclear("'<<<' without a command") }
      return ShellPrograms.interpreter(words).map { .code(program: $0) }
    }
    if isTarget { return nil }
    if let program = words.first(where: { ["eval", "trap", "alias"].contains($0) }) {
      return .code(program: program)
    }
    if let builtin = evaluatingBuiltin { return .variableName(builtin: builtin) }
    return ShellPrograms.codeTaker(words: words, word: word).map { .code(program: $0) }
  }

  /// The reason why a value cannot be part of a double-quoted word.
  /// Next to other text in quotes, a value would become a part of a program's own language.
  var obstacleInQuotes: ShellObstacle? {
    if isTarget { return nil }
    return ShellPrograms.interpreter(words).map { .code(program: $0) }
  }

  /// Their arguments are assignments, or names.
  private static let declaring: Set<String> = [
    "declare", "typeset", "local", "export", "readonly",
  ]
  /// Their arguments are names of variables, or arithmetic.
  private static let naming: Set<String> = [
    "read", "let", "unset", "mapfile", "readarray", "getopts", "compgen",
  ]

  /// `command` and `builtin` before it change nothing.
  private var evaluatingBuiltin: String? {
    var rest = words[...]
    while let first = rest.first, ["command", "builtin"].contains(first) { rest.removeFirst() }
    guard let builtin = rest.first else { return nil }
    if Self.naming.contains(builtin) { return builtin }
    if Self.declaring.contains(builtin) {
      let hasOptions = rest.contains { $0.hasPrefix("-") || $0.hasPrefix("+") }
      return hasOptions || !isAssignment(String(decoding: word, as: UTF8.self)) ? builtin : nil
    }
    let takesName = ["printf", "test", "["].contains(builtin) && rest.last == "-v"
    return takesName || (["test", "["].contains(builtin) && rest.last == "-R") ? builtin : nil
  }

  /// Whether a subscript is open: `name[`, or `[` among the words of an array.
  /// Bash evaluates subscripts as arithmetic, and runs commands in them.
  private var hasOpenSubscript: Bool {
    guard let open = word.firstIndex(of: UInt8(ascii: "[")) else { return false }
    let isOpen = !word[open...].contains(UInt8(ascii: "="))
    if kind == .words { return open == 0 && isOpen }
    let canAssign = isCommandNext || Self.declaring.contains(words.first ?? "")
    return canAssign && isOpen && open > 0 && word[..<open].allSatisfy(Self.isVariableByte)
  }

  /// Also `name+=` and `name[…]=`; the name must be one of a variable.
  private func isAssignment(_ text: String) -> Bool {
    guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")) else { return false }
    var name = text.utf8[..<equals]
    if name.last == UInt8(ascii: "+") { name.removeLast() }
    if let open = name.firstIndex(of: UInt8(ascii: "[")) { name = name[..<open] }
    guard let first = name.first, !Names.isDigit(first) else { return false }
    return name.allSatisfy(Self.isVariableByte)
  }
  private static func isVariableByte(_ byte: UInt8) -> Bool {
    Names.isNameByte(byte) && byte != UInt8(ascii: ".") && byte != UInt8(ascii: "-")
  }
}

/// Programs that take one of their words for code. An unknown program gets values as data; it may
/// still run them, as the manual says.
/// The lists protect against mistakes, not against an author: somebody who writes a manifest can
/// run anything.
enum ShellPrograms {
  private static let shells: Set<String> = [
    "sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "fish", "su", "runuser", "script", "flock",
  ]
  private static let interpreters: Set<String> = [
    "perl", "ruby", "node", "php", "lua", "R", "Rscript", "awk", "gawk", "mawk", "nawk", "sed",
    "jq", "yq", "tclsh", "pwsh", "octave", "julia", "sqlite3", "psql", "mysql", "mariadb",
    "duckdb", "gnuplot", "ssh", "rsh",
  ]

  /// Returns the program that takes the current word for code.
  /// The current word counts with what it begins with: `-c"…"` is an option and code.
  static func codeTaker(words: [String], word: [UInt8]) -> String? {
    let start = String(decoding: word, as: UTF8.self)
    for (at, candidate) in words.enumerated() {
      let name = baseName(candidate)
      let behind = words[(at + 1)...]
      if name == "watch" || name == "parallel" { return name }
      if name == "ssh" || name == "rsh", hasHost(behind) { return name }
      guard let letters = codeLetters(name) else { continue }
      // Options behind a script belong to the script.
      func isOwn(_ between: ArraySlice<String>) -> Bool {
        takesNames.contains(name) || between.allSatisfy { $0.hasPrefix("-") }
      }
      if isCodeOption(start, letters), isOwn(behind) { return name }
      // Further options may stand between the option and the code.
      guard let option = behind.lastIndex(where: { isCodeOption($0, letters) }) else { continue }
      if isOwn(behind[..<option]), behind[(option + 1)...].allSatisfy({ $0.hasPrefix("-") }) {
        return name
      }
    }
    return nil
  }

  /// A user or a file stands before their option.
  private static let takesNames: Set<String> = ["su", "runuser", "script", "flock"]

  /// The letters of the options behind which the program expects code.
  /// nil for a program that takes no code by an option.
  private static func codeLetters(_ name: String) -> String? {
    if shells.contains(name) || name.hasPrefix("python") { return "c" }
    switch name {
    case "psql", "duckdb": return "c"
    case "perl": return "eE"
    case "node": return "ep"
    case "php": return "r"
    case let name where interpreters.contains(name): return "e"
    default: return nil
    }
  }

  /// Returns the program that interprets a language of its own.
  /// Looks at every word, since `sudo`, `env` or `xargs` may stand before.
  static func interpreter(_ words: [String]) -> String? {
    words.lazy.map(baseName).first { isInterpreter($0) || shells.contains($0) }
  }

  private static func isInterpreter(_ name: String) -> Bool {
    interpreters.contains(name) || name.hasPrefix("python")
  }
  private static func baseName(_ word: String) -> String {
    word.split(separator: "/").last.map(String.init) ?? ""
  }
  /// Whether the option takes code: `-c`, `-ec`, `-c…`, `--command`, `--eval`.
  /// Letters of several options may stand in one word.
  private static func isCodeOption(_ option: String, _ letters: String) -> Bool {
    if option.hasPrefix("--") {
      return ["--command", "--eval", "--print", "--expression", "--session-command"]
        .contains { option == $0 || option.hasPrefix("\($0)=") }
    }
    guard option.hasPrefix("-"), option.utf8.count > 1 else { return false }
    let flags = option.utf8.dropFirst()
    return flags.last.map { letters.utf8.contains($0) } ?? false
      || flags.first.map { letters.utf8.contains($0) } ?? false
  }
  /// Whether a word is neither an option nor the value of one.
  /// Words behind the host of `ssh` are a command for the other shell.
  private static func hasHost(_ words: ArraySlice<String>) -> Bool {
    var isValue = false
    for word in words {
      if word.hasPrefix("-") {
        isValue = word.utf8.count == 2
      } else if isValue {
        isValue = false
      } else {
        return true
      }
    }
    return false
  }
}
