// Collects findings while a manifest is read, and fills parameters into scalars. One per
// compilation, confined to the compiling thread.
// A class, because every decoder adds to the same list. Decoders go on after an error: one run
// shows all that is wrong.

import OpClusterModel

/// Also holds what decoders share: the parameters, and the files that were read.
final class Findings {
  /// The text, for places inside of scalars that span lines.
  let source: SourceText
  let surroundings: Surroundings
  private(set) var diagnostics: [Diagnostic] = []
  /// The resolved parameters; nil for one that could not be resolved, which has been reported.
  var parameters: [String: String?] = [:]
  /// Once true it stays so: no submission is made.
  private(set) var hasErrors = false
  /// Reports each cause once per place, even if an alias repeats it.
  private var seen: Set<Diagnostic> = []

  /// Caches the files of arrays: all arrays that name a file see the same content.
  private var texts: [String: Result<String, FileAccess.Unreadable>] = [:]

  init(source: String, surroundings: Surroundings) {
    self.source = SourceText(source)
    self.surroundings = surroundings
  }

  /// Returns the text of a file. The path is relative to the manifest's folder.
  /// Text that is not UTF-8 is unreadable here; items are texts.
  func file(_ path: String) -> Result<String, FileAccess.Unreadable> {
    let path = surroundings.absolute(path)
    if let known = texts[path] { return known }
    let text = surroundings.files.read(path).flatMap { bytes in
      String(validating: bytes, as: UTF8.self).map { .success($0) }
        ?? .failure(FileAccess.Unreadable(reason: "it is not UTF-8"))
    }
    texts[path] = text
    return text
  }

  /// - Parameter place: nil where no line is to blame, such as for the whole graph.
  /// - Parameter hint: What to write instead, without a full stop.
  func error(_ message: String, _ place: Place?, hint: String = "") {
    report(.error, message, place, hint)
  }
  func warning(_ message: String, _ place: Place?, hint: String = "") {
    report(.warning, message, place, hint)
  }
  /// Remarks that are reported at the first place only.
  /// For advice that would be tiresome at every operation.
  enum Remark: Hashable {
    case pipe
  }
  private var remarks: Set<Remark> = []

  func warnOnce(_ remark: Remark, _ message: String, _ place: Place?, hint: String) {
    if remarks.insert(remark).inserted { warning(message, place, hint: hint) }
  }

  /// O(1) expected. Equal findings are one, whatever reported them.
  func add(_ diagnostic: Diagnostic) {
    guard seen.insert(diagnostic).inserted else { return }
    diagnostics.append(diagnostic)
    if diagnostic.severity == .error { hasErrors = true }
  }
  /// The place becomes numbers here; 0 means that there is none.
  private func report(
    _ severity: Diagnostic.Severity, _ message: String, _ place: Place?, _ hint: String
  ) {
    add(
      Diagnostic(
        severity: severity, message: message, line: place?.line ?? 0,
        column: place?.column ?? 0, length: place?.length ?? 1, hint: hint))
  }

  /// The findings in the order of the text; those without a place come last.
  /// O(n log n). Findings of one place keep the order in which they were made.
  var sorted: [Diagnostic] {
    diagnostics.enumerated()
      .map { at, diagnostic in
        (line: diagnostic.line == 0 ? Int.max : diagnostic.line, at: at, diagnostic: diagnostic)
      }
      .sorted {
        ($0.line, $0.diagnostic.column, $0.at) < ($1.line, $1.diagnostic.column, $1.at)
      }
      .map { $0.diagnostic }
  }

  /// Returns the text of a scalar with its parameters filled in. Reports a finding and returns nil
  /// for any other node, and for a text with values that are known only when an operation starts.
  ///
  /// - Parameters:
  ///   - what: The thing in messages, such as `'timeout'` or `a label`.
  ///   - kind: What it has to be, in messages.
  func text(_ node: ManifestNode, _ what: String, of kind: String = "a text") -> String? {
    guard case .scalar(let text, _) = node.value, !node.isNull else {
      error("\(what) must be \(kind), not \(node.kind)", node.place)
      return nil
    }
    guard text.contains("${{") else { return text }
    var result = ""
    for piece in pieces(of: text, in: node) {
      switch piece {
      case .literal(let literal): result += literal
      case .value(let value):
        guard case .parameter(let name) = value.reference else {
          error("'\(value.expression)' is not known here", value.place, hint: Self.lateHint)
          return nil
        }
        guard let known = parameter(name, value.place) else { return nil }
        result += known
      }
    }
    return result
  }

  /// The list is that of the texts which `Substitution` handles.
  private static let lateHint =
    "only run, call input, env, stdin, stdout and stderr can use it"

  /// Returns the value of a parameter; nil if there is none, which is reported once.
  /// A parameter that failed to resolve is nil without a further finding.
  func parameter(_ name: String, _ place: Place) -> String? {
    guard let value = parameters[name] else {
      error(
        "unknown parameter '\(name)'", place,
        hint: NearNames.hint(for: name, among: parameters.keys.sorted()))
      return nil
    }
    return value
  }

  /// Whether a scalar may be read as a number or a boolean: it is unquoted, or begins with a
  /// placeholder.
  /// With a placeholder at the beginning the kind is that of the parameter, which has no quotes of
  /// its own.
  func mayBeTyped(_ node: ManifestNode) -> Bool {
    guard case .scalar(let text, let isPlain) = node.value else { return false }
    return isPlain || text.hasPrefix("${{")
  }

  /// Splits a text at its placeholders. Reports wrong placeholders and leaves them out.
  /// Pieces are found again in the source, since a folded text has other offsets than the manifest.
  func pieces(of text: String, in node: ManifestNode) -> [TextPiece] {
    var from = source.offset(of: node.place) ?? 0
    return TextPiece.parse(text) { written in
      source.find(written, from: &from) ?? node.place
    } report: { message, place in
      error(message, place, hint: TextPiece.known)
    }
  }
}
