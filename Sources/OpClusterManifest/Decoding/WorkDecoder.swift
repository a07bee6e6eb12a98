// Decodes the work of an operation: `run`, `call` and `blocks`. Called by the operation decoder.

import OpClusterModel

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
      if node.isNull || text.trimmed.isEmpty { findings.error("\(what) is empty", node.place) }
    case .sequence(let items):
      if items.isEmpty { findings.error("\(what) is empty", node.place) }
    case .mapping:
      findings.error("\(what) must be a text or a list, not a mapping", node.place)
      return false
    }
    return true
  }

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
    if let version = fields.integer("version", 1...Int(UInt32.max)) {
      type.version = UInt32(version)
    }
    return DeclaredCall(type: type, input: fields.node("input"))
  }

  /// Decodes blocks: commands as in `run`, and `{call: …}` (S118).
  func blocks(_ node: ManifestNode) -> DeclaredWork? {
    guard let items = findings.list(node, "'blocks'") else { return nil }
    if items.isEmpty { findings.error("'blocks' is empty", node.place) }
    if items.count > Limits.blocksPerOperation {
      findings.error("more than \(Limits.blocksPerOperation) blocks", node.place)
      return nil
    }
    let blocks = items.compactMap(block)
    return blocks.count == items.count ? .blocks(blocks) : nil
  }

  private func block(_ node: ManifestNode) -> DeclaredBlock? {
    guard case .mapping = node.value else {
      return command(node, "a block") ? .run(node) : nil
    }
    guard let fields = Fields(node, ManifestKeys.block, findings) else { return nil }
    guard let inner = fields.node("call") else {
      findings.error(
        "a block is a command or a 'call'", node.place,
        hint: "like \"make\", [make, all] or {call: {type: NAME}}")
      return nil
    }
    return call(inner).map { .call($0) }
  }
}
