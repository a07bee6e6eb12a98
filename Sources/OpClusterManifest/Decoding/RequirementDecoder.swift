// `require`: labels that a worker must have, of an operation or of a queue.

import OpClusterModel

enum RequirementDecoder {
  /// A label that is named again takes the place of the one before.
  static func decode(
    _ node: ManifestNode, _ findings: Findings, onto requirements: inout [LabelRequirement]
  ) {
    let table = KeyTable(name: "'require'", keys: [], isOpen: true)
    guard let fields = Fields(node, table, findings) else { return }
    for entry in fields.entries {
      var nodes = [entry.value]
      if case .sequence(let items) = entry.value.value { nodes = items }
      let values = nodes.compactMap { findings.text($0, "a value of '\(entry.key)'") }
      if nodes.isEmpty { findings.error("'\(entry.key)' needs a value", entry.place) }
      requirements.removeAll { $0.key == entry.key }
      requirements.append(LabelRequirement(key: entry.key, values: values))
    }
  }
}
