// Scans shell text from left to right, just far enough to know the context of each value: quotes,
// arithmetic, a here-document and so on. Refuses values where dash and bash differ, or where the
// scanner gives up, so that an accepted manifest runs the same in both. Safety does not depend on
// this scanner: the shell never parses values as text (see `ShellText`). Pure; linear in the text.
// One instance reads one text: pieces of it by `read`, values by `passValue`, in turn.
// `ShellCommand` keeps the words of each list of commands.

struct ShellScanner {
  /// Levels nest as the text does; the last is the innermost.
  enum Level {
    /// The next level of `commands`, in the same order.
    case command
    /// Expansions are still active between double quotes.
    case double
    case single
    /// `$'…'`.
    case dollarSingle
    case backquote
    /// `${…}`; `isQuoted`: between double quotes.
    case braces(isQuoted: Bool)
    /// `$((…))` and `((…))`; `depth` counts open parentheses.
    case arithmetic(depth: Int)
    /// `$[…]`.
    case brackets(depth: Int)
    case comment
    case hereDocument
  }

  /// A here-document: the lines up to its end line.
  /// Kept line by line: only its last line decides where it ends.
  struct HereDocument {
    /// Without the quotes of the end word.
    var end: [UInt8]
    var stripsTabs: Bool
    /// A quoted end word: nothing in the lines is expanded.
    var isLiteral: Bool
    var line: [UInt8] = []
    /// The line before ended in a backslash.
    var isContinued = false
  }

  /// One for each value so far, by its number. An entry may be refused later, by a word behind it.
  private(set) var places: [ShellPlace] = []
  /// Whether a `|` joins two commands.
  private(set) var hasPipe = false
  private var levels: [Level] = [.command]
  /// The command levels; separate from `levels`, so that growing words are not copied.
  private var commands = [ShellCommand(.top)]
  /// Here-documents that begin behind the next line end, and the level of that line.
  private var awaited: [HereDocument] = []
  private var awaitedLevel = 0
  /// The current here-document.
  private var document = HereDocument(end: [], stripsTabs: false, isLiteral: false)
  private var isEscaped = false
  /// Right behind a `$` outside of quotes that begins no expansion.
  private var isBehindDollar = false
  private var isBehindQuote = false
  /// The first thing that could not be understood. From then on every value is refused.
  private var confusion: String?
  private var bytes: [UInt8] = []
  private var at = 0

  /// Scans a literal piece of the text.
  /// Pieces follow each other without a gap: quotes and words go on from one to the next.
  mutating func read(_ text: String) {
    bytes = Array(text.utf8)
    at = 0
    while at < bytes.count {
      let byte = bytes[at]
      at += 1
      step(byte)
    }
  }

  /// Notes the place of a value. `next` is the byte that follows.
  /// Must be called for every value that is not `raw`, in order: the number is its position in
  /// `places`.
  mutating func passValue(next: UInt8?) {
    let number = places.count
    places.append(place(next: next))
    for at in commands.indices where commands[at].isCondition {
      if commands[at].conditionEvaluates { places[number] = .refused(.evaluatedCondition) }
      commands[at].noteConditionValue(number)
    }
    passUnknown()
  }

  /// Notes a text that is known only later; it counts as a part of a word.
  /// A zero in a here-document's line: no end word can match it.
  mutating func passUnknown() {
    (isEscaped, isBehindDollar, isBehindQuote) = (false, false, false)
    if case .hereDocument = levels.last {
      document.line.append(0)
    } else {
      change { $0.markWord(isUnknown: true) }
    }
  }

  // MARK: - Places

  /// The order of the checks is from the outside in: a comment takes anything, a refusing level
  /// nothing.
  private func place(next: UInt8?) -> ShellPlace {
    if case .comment = levels.last { return .word(takesMany: true) }
    if let obstacle { return .refused(obstacle) }
    if isEscaped || isBehindDollar { return .refused(.escaped) }
    guard let command = lastCommand else { return .refused(.unclear("this")) }
    guard case .double = levels.last else {
      return .word(takesMany: command.takesMany)
    }
    let isWhole = isBehindQuote && command.word.isEmpty && next == UInt8(ascii: "\"")
    if !isWhole, let obstacle = command.obstacleInQuotes { return .refused(obstacle) }
    return .doubleQuotes(isOpening: isBehindQuote)
  }

  /// Never nil: the outermost list is never removed.
  private var lastCommand: ShellCommand? { commands.last }

  /// The obstacle to a value here. Every enclosing level counts, at any depth, since the result of
  /// an expansion goes there.
  private var obstacle: ShellObstacle? {
    if let confusion { return .unclear(confusion) }
    var rest = commands[...]
    for level in levels {
      switch level {
      case .command: if let obstacle = rest.removeFirst().obstacle { return obstacle }
      case .double, .comment: break
      case .single, .dollarSingle: return .singleQuotes
      case .backquote: return .backquotes
      case .braces: return .parameterExpansion
      case .arithmetic, .brackets: return .arithmetic
      case .hereDocument: return .hereDocument
      }
    }
    return nil
  }

  /// Keeps the first reason: what follows from it would only confuse.
  private mutating func give(up what: String) { confusion = confusion ?? what }

  // MARK: - Steps

  /// One byte at a time, O(1) but for expansions that look one byte ahead.
  private mutating func step(_ byte: UInt8) {
    let wasBehindDollar = isBehindDollar
    (isBehindDollar, isBehindQuote) = (false, false)
    if case .hereDocument = levels.last { return readLine(byte) }
    if isEscaped { return passEscaped(byte) }
    // Shells disagree about where the lines of the here-document begin then.
    if byte == Self.newline, !awaited.isEmpty, !isAtLineEnd {
      give(up: "a line end between '<<' and its lines")
    }
    guard let level = levels.last else { return }
    switch level {
    case .command: stepCommand(byte, wasBehindDollar)
    case .double: stepDouble(byte)
    case .single: stepSingle(byte)
    case .dollarSingle: stepDollarSingle(byte)
    case .backquote: stepBackquote(byte)
    case .braces(let isQuoted): stepBraces(byte, isQuoted)
    case .arithmetic(let depth): stepArithmetic(byte, depth)
    case .brackets(let depth): stepBrackets(byte, depth)
    case .hereDocument: break
    case .comment:
      guard byte == Self.newline else { return }
      levels.removeLast()
      // The newline ends a command as well, so it is read once more on that level.
      step(byte)
    }
  }

  /// Quotes over a line end are one line to the shell.
  private var isAtLineEnd: Bool {
    switch levels.last {
    case .command, .comment: true
    default: false
    }
  }

  /// A backslash before a line end joins lines, and is no character.
  private mutating func passEscaped(_ byte: UInt8) {
    isEscaped = false
    if byte == Self.newline {
      if !awaited.isEmpty { give(up: "a line end between '<<' and its lines") }
      return
    }
    change { $0.append(byte, isPlain: false) }
  }

  /// Only four characters keep a meaning between double quotes.
  private mutating func stepDouble(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\""): levels.removeLast()
    case UInt8(ascii: "\\"): isEscaped = true
    case UInt8(ascii: "`"): levels.append(.backquote)
    case UInt8(ascii: "$"): if !expand() { change { $0.append(byte, isPlain: false) } }
    default: change { $0.append(byte, isPlain: false) }
    }
  }

  private mutating func stepSingle(_ byte: UInt8) {
    if byte == UInt8(ascii: "'") {
      levels.removeLast()
    } else {
      change { $0.append(byte, isPlain: false) }
    }
  }

  private mutating func stepDollarSingle(_ byte: UInt8) {
    if byte == UInt8(ascii: "'") { levels.removeLast() }
    // In dash, `$'` begins plain single quotes.
    if byte == UInt8(ascii: "\\") { give(up: "$'…' with a backslash") }
  }

  /// Nested commands are not followed: no value is allowed there anyway.
  private mutating func stepBackquote(_ byte: UInt8) {
    if byte == UInt8(ascii: "`") { levels.removeLast() }
    if byte == UInt8(ascii: "\\") { isEscaped = true }
  }

  /// Inner quotes belong to the expansion, and differ between shells where it is quoted itself.
  private mutating func stepBraces(_ byte: UInt8, _ isQuoted: Bool) {
    switch byte {
    case UInt8(ascii: "}"): levels.removeLast()
    case UInt8(ascii: "\\"): isEscaped = true
    case UInt8(ascii: "`"): levels.append(.backquote)
    case UInt8(ascii: "$"): _ = expand()
    case UInt8(ascii: "\""), UInt8(ascii: "'"):
      if isQuoted { give(up: "quotes inside of \"${…}\"") }
      levels.append(byte == UInt8(ascii: "'") ? .single : .double)
    default: break
    }
  }

  /// `depth` starts at two, for `((`; both are closed in turn.
  private mutating func stepArithmetic(_ byte: UInt8, _ depth: Int) {
    switch byte {
    case UInt8(ascii: "("): levels[levels.count - 1] = .arithmetic(depth: depth + 1)
    case UInt8(ascii: ")"):
      if depth > 1 {
        levels[levels.count - 1] = .arithmetic(depth: depth - 1)
      } else {
        levels.removeLast()
      }
    case UInt8(ascii: "\\"): isEscaped = true
    case UInt8(ascii: "`"): levels.append(.backquote)
    case UInt8(ascii: "$"): _ = expand()
    case UInt8(ascii: "\""): levels.append(.double)
    case UInt8(ascii: "'"): levels.append(.single)
    case UInt8(ascii: ";") where peek() == byte, Self.newline:
      give(up: "'((' that may be no arithmetic")
    // In some shells a `#` behind a blank begins a comment here.
    case UInt8(ascii: "#"):
      let before = at > 1 ? bytes[at - 2] : 32
      if before <= 32 || before == UInt8(ascii: "(") || before == UInt8(ascii: ";") {
        give(up: "'#' in arithmetic")
      }
    default: break
    }
  }

  private mutating func stepBrackets(_ byte: UInt8, _ depth: Int) {
    // Only bash knows `$[…]`.
    give(up: "'$['")
    switch byte {
    case UInt8(ascii: "["): levels[levels.count - 1] = .brackets(depth: depth + 1)
    case UInt8(ascii: "]"):
      if depth > 1 {
        levels[levels.count - 1] = .brackets(depth: depth - 1)
      } else {
        levels.removeLast()
      }
    default: break
    }
  }

  /// Scans the expansion behind a `$`. False if none begins: the `$` is literal, or a name follows.
  private mutating func expand() -> Bool {
    guard let next = peek() else { return false }
    switch next {
    case UInt8(ascii: "("):
      at += 1
      change { $0.markWord(isUnknown: true) }
      if peek() == UInt8(ascii: "(") {
        at += 1
        levels.append(.arithmetic(depth: 2))
      } else {
        push(ShellCommand(.substitution))
      }
    case UInt8(ascii: "{"):
      at += 1
      change { $0.markWord(isUnknown: true) }
      let isQuoted = isInDoubleQuotes
      if let inner = peek(), inner <= 32 || inner == UInt8(ascii: "|") || inner == UInt8(ascii: "(")
      {
        give(up: "'${' without a name")
      }
      // The name in `${…}` may be special: `${#}`, `${$}`, `${!x}` and `${-}` are valid, `${'x'}`
      // is not.
      levels.append(.braces(isQuoted: isQuoted))
      if let inner = peek(), "#$!?*@-".utf8.contains(inner) { at += 1 }
    case UInt8(ascii: "["):
      at += 1
      change { $0.markWord(isUnknown: true) }
      levels.append(.brackets(depth: 1))
      give(up: "'$['")
    case UInt8(ascii: "$"):
      at += 1
      change { $0.markWord(isUnknown: true) }
    default: return false
    }
    return true
  }

  /// Looks outwards to the next list of commands: a substitution begins anew.
  private var isInDoubleQuotes: Bool {
    for level in levels.reversed() {
      switch level {
      case .double, .braces(isQuoted: true): return true
      case .command: return false
      default: continue
      }
    }
    return false
  }

  /// Words, quotes and separators outside of all quotes.
  private mutating func stepCommand(_ byte: UInt8, _ wasBehindDollar: Bool) {
    switch byte {
    case UInt8(ascii: "\\"): isEscaped = true
    case UInt8(ascii: "'"):
      change { $0.markWord() }
      levels.append(wasBehindDollar ? .dollarSingle : .single)
    case UInt8(ascii: "\""):
      change { $0.markWord() }
      levels.append(.double)
      isBehindQuote = true
    case UInt8(ascii: "`"):
      change { $0.markWord(isUnknown: true) }
      levels.append(.backquote)
    case UInt8(ascii: "$"):
      if expand() { return }
      change { $0.append(byte) }
      isBehindDollar = true
    case UInt8(ascii: "#"):
      if lastCommand?.isInWord == true {
        change { $0.append(byte) }
      } else {
        // Only at the beginning of a word it starts a comment.
        if lastCommand?.isCondition == true { give(up: "'#' in '[['") }
        levels.append(.comment)
      }
    case Self.newline:
      change { $0.endCommand() }
      beginHereDocument()
    case UInt8(ascii: " "), UInt8(ascii: "\t"): change { $0.endWord() }
    case UInt8(ascii: ";"), UInt8(ascii: "&"), UInt8(ascii: "|"): separate(byte)
    case UInt8(ascii: "<"), UInt8(ascii: ">"): redirect(byte)
    case UInt8(ascii: "("): openParenthesis()
    case UInt8(ascii: ")"): closeParenthesis()
    default: change { $0.append(byte) }
    }
  }

  /// `hasPipe` counts single bars between commands, and neither `||` nor patterns.
  private mutating func separate(_ byte: UInt8) {
    let semicolon = UInt8(ascii: ";")
    let before = at > 1 ? bytes[at - 2] : 0
    // These redirections end no command: `>&2`, `<&3`, `&>file`, `>|file`.
    if byte != semicolon, before == UInt8(ascii: ">") || before == UInt8(ascii: "<") { return }
    if byte == UInt8(ascii: "&"), peek() == UInt8(ascii: ">") { return change { $0.endWord() } }
    let pipe = UInt8(ascii: "|")
    let isWord = lastCommand.map { $0.isPattern || $0.isCondition } ?? false
    if byte == pipe, before != pipe, peek() != pipe, !isWord { hasPipe = true }
    change { $0.endCommand() }
    if lastCommand?.isCondition == true {
      if byte == semicolon { give(up: "';' in '[['") }
      return
    }
    // `;;` ends a branch of `case`; bash has two longer forms.
    if byte == semicolon, peek() == semicolon || peek() == UInt8(ascii: "&") {
      at += 1
      if peek() == UInt8(ascii: "&") { at += 1 }
      change { $0.endBody() }
    }
  }

  /// `<(…)` and `>(…)` are words; all others take the next word as their target.
  private mutating func redirect(_ byte: UInt8) {
    if lastCommand?.isCondition == true { return change { $0.endWord() } }
    if peek() == UInt8(ascii: "(") {
      at += 1
      change { $0.markWord(isUnknown: true) }
      return push(ShellCommand(.substitution))
    }
    change { $0.expectTarget() }
    guard byte == UInt8(ascii: "<"), peek() == byte else {
      // The second byte of `>>` or `<>`.
      if peek() == byte || byte == UInt8(ascii: "<") && peek() == UInt8(ascii: ">") { at += 1 }
      return
    }
    at += 1
    if peek() == byte {
      at += 1
      change { $0.expectHereString() }
    } else {
      awaitHereDocument()
    }
  }

  /// The meaning of a `(` depends on what stands before it in the command.
  private mutating func openParenthesis() {
    guard let command = lastCommand else { return }
    if command.isCondition { return change { $0.endWord() } }
    if command.isPattern {
      if !command.isPatternStart { give(up: "'(' in a pattern of 'case'") }
      return
    }
    if command.isInWord {
      switch command.word.last {
      case UInt8(ascii: "="), UInt8(ascii: "?"), UInt8(ascii: "*"), UInt8(ascii: "+"),
        UInt8(ascii: "@"), UInt8(ascii: "!"):
        // `name=(`, and patterns such as `?(`: words follow, and no command.
        push(ShellCommand(.words))
      default:
        change { $0.endWord() }
        push(ShellCommand(.function))
      }
    } else if command.isCommandNext || command.words == ["for"] {
      if peek() == UInt8(ascii: "(") {
        at += 1
        levels.append(.arithmetic(depth: 2))
        change { $0.endCompound() }
      } else {
        push(ShellCommand(.subshell))
      }
    } else if command.words.count == 1 {
      // `name ()` with a blank between.
      push(ShellCommand(.function))
    } else {
      give(up: "'(' that begins nothing")
      push(ShellCommand(.subshell))
    }
  }

  /// `esac)` and patterns come first, since neither ends a list of commands.
  private mutating func closeParenthesis() {
    guard let command = lastCommand else { return }
    if command.isCondition { return change { $0.endWord() } }
    // In `esac)`, the word ends the `case`.
    change { $0.endWord() }
    if lastCommand?.isPattern == true { return change { $0.endPattern() } }
    change { $0.endCommand() }
    guard command.kind != .top, levels.count > 1 else { return give(up: "')' that ends nothing") }
    if !awaited.isEmpty, awaitedLevel >= levels.count { give(up: "'<<' without its lines") }
    levels.removeLast()
    commands.removeLast()
    switch command.kind {
    case .subshell: change { $0.endCompound() }
    case .function: change { $0.begin() }
    case .top, .substitution, .words: break
    }
  }

  /// A list of commands is a level, too: its words are in the last of `commands`.
  private mutating func push(_ command: ShellCommand) {
    levels.append(.command)
    commands.append(command)
  }

  /// Changes the command that the current text belongs to, not one inside an expansion.
  private mutating func change(_ body: (inout ShellCommand) -> Void) {
    var at = levels.count - 1
    while at >= 0 {
      switch levels[at] {
      case .command:
        let last = commands.count - 1
        let conditionValues = commands[last].conditionValues
        // A condition that turns out to evaluate its operands refuses the values that it has had
        // already.
        body(&commands[last])
        if commands[last].conditionEvaluates, commands[last].isCondition {
          for number in conditionValues { places[number] = .refused(.evaluatedCondition) }
        }
        return
      case .double, .single, .dollarSingle: at -= 1
      default: return
      }
    }
  }

  private func peek() -> UInt8? { at < bytes.count ? bytes[at] : nil }
  private static let newline = UInt8(ascii: "\n")

  // MARK: - Here-documents

  /// Scans the end word behind `<<`.
  /// The end word is read here at once, as it must stand on the same line.
  private mutating func awaitHereDocument() {
    var document = HereDocument(end: [], stripsTabs: false, isLiteral: false)
    if peek() == UInt8(ascii: "-") {
      document.stripsTabs = true
      at += 1
    }
    while peek() == UInt8(ascii: " ") || peek() == UInt8(ascii: "\t") { at += 1 }
    while let byte = peek(), !" \t\n;&|<>()".utf8.contains(byte) {
      at += 1
      switch byte {
      case UInt8(ascii: "\\"):
        document.isLiteral = true
        if let next = peek(), next != Self.newline {
          document.end.append(next)
          at += 1
        }
      case UInt8(ascii: "'"), UInt8(ascii: "\""):
        document.isLiteral = true
        while let next = peek(), next != byte {
          document.end.append(next)
          at += 1
        }
        if peek() == nil { give(up: "the end of a here-document") }
        at += 1
      case UInt8(ascii: "$"), UInt8(ascii: "`"): give(up: "the end of a here-document")
      default: document.end.append(byte)
      }
    }
    if peek() == nil || document.end.contains(Self.newline) || document.end.contains(92) {
      give(up: "the end of a here-document")
    }
    change { command in
      command.markWord()
      command.endWord()
    }
    if !awaited.isEmpty, awaitedLevel != levels.count { give(up: "two '<<' in one line") }
    awaited.append(document)
    awaitedLevel = levels.count
  }

  /// Several may wait; each begins behind the end of the one before.
  private mutating func beginHereDocument() {
    guard !awaited.isEmpty else { return }
    if awaitedLevel != levels.count { give(up: "a line end between '<<' and its lines") }
    document = awaited.removeFirst()
    levels.append(.hereDocument)
  }

  /// The end line must equal the word, after tabs are dropped for `<<-`.
  private mutating func readLine(_ byte: UInt8) {
    guard byte == Self.newline else { return document.line.append(byte) }
    let line = document.line[...].drop { document.stripsTabs && $0 == UInt8(ascii: "\t") }
    let isEnd = line.elementsEqual(document.end)
    if isEnd, !document.isLiteral, document.isContinued { give(up: "'\\' in a here-document") }
    if !document.isLiteral, !isEnd, Self.isOpen(document.line) {
      give(up: "an expansion over lines of a here-document")
    }
    document.isContinued = document.line.last == UInt8(ascii: "\\")
    document.line = []
    guard isEnd else { return }
    levels.removeLast()
    beginHereDocument()
  }

  /// Whether a construct that began in the line continues in the next.
  /// Only an estimate, on the safe side: an open bracket is enough to give up.
  private static func isOpen(_ line: [UInt8]) -> Bool {
    var (depth, isBackquoted) = (0, false)
    var before: UInt8 = 0
    for byte in line {
      switch byte {
      case UInt8(ascii: "("), UInt8(ascii: "{"):
        if depth > 0 || before == UInt8(ascii: "$") { depth += 1 }
      case UInt8(ascii: ")"), UInt8(ascii: "}"): depth = max(0, depth - 1)
      case UInt8(ascii: "`"): isBackquoted.toggle()
      default: break
      }
      before = byte
    }
    return depth > 0 || isBackquoted
  }
}
