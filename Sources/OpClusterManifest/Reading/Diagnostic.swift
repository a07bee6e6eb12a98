// What is wrong with a manifest, where, and what to do; written like a compiler's. Made while
// reading, shown by the commands. Values only.

import OpClusterModel

/// One finding about a manifest.
public struct Diagnostic: Hashable, Sendable {
  /// Errors keep a manifest from being submitted, warnings do not.
  public enum Severity: String, Sendable {
    case error, warning
  }
  public var severity: Severity
  /// What is wrong, without a full stop.
  public var message: String
  /// From 1; 0 where there is no place in the text.
  public var line: Int
  /// From 1, in Unicode scalars.
  public var column: Int
  /// Unicode scalars that are marked, at least 1.
  public var length: Int
  /// What to do; empty for nothing.
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

  /// The finding as people read it. For many of them use a `DiagnosticRenderer`.
  public func render(source: String, file: String, color: Bool) -> String {
    DiagnosticRenderer(source: source, file: file, color: color).render(self)
  }
}

/// Shows findings together with the lines they are about.
public struct DiagnosticRenderer: Sendable {
  private let lines: [Substring]
  private let file: String
  private let color: Bool
  private let cells: @Sendable (String) -> Int
  /// Longest part of a source line that is shown, in Unicode scalars.
  private static let shownWidth = 120
  /// More than so many findings are counted, not shown.
  private static let shownFindings = 100

  /// - Parameter cells: how many cells of a terminal a text takes; where nobody knows better, one
  ///   for each Unicode scalar.
  public init(
    source: String, file: String, color: Bool,
    cells: @escaping @Sendable (String) -> Int = { $0.unicodeScalars.count }
  ) {
    lines = source.split(omittingEmptySubsequences: false) { $0.isNewline }
    self.file = file
    self.color = color
    self.cells = cells
  }

  /// All of them, errors and warnings in the order of the text, an empty line between them.
  public func render(_ diagnostics: [Diagnostic]) -> String {
    var blocks = diagnostics.prefix(Self.shownFindings).map { render($0) }
    if diagnostics.count > Self.shownFindings {
      blocks.append("… and \(diagnostics.count - Self.shownFindings) more\n")
    }
    return blocks.joined(separator: "\n")
  }

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
    let column = min(max(diagnostic.column, 1), scalars.count + 1)
    // A long line is cut around the place.
    let from = max(0, min(column - 40, scalars.count - Self.shownWidth))
    let shown = scalars[from..<min(scalars.count, from + Self.shownWidth)]
    let head = from > 0 ? "…" : ""
    let tail = from + shown.count < scalars.count ? "…" : ""
    text += "   | \(head)\(visible(shown))\(tail)\n"
    // Tabs stay, so that the mark stands below what it marks.
    let before = scalars[from..<(column - 1)].split(
      separator: "\t", omittingEmptySubsequences: false
    ).map { blanks(below: $0) }.joined(separator: "\t")
    let end = min(column - 1 + max(diagnostic.length, 1), from + shown.count)
    let marked = scalars[(column - 1)..<max(column - 1, end)]
    let mark = String(repeating: "^", count: max(1, cells(visible(marked))))
    text += "   | \(head.isEmpty ? "" : " ")\(before)\(paint(mark, diagnostic.severity))"
    return text + (diagnostic.hint.isEmpty ? "\n" : " \(visible(diagnostic.hint))\n")
  }

  /// As wide as what is shown of the scalars.
  private func blanks(below scalars: some Sequence<Unicode.Scalar>) -> String {
    String(repeating: " ", count: cells(visible(scalars)))
  }

  private func paint(_ text: String, _ severity: Diagnostic.Severity) -> String {
    guard color else { return text }
    return "\u{1B}[1;\(severity == .error ? "31" : "33")m\(text)\u{1B}[0m"
  }

  /// A manifest must not be able to steer the terminal of who reads about it.
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
