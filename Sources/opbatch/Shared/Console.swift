// The output of a command: data to stdout, messages to stderr. Knows for each stream whether it is
// a terminal and wants colour. Opbatch.main makes one; any thread.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading
import OpClusterSystem
import Synchronization

final class Console: Sendable {
  let format: OutputFormat
  /// Whether stdout is a terminal; a live table is drawn only there.
  let outputIsTerminal: Bool
  /// Whether stderr is a terminal.
  let errorIsTerminal: Bool
  private let color: ColorChoice
  private let signals: SignalWatch?
  /// Set once the reader of stdout has gone; further output is dropped.
  private let outputIsClosed = Mutex(false)

  /// Our stdin, for a command on the cluster.
  let passedInput: PassedInput.Result
  /// Prints only data and errors.
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

  /// Whether stdout carries JSON or JSON lines.
  var wantsJSON: Bool { format == .json || format == .jsonl }

  /// The present style of text for stdout.
  var outputStyle: Style { style(of: .output, isTerminal: outputIsTerminal) }
  /// The present style of text for stderr.
  var errorStyle: Style { style(of: .error, isTerminal: errorIsTerminal) }

  /// Whether `interrupts` has any.
  var handlesInterrupts: Bool { signals != nil }

  /// Ctrl-C and TERM, one value each; empty for commands that do not handle them.
  var interrupts: AsyncStream<Int32> {
    signals?.signals ?? AsyncStream { $0.finish() }
  }

  /// Writes data: a text with its line ends, without characters that could steer a terminal (G38).
  /// Throws after the reader has gone, so that a long listing into `head` ends.
  func write(_ text: String) throws(OutputClosed) {
    let text = safeOutput(text, colours: usesColour(isTerminal: outputIsTerminal))
    try write(bytes: Array(text.utf8))
  }

  /// Replaces the previous frame. Only for a terminal, only with lines that are already safe.
  func repaint(_ frame: String) throws(OutputClosed) { try write(bytes: Array(frame.utf8)) }

  /// Writes data: exactly one line, even if the text contains line ends.
  func writeLine(_ text: String) throws(OutputClosed) { try writeLines([text]) }

  /// Writes data: lines, in one write.
  func writeLines(_ lines: [String]) throws(OutputClosed) {
    guard !lines.isEmpty else { return }
    let colours = usesColour(isTerminal: outputIsTerminal)
    var bytes: [UInt8] = []
    for line in lines {
      bytes += Array((safeOutput(line, colours: colours, isLine: true) + "\n").utf8)
    }
    try write(bytes: bytes)
  }

  /// Writes data unchanged: JSON, which escapes by itself, and logs, whose printer makes them safe.
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

  /// Prints a message for people on stderr; nothing in quiet mode.
  func say(_ text: String) {
    if !isQuiet { complain(text) }
  }

  /// Prints a line of an error on stderr, also in quiet mode.
  func complain(_ text: String) {
    var text = text
    // Wrap here: the terminal would break inside words. Lines with colours are already laid out.
    if let width = errorStyle.width, !text.utf8.contains(where: { $0 < 0x20 }) {
      text = wrap(text, to: width).joined(separator: "\n")
    }
    text = safeOutput(text + "\n", colours: usesColour(isTerminal: errorIsTerminal))
    _ = Descriptor.error.write(Array(text.utf8))
  }

  /// Writes bytes to stderr unchanged.
  func say(bytes: [UInt8]) { _ = Descriptor.error.write(bytes) }

  /// Clears the terminal's line on stderr: `^C` stands at its beginning.
  func wipeLine() {
    // `say` would make the codes visible (G38).
    if errorIsTerminal { say(bytes: Array("\r\u{1b}[K".utf8)) }
  }

  /// Prints advice.
  func hint(_ text: String) {
    if !isQuiet { complain("hint", .active, text) }
  }

  func warn(_ text: String) {
    if !isQuiet { complain("warning", .warning, text) }
  }

  /// Prints `word: text`, wrapped at blanks to the terminal's width.
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

  /// Reports why a command failed, in the form of the output format.
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
      now: WallTime(milliseconds: WallClock.now()),
      secondsEastOfUTC: ThisProcess.secondsEastOfUTC)
  }

  /// Decides by the option, then NO_COLOR, then the terminal.
  private func usesColour(isTerminal: Bool) -> Bool {
    switch color {
    case .always: true
    case .never: false
    case .auto:
      OwnProcess.filledVariable("NO_COLOR") == nil && isTerminal
        && OwnProcess.filledVariable("TERM") != "dumb"
    }
  }

  /// Whether the locale is UTF; a C locale gets ASCII.
  private static let usesUnicode: Bool = {
    let locale =
      OwnProcess.filledVariable("LC_ALL") ?? OwnProcess.filledVariable("LC_CTYPE")
      ?? OwnProcess.filledVariable("LANG") ?? ""
    return locale.uppercased().contains("UTF")
  }()
}

/// Stdout cannot be written. Code 0: the reader has gone, which is no error.
struct OutputClosed: Error {
  /// An `errno`, or 0.
  var code: Int32
}
