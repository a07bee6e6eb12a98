// `${{ … }}`: substitution, not a language. Cuts a text into literal pieces and values. Pure.

/// A piece of a text of the manifest.
enum TextPiece {
  case literal(String)
  case value(PlacedValue)

  /// What may stand between the braces.
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
    var place: Place
  }

  static let known =
    "known are params.NAME, item, index, matrix.KEY, needs.OPERATION.outputs.KEY and raw(…)"

  /// What is wrong is reported and left out. `locate` is asked in the order of the text.
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

  private static func reference(_ expression: String) -> (Reference, isRaw: Bool)? {
    if expression.hasPrefix("raw("), expression.hasSuffix(")") {
      let inner = String(expression.dropFirst(4).dropLast()).trimmed
      return simple(inner).map { ($0, true) }
    }
    return simple(expression).map { ($0, false) }
  }

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

/// The shapes that names may have.
enum Names {
  /// `[A-Za-z_][A-Za-z0-9_.-]{0,127}`: operations, queues, graphs, outputs.
  static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, text.utf8.count <= 128 else { return false }
    return (isLetter(first) || first == UInt8(ascii: "_")) && text.utf8.allSatisfy(isNameByte)
  }
  /// `[a-z][a-z0-9_]{0,63}`.
  static func isParameterName(_ text: String) -> Bool {
    guard let first = text.utf8.first, text.utf8.count <= 64 else { return false }
    return isLower(first)
      && text.utf8.allSatisfy { isLower($0) || isDigit($0) || $0 == UInt8(ascii: "_") }
  }
  /// `[A-Za-z_][A-Za-z0-9_]*`.
  static func isVariableName(_ text: String) -> Bool {
    isName(text) && !text.utf8.contains { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") }
  }
  /// `[A-Za-z][A-Za-z0-9_./-]{0,62}`.
  static func isLabelKey(_ text: String) -> Bool {
    guard let first = text.utf8.first, text.utf8.count <= 63 else { return false }
    return isLetter(first) && text.utf8.allSatisfy { isNameByte($0) || $0 == UInt8(ascii: "/") }
  }

  static func isNameByte(_ byte: UInt8) -> Bool {
    isLetter(byte) || isDigit(byte) || "_.-".utf8.contains(byte)
  }
  static func isDigit(_ byte: UInt8) -> Bool {
    byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
  }
  private static func isLower(_ byte: UInt8) -> Bool {
    byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z")
  }
  private static func isLetter(_ byte: UInt8) -> Bool {
    isLower(byte) || byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z")
  }
}

extension String {
  var trimmed: String {
    var rest = Substring(self)
    while let first = rest.first, first.isWhitespace { rest.removeFirst() }
    while let last = rest.last, last.isWhitespace { rest.removeLast() }
    return String(rest)
  }
  /// What follows a prefix; nil without it.
  func after(_ prefix: String) -> String? {
    hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil
  }
}
