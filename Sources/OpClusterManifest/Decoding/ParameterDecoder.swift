// Decodes `params` and resolves their values with those that the submitter gave. The compiler calls
// it first.
// A value from the command line is a text, and so is a default: types are checks, and conversions
// happen where a parameter is used.

import OpClusterModel

/// Parameters depend on nothing else, and no parameter on another: a default is taken literally.
struct ParameterDecoder {
  let findings: Findings
  /// The words of `type`. `path` differs from `string` only in that it must not be empty.
  private enum Kind: String, CaseIterable {
    case string, int, number, bool, path
  }

  /// Fills `findings.parameters`.
  /// A parameter that could not be resolved is entered with nil. Its uses are then no further
  /// findings.
  func decode(_ node: ManifestNode?, given: [String: String]) {
    var known: [String] = []
    if let node {
      let table = KeyTable(name: "'params'", keys: [], isOpen: true)
      for entry in Fields(node, table, findings)?.entries ?? [] {
        guard Names.isParameterName(entry.key) else {
          findings.error(
            "'\(entry.key)' cannot name a parameter", entry.place,
            hint: "a small letter, then small letters, digits, '_'; at most 64")
          continue
        }
        known.append(entry.key)
        findings.parameters[entry.key] = .some(value(entry, given: given[entry.key]))
      }
    }
    // Sorted, so that the findings have the same order in every run.
    for name in given.keys.sorted() where !known.contains(name) {
      let near = NearNames.hint(for: name, among: known)
      let all = known.isEmpty ? "the manifest has none" : "known: " + known.joined(separator: ", ")
      findings.error("unknown parameter '\(name)'", nil, hint: near.isEmpty ? all : near)
    }
  }

  /// The short form is a default alone. Returns nil after a finding.
  private func value(_ entry: ManifestNode.Entry, given: String?) -> String? {
    guard case .mapping = entry.value.value else {
      guard let text = literal(entry.value, "a default") else { return nil }
      return given ?? text
    }
    let name = "parameter '\(entry.key)'"
    guard let fields = Fields(entry.value, ManifestKeys.parameter, name: name, findings) else {
      return nil
    }
    let kinds = Kind.allCases.map { ($0.rawValue, $0) }
    let kind = fields.choice("type", kinds) ?? .string
    if fields["help"] != nil { _ = fields.text("help") }
    let isRequired = fields.bool("required") ?? false
    // An unusable default has been reported, and counts as none.
    let fallback = fields.node("default").flatMap { literal($0, "'default'") }
    if isRequired, let node = fields.node("default") {
      findings.error("a required parameter has no default", node.place)
    }
    // One closure checks the default and the given value alike.
    let check = check(fields, kind)
    if let fallback, let node = fields.node("default"), let problem = check(fallback) {
      findings.error("the default of \(name) \(problem)", node.place)
      return nil
    }
    guard let given else {
      // An optional parameter without a default is empty.
      if !isRequired { return fields["default"] == nil ? "" : fallback }
      findings.error(
        "the \(name) is required", entry.place, hint: "give -p \(entry.key)=VALUE")
      return nil
    }
    if let problem = check(given) {
      // At the declaration: a value of the command line has no place in the text.
      findings.error("\(name): '\(given)' \(problem)", entry.place)
      return nil
    }
    return given
  }

  /// Returns a scalar as written; refuses placeholders.
  /// A number or a boolean is taken as it was written: `08` stays `08`.
  private func literal(_ node: ManifestNode, _ what: String) -> String? {
    guard case .scalar(let text, _) = node.value, !node.isNull else {
      findings.error("\(what) must be a text, not \(node.kind)", node.place)
      return nil
    }
    if text.contains("${{") {
      findings.error("\(what) of a parameter is taken as it is, without '${{'", node.place)
      return nil
    }
    return text
  }

  /// Returns a check that says what is wrong with a value, or nil if the value is valid.
  /// - Parameter kind: The declared type; a text passes for every string.
  ///
  /// Choices and pattern are read once, and not for each value.
  private func check(_ fields: Fields, _ kind: Kind) -> (String) -> String? {
    var choices: [String]?
    if let items = fields.list("choices") {
      choices = items.compactMap { literal($0, "a choice") }
      if items.isEmpty, let node = fields.node("choices") {
        findings.error("'choices' is empty", node.place)
      }
    }
    var pattern: Regex<AnyRegexOutput>?
    if let text = fields.node("pattern").flatMap({ literal($0, "'pattern'") }) {
      // Swift's own syntax of regular expressions; the whole value must match.
      pattern = try? Regex(text)
      if pattern == nil, let node = fields.node("pattern") {
        findings.error("'pattern' is not a regular expression", node.place)
      }
    }
    return { value in
      switch kind {
      // A whole number is one that fits 64 bits.
      case .int where Int(value) == nil: return "is not a whole number"
      case .number where !ManifestNode.isNumber(value): return "is not a number"
      case .bool where value != "true" && value != "false": return "is not true or false"
      case .path where value.isEmpty: return "is not a path"
      default: break
      }
      if let choices, !choices.contains(value) {
        let near = NearNames.hint(for: value, among: choices)
        return "is none of \(choices.joined(separator: ", "))"
          + (near.isEmpty ? "" : "; \(near.dropLast())")
      }
      if let pattern, value.wholeMatch(of: pattern) == nil { return "does not match 'pattern'" }
      return nil
    }
  }
}
