// Decodes `needs`: a name, a list of names, or names with conditions. Called by the operation
// decoder.
// Whether the names exist is looked up in `Edges`, when all operations are known.

import OpClusterModel

/// Three forms for three wishes: a name, several names, and conditions.
struct NeedsDecoder {
  let findings: Findings

  /// A need that could not be decoded is reported, and left out.
  func decode(_ node: ManifestNode) -> [DeclaredNeed] {
    switch node.value {
    case .scalar:
      return name(node).map { [need($0)] } ?? []
    case .sequence(let items):
      return items.compactMap(listed)
    case .mapping(let entries):
      return entries.compactMap { entry in
        let on = PlacedName(name: entry.key, place: entry.place)
        return conditional(on, entry.value)
      }
    }
  }

  /// A bare name asks for success of all elements.
  private func need(_ on: PlacedName) -> DeclaredNeed {
    DeclaredNeed(on: on, policy: .succeeded, match: .all)
  }

  private func name(_ node: ManifestNode) -> PlacedName? {
    findings.name(node, "a need").map { PlacedName(name: $0, place: node.place) }
  }

  /// Decodes an item of a list: a name, or `{op: NAME, when, match, files}`.
  /// A list may mix both: names, and long forms with `op`.
  private func listed(_ item: ManifestNode) -> DeclaredNeed? {
    guard case .mapping = item.value else { return name(item).map(need) }
    guard let fields = Fields(item, ManifestKeys.listedEdge, findings) else { return nil }
    guard let node = fields.node("op") else {
      findings.error("a need in a list needs 'op'", item.place)
      return nil
    }
    return name(node).map { edge(fields, need($0)) }
  }

  /// Decodes the value beside a name: a condition, or `{when, match, files}`.
  /// `needs: {make: finished}` is the short form of a condition.
  private func conditional(_ on: PlacedName, _ node: ManifestNode) -> DeclaredNeed? {
    if case .mapping = node.value {
      return Fields(node, ManifestKeys.edge, findings).map { edge($0, need(on)) }
    }
    return policy(node).map { DeclaredNeed(on: on, policy: $0, match: .all) }
  }

  /// - Parameter start: The need with the defaults of what the mapping does not say.
  ///
  /// `optional: true` would make a need of something that may not exist; it is refused.
  private func edge(_ fields: Fields, _ start: DeclaredNeed) -> DeclaredNeed {
    var need = start
    if let node = fields.node("when"), let policy = policy(node) { need.policy = policy }
    let matches: [(String, GroupEdge.Match)] = [("all", .all), ("same-index", .sameIndex)]
    if let match = fields.choice("match", matches) { need.match = match }
    if fields.bool("optional") == true { fields.refuse("optional") }
    for node in fields.list("files") ?? [] {
      if let name = findings.name(node, "a file") {
        need.files.append(PlacedName(name: name, place: node.place))
      }
    }
    return need
  }

  /// Returns nil after a finding; `started` is a finding, too.
  /// `started` is a word of the format whose meaning is not built yet; a guess would run things too
  /// early.
  func policy(_ node: ManifestNode) -> EdgePolicy? {
    let words: [(String, EdgePolicy?)] = [
      ("succeeded", .succeeded), ("finished", .finished), ("failed", .failed), ("started", nil),
    ]
    guard let policy = findings.choice(node, "a condition", words) else { return nil }
    if policy == nil {
      findings.error("the condition 'started' is not supported yet", node.place)
    }
    return policy
  }
}
