// Where a command's words go: data to stdout, talk to stderr. Knows for each stream whether it is
// a terminal and wants colour. Made once by Opbatch.main; any thread.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import Synchronization

final class Console: Sendable {
  let format: OutputFormat
  /// Whether stdout is a terminal: a live table may be drawn there.
  let outputIsTerminal: Bool
  /// Whether stderr is a terminal.
  let errorIsTerminal: Bool
  private let color: ColorChoice
  private let signals: SignalWatch?
  /// Set once a reader of stdout has gone: everything else written there is dropped.
  private let outputIsClosed = Mutex(false)

  /// What our stdin gives to a command that runs elsewhere.
  let passedInput: PassedInput.Result
  /// Nothing is said but data and errors.
  let isQuiet: Bool

  convenience init(
    _ global: GlobalOptions, signals: SignalWatch? = nil,
    passedInput: PassedInput.Result = .success(.nothing)
  ) {
    self.init(
      format: global.output, color: global.color, isQuiet: global.quiet, signals: signals,
      passedInput: passedInput)
  }

  init(
    format: OutputFormat, color: ColorChoice, isQuiet: Bool = false, signals: SignalWatch? = nil,
    passedInput: PassedInput.Result = .success(.nothing)
  ) {
    self.format = format
    self.color = color
    self.isQuiet = isQuiet
    self.signals = signals
    self.passedInput = passedInput
    outputIsTerminal = Descriptor.output.isTerminal
    errorIsTerminal = Descriptor.error.isTerminal
  }

  /// Whether stdout carries JSON, of either kind.
  var wantsJSON: Bool { format == .json || format == .jsonl }

  /// How text for stdout is to look, now.
  var outputStyle: Style { style(of: .output, isTerminal: outputIsTerminal) }
  /// How text for stderr is to look, now.
  var errorStyle: Style { style(of: .error, isTerminal: errorIsTerminal) }

  /// Ctrl-C and TERM, one value each; empty for commands that do not handle them.
  var interrupts: AsyncStream<Int32> {
    signals?.signals ?? AsyncStream { $0.finish() }
  }

  /// Data: a text with its line ends, without what could steer a terminal (G38). Does not return
  /// normally after the reader went away, so that a long listing into `head` ends.
  func write(_ text: String) throws(OutputClosed) {
    let text = safeOutput(text, colours: usesColour(isTerminal: outputIsTerminal))
    try write(bytes: Array(text.utf8))
  }

  /// A frame that replaces the one before; only onto a terminal, only of lines made safe before.
  func repaint(_ frame: String) throws(OutputClosed) { try write(bytes: Array(frame.utf8)) }

  /// Data: one line, whatever is in it.
  func writeLine(_ text: String) throws(OutputClosed) { try writeLines([text]) }

  /// Data: lines, in one piece.
  func writeLines(_ lines: [String]) throws(OutputClosed) {
    guard !lines.isEmpty else { return }
    let colours = usesColour(isTerminal: outputIsTerminal)
    var bytes: [UInt8] = []
    for line in lines {
      bytes += Array((safeOutput(line, colours: colours, isLine: true) + "\n").utf8)
    }
    try write(bytes: bytes)
  }

  /// Data as it is: JSON, which escapes by itself, and logs, whose printer knows where they go.
  func write(bytes: [UInt8]) throws(OutputClosed) {
    guard !outputIsClosed.withLock({ $0 }) else { throw OutputClosed(code: 0) }
    switch Descriptor.output.write(bytes) {
    case .written: return
    case .closed:
      outputIsClosed.withLock { $0 = true }
      throw OutputClosed(code: 0)
    case .failed(let code):
      outputIsClosed.withLock { $0 = true }
      throw OutputClosed(code: code)
    }
  }

  /// Talk: a line on stderr, for people; nothing where they want quiet.
  func say(_ text: String) {
    if !isQuiet { complain(text) }
  }

  /// A line on stderr that belongs to an error: said in any case.
  func complain(_ text: String) {
    var text = text
    // Not by the terminal, inside of a word; lines that have colours are as wide as they are meant.
    if let width = errorStyle.width, !text.utf8.contains(where: { $0 < 0x20 }) {
      text = wrap(text, to: width).joined(separator: "\n")
    }
    text = safeOutput(text + "\n", colours: usesColour(isTerminal: errorIsTerminal))
    _ = Descriptor.error.write(Array(text.utf8))
  }

  /// Bytes for stderr as they are.
  func say(bytes: [UInt8]) { _ = Descriptor.error.write(bytes) }

  /// Empties the line of a terminal on stderr: it shows `^C` where the line begins.
  func wipeLine() {
    // Not through `say`, which makes such codes visible (G38).
    if errorIsTerminal { say(bytes: Array("\r\u{1b}[K".utf8)) }
  }

  /// Talk that is a piece of advice.
  func hint(_ text: String) {
    if !isQuiet { complain("hint", .active, text) }
  }

  func warn(_ text: String) {
    if !isQuiet { complain("warning", .warning, text) }
  }

  /// `word: text`, broken at blanks where the terminal ends.
  private func complain(_ word: String, _ tone: Tone, _ text: String) {
    let style = errorStyle
    let indent = displayWidth(word) + 2
    var lines = [""]
    var used = indent
    for piece in text.split(separator: " ", omittingEmptySubsequences: false) {
      let width = displayWidth(String(piece))
      if let most = style.width, used > indent, used + width > most {
        lines.append(String(repeating: " ", count: indent))
        used = indent
      } else if used > indent {
        lines[lines.count - 1] += " "
      }
      lines[lines.count - 1] += piece
      used += width + 1
    }
    complain(style.paint(word + ":", tone) + " " + lines.joined(separator: "\n"))
  }

  /// Says why a command could not go on, in the form that the output format asks for.
  func report(_ failure: Failure) {
    guard !wantsJSON else {
      let text = jsonError(code: failure.code, message: failure.message, hint: failure.hint)
      say(bytes: Array(text.utf8))
      return
    }
    if failure.rendered.isEmpty {
      complain("error", .bad, safe(failure.message))
    } else {
      complain(failure.rendered)
    }
    if !failure.hint.isEmpty {
      for line in safeLines(failure.hint) { complain("hint", .active, line) }
    }
  }

  private func style(of stream: Descriptor, isTerminal: Bool) -> Style {
    Style(
      width: isTerminal ? stream.columns : nil,
      usesColour: usesColour(isTerminal: isTerminal), usesUnicode: Console.usesUnicode,
      now: WallTime(milliseconds: ThisProcess.wallMilliseconds),
      secondsEastOfUTC: ThisProcess.secondsEastOfUTC)
  }

  /// The option, then NO_COLOR, then the terminal.
  private func usesColour(isTerminal: Bool) -> Bool {
    switch color {
    case .always: true
    case .never: false
    case .auto:
      ThisProcess.variable("NO_COLOR") == nil && isTerminal
        && ThisProcess.variable("TERM") != "dumb"
    }
  }

  /// What the locale says; a C locale gets ASCII.
  private static let usesUnicode: Bool = {
    let locale =
      ThisProcess.variable("LC_ALL") ?? ThisProcess.variable("LC_CTYPE")
      ?? ThisProcess.variable("LANG") ?? ""
    return locale.uppercased().contains("UTF")
  }()
}

/// Nobody takes what stdout should carry. Code 0: the reader went away, which is no error.
struct OutputClosed: Error {
  /// An `errno`, or 0.
  var code: Int32
}
