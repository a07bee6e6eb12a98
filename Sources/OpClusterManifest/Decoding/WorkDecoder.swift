// Decodes the work of an operation: `run`, `call` and `blocks`. Called by the operation decoder.
// Commands stay nodes until the lowering: their values depend on elements and needs, which are
// decoded later.

import OpClusterModel

/// Reports what is wrong with the form; a nil result means that the operation has no work to check
/// further.
struct WorkDecoder {
  let findings: Findings

  /// Decodes a shell text or a list of words; `what` is its name in messages.
  func run(_ node: ManifestNode, _ what: String) -> DeclaredWork? {
    command(node, what) ? .run(node) : nil
  }

  /// Whether a node has the form of a command. Reports an empty command, but returns true for it.
  private func command(_ node: ManifestNode, _ what: String) -> Bool {
    switch node.value {
    case .scalar(let text, _):
      // An empty command would succeed and do nothing, which nobody means.
      if node.isNull || text.trimmed.isEmpty { findings.error("\(what) is empty", node.place) }
    case .sequence(let items):
      if items.isEmpty { findings.error("\(what) is empty", node.place) }
    case .mapping:
      findings.error("\(what) must be a text or a list, not a mapping", node.place)
      return false
    }
    return true
  }

  /// `type@2` is how people write versions elsewhere, hence the hint. Whether a worker has the type
  /// is known only to the cluster.
  func call(_ node: ManifestNode) -> DeclaredCall? {
    guard let fields = Fields(node, ManifestKeys.call, findings) else { return nil }
    guard let name = fields.text("type") else {
      if fields["type"] == nil { findings.error("'call' needs 'type'", node.place) }
      return nil
    }
    if !Names.isName(name), let node = fields.node("type") {
      let version = name.contains("@") ? "give the version as 'version: N'" : ""
      findings.error("'\(name)' cannot name an operation type", node.place, hint: version)
    }
    var type = OperationType(name: name)
    // Version 1 is what a type has that does not say otherwise.
    if let version = fields.integer("version", 1...Int(UInt32.max)) {
      type.version = UInt32(version)
    }
    // The input is any YAML; it becomes JSON in the lowering.
    return DeclaredCall(type: type, input: fields.node("input"))
  }

  /// Decodes a function of Python: the call of a type that workers have, whose input is the mapping
  /// itself. Whether the interpreter and the function exist is known only where it runs.
  func python(_ node: ManifestNode) -> DeclaredCall? {
    guard let fields = Fields(node, ManifestKeys.python, findings) else { return nil }
    guard let function = fields.text("function") else {
      if fields["function"] == nil { findings.error("'python' needs 'function'", node.place) }
      return nil
    }
    let parts = function.split(separator: ":", omittingEmptySubsequences: false)
    if !function.contains("${{"), parts.count != 2 || parts.contains("") {
      findings.error(
        "'\(function)' does not name a function", fields.node("function")?.place ?? node.place,
        hint: "MODULE:NAME, like statistics:mean")
    }
    if let place = fields["venv"]?.place, fields["interpreter"] != nil {
      findings.error("'python' has 'interpreter' and 'venv'", place, hint: "keep one of them")
    }
    checkPath(fields, "venv", mayBeName: false)
    checkPath(fields, "interpreter", mayBeName: true)
    if let arguments = fields.node("arguments") { _ = findings.list(arguments, "'arguments'") }
    if let keywords = fields.node("keywords"), !keywords.isNull {
      if case .mapping = keywords.value {} else {
        findings.error("'keywords' must be a mapping", keywords.place)
      }
    }
    return DeclaredCall(type: .python, input: node)
  }

  /// The worker's machine has the path, not this one: only its form can be checked.
  private func checkPath(_ fields: Fields, _ key: String, mayBeName: Bool) {
    guard let node = fields.node(key), let path = fields.text(key), !path.hasPrefix("/"),
      !path.hasPrefix("${{"), !mayBeName || path.contains("/") || path.isEmpty
    else { return }
    findings.error(
      "'\(key)' must be an absolute path" + (mayBeName ? " or a name" : ""), node.place,
      hint: "it is a path of the machine that runs it")
  }

  /// Decodes blocks: commands as in `run`, and `{call: …}` (S118).
  /// nil if one block is wrong: results are told by position, so none may be left out.
  func blocks(_ node: ManifestNode) -> DeclaredWork? {
    guard let items = findings.list(node, "'blocks'") else { return nil }
    if items.isEmpty { findings.error("'blocks' is empty", node.place) }
    // Counted before any block is decoded; findings about ten thousand blocks would help nobody.
    if items.count > Limits.blocksPerOperation {
      findings.error("more than \(Limits.blocksPerOperation) blocks", node.place)
      return nil
    }
    let blocks = items.compactMap(block)
    return blocks.count == items.count ? .blocks(blocks) : nil
  }

  /// A mapping can only be a call or a function: commands are texts and lists.
  private func block(_ node: ManifestNode) -> DeclaredBlock? {
    guard case .mapping = node.value else {
      return command(node, "a block") ? .run(node) : nil
    }
    guard let fields = Fields(node, ManifestKeys.block, findings) else { return nil }
    switch (fields.node("call"), fields.node("python")) {
    case (let inner?, nil): return call(inner).map { .call($0) }
    case (nil, let inner?): return python(inner).map { .call($0) }
    default:
      findings.error(
        "a block is a command, a 'call' or a 'python'", node.place,
        hint: "like \"make\", [make, all] or {call: {type: NAME}}")
      return nil
    }
  }
}
