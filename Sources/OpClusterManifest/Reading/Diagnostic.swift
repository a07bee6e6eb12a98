// Findings about a manifest: what is wrong, where, and what to do; in the form of a compiler's
// messages. Made while reading, shown by the commands. Values only.
// Findings are also what `check --json` prints, so their fields have to stand without the text.

import OpClusterModel

/// One finding about a manifest.
public struct Diagnostic: Hashable, Sendable {
  /// An error prevents a submission; a warning does not.
  public enum Severity: String, Sendable {
    case error, warning
  }
  /// The names of the cases are the words that people read.
  public var severity: Severity
  /// The problem, without a full stop.
  public var message: String
  /// The line from 1; 0 for a finding without a place in the text.
  public var line: Int
  /// The column from 1, in Unicode scalars.
  public var column: Int
  /// The number of marked Unicode scalars, at least 1.
  public var length: Int
  /// The remedy; may be empty.
  public var hint: String

  public init(
    severity: Severity, message: String, line: Int = 0, column: Int = 0, length: Int = 1,
    hint: String = ""
  ) {
    self.severity = severity
    self.message = message
    self.line = line
    self.column = column
    self.length = length
    self.hint = hint
  }

  /// Returns the finding as text for people. For many findings use a `DiagnosticRenderer`.
  /// Splits the source into lines at each call; a renderer does it once.
  public func render(source: String, file: String, color: Bool) -> String {
    DiagnosticRenderer(source: source, file: file, color: color).render(self)
  }
}

/// Renders findings with the source lines that they concern.
/// Texts of a manifest may come from anybody, so everything that is shown goes through `visible`
/// (G38).
public struct DiagnosticRenderer: Sendable {
  private let lines: [Substring]
  private let file: String
  private let color: Bool
  private let cells: @Sendable (String) -> Int
  /// The columns of the terminal; nil: there is none.
  private let width: Int?
  /// Maximum part of a source line that is shown, in Unicode scalars.
  private var shownWidth: Int {
    max(20, min(120, (width ?? .max) - Self.margin.utf8.count - 2))
  }
  private static let margin = "   | "
  /// Further findings are counted, not shown.
  private static let shownFindings = 100

  /// - Parameter cells: Returns the number of terminal cells that a text takes; by default one per
  ///   Unicode scalar.
  /// - Parameter width: The columns of the terminal, so that marks stay below what they mark; nil:
  ///   there is none.
  public init(
    source: String, file: String, color: Bool, width: Int? = nil,
    cells: @escaping @Sendable (String) -> Int = { $0.unicodeScalars.count }
  ) {
    lines = source.split(omittingEmptySubsequences: false) { $0.isNewline }
    self.file = file
    self.color = color
    self.width = width
    self.cells = cells
  }

  /// Renders errors and warnings in the order given, an empty line between them.
  /// The excess is counted in one line, so that a broken file does not flood a terminal.
  public func render(_ diagnostics: [Diagnostic]) -> String {
    var blocks = diagnostics.prefix(Self.shownFindings).map { render($0) }
    if diagnostics.count > Self.shownFindings {
      blocks.append("… and \(diagnostics.count - Self.shownFindings) more\n")
    }
    return blocks.joined(separator: "\n")
  }

  /// Two lines of source and mark follow the message where the place is known; a place behind the
  /// last line has no source to show.
  public func render(_ diagnostic: Diagnostic) -> String {
    let word = diagnostic.severity.rawValue
    var text = "\(paint(word, diagnostic.severity)): \(visible(diagnostic.message))\n"
    guard diagnostic.line >= 1 else {
      if !diagnostic.hint.isEmpty { text += "  = \(visible(diagnostic.hint))\n" }
      return text
    }
    text += "  --> \(visible(file)):\(diagnostic.line):\(diagnostic.column)\n"
    guard diagnostic.line <= lines.count else { return text }
    let scalars = Array(lines[diagnostic.line - 1].unicodeScalars)
    // A column behind the end marks the end: what is missing there is what was expected.
    let column = min(max(diagnostic.column, 1), scalars.count + 1)
    // Cuts a long line around the place.
    let from = max(0, min(column - shownWidth / 3, scalars.count - shownWidth))
    let shown = scalars[from..<min(scalars.count, from + shownWidth)]
    let head = from > 0 ? "…" : ""
    let tail = from + shown.count < scalars.count ? "…" : ""
    text += "\(Self.margin)\(head)\(visible(shown))\(tail)\n"
    // Keeps tabs, so that the mark stands below the marked text.
    let before = scalars[from..<(column - 1)].split(
      separator: "\t", omittingEmptySubsequences: false
    ).map { blanks(below: $0) }.joined(separator: "\t")
    // The mark ends with what is shown of the line.
    let end = min(column - 1 + max(diagnostic.length, 1), from + shown.count)
    let marked = scalars[(column - 1)..<max(column - 1, end)]
    let mark = String(repeating: "^", count: max(1, cells(visible(marked))))
    text += "\(Self.margin)\(head.isEmpty ? "" : " ")\(before)\(paint(mark, diagnostic.severity))"
    if diagnostic.hint.isEmpty { return text + "\n" }
    let hint = visible(diagnostic.hint)
    let used = Self.margin.utf8.count + 1 + cells(before) + cells(mark) + 1 + cells(hint)
    return text + (used > width ?? .max ? "\n  = \(hint)\n" : " \(hint)\n")
  }

  /// Returns blanks as wide as the shown scalars.
  /// The blanks stand below what a terminal shows, not below the characters themselves.
  private func blanks(below scalars: some Sequence<Unicode.Scalar>) -> String {
    String(repeating: " ", count: cells(visible(scalars)))
  }

  /// Red for errors, yellow for warnings; the codes come from here and never from a manifest.
  private func paint(_ text: String, _ severity: Diagnostic.Severity) -> String {
    guard color else { return text }
    return "\u{1B}[1;\(severity == .error ? "31" : "33")m\(text)\u{1B}[0m"
  }

  /// Replaces characters that could steer the terminal of the reader.
  /// A tab stays: the line of the mark repeats it.
  private func visible(_ text: some Sequence<Unicode.Scalar>) -> String {
    var result = ""
    for scalar in text {
      result.unicodeScalars.append(
        scalar.canSteerTerminal && scalar != "\t" ? "\u{FFFD}" : scalar)
    }
    return result
  }
  private func visible(_ text: String) -> String { visible(text.unicodeScalars) }
}
