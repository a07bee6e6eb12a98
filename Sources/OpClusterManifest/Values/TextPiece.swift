// Splits a text with `${{ … }}` into literal pieces and values. Substitution only, no expression
// language. Pure.
// Values are told apart here and resolved elsewhere: parameters in `Findings`, all others in
// `Substitution`.

import OpClusterModel

/// A piece of a text of the manifest.
/// In a valid text literals are neither neighbours nor empty.
enum TextPiece {
  case literal(String)
  case value(PlacedValue)

  /// The references that may stand between the braces.
  /// The text and the operation decide which of them may be used.
  enum Reference: Hashable {
    case parameter(String)
    case item
    case index
    case matrix(String)
    case output(operation: String, key: String)
  }
  struct PlacedValue {
    var reference: Reference
    /// Written as `raw(…)`: not quoted for the shell.
    var isRaw: Bool
    /// As it was written, for messages.
    var expression: String
    /// Where a finding about the value is shown.
    var place: Place
  }

  /// The hint for anything else between the braces.
  static let known =
    "known are params.NAME, item, index, matrix.KEY, needs.OPERATION.outputs.KEY and raw(…)"

  /// Parses the pieces. Reports wrong placeholders and leaves them out. Calls `locate` in the order
  /// of the text.
  /// - Parameter locate: The place of a written placeholder, searched from the last one on.
  /// - Parameter report: Called once for each that is wrong.
  static func parse(
    _ text: String, locate: (String) -> Place, report: (String, Place) -> Void
  ) -> [TextPiece] {
    var pieces: [TextPiece] = []
    var rest = Substring(text)
    while let open = rest.firstRange(of: "${{") {
      if open.lowerBound > rest.startIndex {
        pieces.append(.literal(String(rest[..<open.lowerBound])))
      }
      let behind = rest[open.upperBound...]
      // An open placeholder swallows the rest, so reading ends.
      guard let close = behind.firstRange(of: "}}") else {
        report("'${{' without '}}'", locate("${{"))
        return pieces
      }
      let inner = behind[..<close.lowerBound]
      let place = locate("${{\(inner)}}")
      let expression = String(inner).trimmed
      if let (reference, isRaw) = reference(expression) {
        pieces.append(
          .value(
            PlacedValue(
              reference: reference, isRaw: isRaw, expression: expression, place: place)))
      } else {
        report("'\(expression)' is not a value", place)
      }
      rest = behind[close.upperBound...]
    }
    if !rest.isEmpty { pieces.append(.literal(String(rest))) }
    return pieces
  }

  /// `raw(…)` wraps any reference, and no other function exists.
  private static func reference(_ expression: String) -> (Reference, isRaw: Bool)? {
    if expression.hasPrefix("raw("), expression.hasSuffix(")") {
      let inner = String(expression.dropFirst(4).dropLast()).trimmed
      return simple(inner).map { ($0, true) }
    }
    return simple(expression).map { ($0, false) }
  }

  /// An output's name may have dots: the last `.outputs.` divides operation and key.
  private static func simple(_ expression: String) -> Reference? {
    if expression == "item" { return .item }
    if expression == "index" { return .index }
    if let name = expression.after("params."), Names.isName(name) { return .parameter(name) }
    if let key = expression.after("matrix."), Names.isName(key) { return .matrix(key) }
    guard let rest = expression.after("needs."),
      let middle = rest.ranges(of: ".outputs.").last
    else { return nil }
    let operation = String(rest[..<middle.lowerBound])
    let key = String(rest[middle.upperBound...])
    guard Names.isName(operation), Names.isName(key) else { return nil }
    return .output(operation: operation, key: key)
  }
}

extension String {
  var trimmed: String {
    var rest = Substring(self)
    while let first = rest.first, first.isWhitespace { rest.removeFirst() }
    while let last = rest.last, last.isWhitespace { rest.removeLast() }
    return String(rest)
  }
  /// Returns the text behind a prefix; nil without the prefix.
  func after(_ prefix: String) -> String? {
    hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil
  }
}
