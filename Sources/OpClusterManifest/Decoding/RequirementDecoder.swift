// Decodes `require`: the labels that a worker must have for an operation or a queue.
// A requirement is met by a label of the worker with one of the values; all requirements must be
// met.

import OpClusterModel

/// For operations and for queues, with the same form.
enum RequirementDecoder {
  /// A repeated label replaces the earlier one.
  static func decode(
    _ node: ManifestNode, _ findings: Findings, onto requirements: inout [LabelRequirement]
  ) {
    let table = KeyTable(name: "'require'", keys: [], isOpen: true)
    guard let fields = Fields(node, table, findings) else { return }
    for entry in fields.entries {
      // One value, or a list of which one suffices.
      var nodes = [entry.value]
      if case .sequence(let items) = entry.value.value { nodes = items }
      let values = nodes.compactMap { findings.text($0, "a value of '\(entry.key)'") }
      if nodes.isEmpty { findings.error("'\(entry.key)' needs a value", entry.place) }
      // Key by key, so that an operation may ask for another value than `defaults`.
      requirements.removeAll { $0.key == entry.key }
      requirements.append(LabelRequirement(key: entry.key, values: values))
    }
  }
}
