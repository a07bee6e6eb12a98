// Substitutes values in the texts of one operation. Parameters become literals; values that are
// known only when an attempt starts become segments. The lowering makes one per operation.
// Values of a shell text need more care, and are in `ShellSubstitution.swift`.

import OpClusterModel

/// Knows the operation's elements and needs: both decide which values a text may name.
struct Substitution {
  let findings: Findings
  let operation: OperationDeclaration
  /// The direct dependencies by the names that the operation may use.
  /// Members of a group use short names for their siblings; the dependency has its full name.
  let outputsByNeed: [String: NeedOutputs]

  /// A dependency by its name in the graph, and the outputs that it declares.
  /// `keys` is empty if the dependency declares none: then any key may be asked for.
  struct NeedOutputs {
    var operation: String
    var keys: [String]
    /// The dependency is an array: the value has one entry per element.
    var isList = false
  }

  /// Substitutes values without quoting: for arguments, environment, paths, stdin. nil after a
  /// finding. Reports all findings of a text.
  /// Values of an array's outputs are joined by blanks when the attempt starts.
  func plain(_ node: ManifestNode, _ what: String) -> CommandText? {
    guard let pieces = pieces(node, what) else { return nil }
    var text = TextBuilder()
    var isFine = true
    for piece in pieces {
      switch piece {
      case .literal(let literal): text.append(literal)
      case .value(let value):
        if case .parameter(let name) = value.reference {
          if let known = findings.parameter(name, value.place) {
            text.append(known)
            continue
          }
        } else if let late = late(value) {
          text.append(late, .none)
          continue
        }
        isFine = false
      }
    }
    return isFine ? checked(text.text, node) : nil
  }

  /// Returns nil only for a node that is no text; wrong placeholders have been reported and are
  /// left out.
  func pieces(_ node: ManifestNode, _ what: String) -> [TextPiece]? {
    guard case .scalar(let text, _) = node.value, !node.isNull else {
      findings.error("\(what) must be a text, not \(node.kind)", node.place)
      return nil
    }
    return text.contains("${{") ? findings.pieces(of: text, in: node) : [.literal(text)]
  }

  /// A zero byte would end an argument early in the eyes of a process.
  func checked(_ text: CommandText, _ node: ManifestNode) -> CommandText? {
    for case .literal(let literal) in text.segments where literal.utf8.contains(0) {
      findings.error("a text for a command cannot hold a zero byte", node.place)
      return nil
    }
    return text
  }

  /// Returns nil after a finding, and for a parameter, which is known already.
  func late(_ value: TextPiece.PlacedValue) -> CommandText.Value? {
    switch value.reference {
    case .parameter: return nil
    case .index:
      if operation.elements != nil { return .index }
      findings.error("only an array has an 'index'", value.place)
    case .item:
      if let elements = operation.elements, !elements.isMatrix {
        // A range has no values of its own: its item is its number.
        return elements.keys.isEmpty ? .index : .element(0)
      }
      let hint = operation.elements.map { "a matrix has matrix.\($0.keys.first ?? "KEY")" } ?? ""
      findings.error("only an array has an 'item'", value.place, hint: hint)
    case .matrix(let key):
      let keys = operation.elements.map { $0.isMatrix ? $0.keys : [] } ?? []
      if let position = keys.firstIndex(of: key) { return .element(position) }
      findings.error(
        "the operation has no matrix.\(key)", value.place,
        hint: NearNames.hint(for: key, among: keys))
    case .output(let name, let key):
      return output(name, key, value.place)
    }
    return nil
  }

  /// Only declared outputs are checked, since a command may write others as well.
  private func output(_ name: String, _ key: String, _ place: Place) -> CommandText.Value? {
    guard let declared = outputsByNeed[name] else {
      let near = NearNames.hint(for: name, among: outputsByNeed.keys.sorted())
      findings.error(
        "'\(name)' is not among the needs of '\(operation.name)'", place,
        hint: near.isEmpty ? "add it to 'needs'" : near)
      return nil
    }
    if !declared.keys.isEmpty, !declared.keys.contains(key) {
      let near = NearNames.hint(for: key, among: declared.keys)
      findings.error(
        "'\(name)' has no output '\(key)'", place,
        hint: near.isEmpty ? "its outputs: " + declared.keys.joined(separator: ", ") : near)
      return nil
    }
    return .output(operation: declared.operation, key: key)
  }
}

/// Joins neighbouring literals.
/// Fewer segments make a smaller payload, and a text without values becomes one literal.
struct TextBuilder {
  private(set) var text = CommandText("")

  mutating func append(_ literal: String) {
    if literal.isEmpty { return }
    if case .literal(let before)? = text.segments.last {
      text.segments[text.segments.count - 1] = .literal(before + literal)
    } else {
      text.segments.append(.literal(literal))
    }
  }
  /// `none` inserts the value as it is; `shell` makes it a word that no shell parses.
  mutating func append(_ value: CommandText.Value, _ quoting: CommandText.Quoting) {
    text.segments.append(.value(value, quoting: quoting))
  }
  /// Removes the `"` at the end of the text; false if the text ends differently.
  /// Used where quotes hold a value and nothing else: the value brings its own.
  mutating func removeQuote() -> Bool {
    guard case .literal(let before)? = text.segments.last, before.hasSuffix("\"") else {
      return false
    }
    let rest = String(before.dropLast())
    text.segments.removeLast()
    append(rest)
    return true
  }
}
