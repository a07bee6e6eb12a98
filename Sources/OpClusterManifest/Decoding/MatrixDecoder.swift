// Decodes `matrix`: the product of its axes, the last axis fastest, minus `exclude`, plus
// `include`. Called by the operation decoder.
// Axes keep the order in which they are written, which is the order of `OP_MATRIX_…` and of the
// elements.

import OpClusterModel

/// An axis is any key that is no setting of the matrix.
struct MatrixDecoder {
  let findings: Findings
  /// Values as texts; numbers keep the form in which they were written.
  private typealias Axis = (key: String, values: [String])

  /// nil columns after a finding. All combinations are made here: at most
  /// `Limits.operationsPerGraph`.
  func decode(_ node: ManifestNode) -> DecodedElements {
    guard let fields = Fields(node, ManifestKeys.matrix, findings) else { return DecodedElements() }
    let parallel = fields.integer("max_parallel", 1...Int(UInt32.max)) ?? 0
    let failures = fields.failureBound()
    guard let axes = axes(fields, node) else { return DecodedElements() }
    let keys = axes.map { $0.key }
    guard let excluded = combinations(fields, "exclude", keys, complete: false),
      let included = combinations(fields, "include", keys, complete: true)
    else { return DecodedElements() }
    let columns = product(axes, excluded, included, node)
    if let columns, columns.count == 0 {
      findings.warning("the matrix has no element left", node.place)
    }
    return DecodedElements(columns: columns, parallel: UInt32(parallel), failures: failures)
  }

  /// nil after a finding, also when there are no axes at all.
  private func axes(_ fields: Fields, _ node: ManifestNode) -> [Axis]? {
    var axes: [Axis] = []
    for entry in fields.chosen {
      guard Names.isName(entry.key) else {
        findings.error("'\(entry.key)' cannot name an axis", entry.place, hint: Findings.nameHint)
        return nil
      }
      guard let items = findings.list(entry.value, "the axis '\(entry.key)'") else { return nil }
      let values = items.compactMap { findings.text($0, "a value of '\(entry.key)'") }
      // Each value that was no text has been reported.
      guard values.count == items.count else { return nil }
      if values.isEmpty {
        findings.error("the axis '\(entry.key)' has no values", entry.place)
        return nil
      }
      axes.append((entry.key, values))
    }
    if axes.isEmpty { findings.error("'matrix' has no axes", node.place) }
    return axes.isEmpty ? nil : axes
  }

  /// Returns the mappings of a list by position of the axes; nil after a finding.
  /// A row has a text for each axis that the mapping names, and nil for the others.
  ///
  /// - Parameter complete: Every axis must be named, since an element has a value for each.
  private func combinations(
    _ fields: Fields, _ key: String, _ keys: [String], complete: Bool
  ) -> [[String?]]? {
    guard let entry = fields[key] else { return [] }
    guard let items = findings.list(entry.value, "'\(key)'") else { return nil }
    var all: [[String?]] = []
    let table = KeyTable(name: "'\(key)'", keys: keys)
    for item in items {
      guard let values = Fields(item, table, findings) else { return nil }
      let row = keys.map { key in values.node(key).flatMap { findings.text($0, "'\(key)'") } }
      if complete, let missing = keys.first(where: { values[$0] == nil }) {
        findings.error("'include' needs a value for '\(missing)'", item.place)
        return nil
      }
      // An empty exclusion would leave out everything.
      if values.entries.isEmpty {
        findings.error("an empty combination in '\(key)'", item.place)
        return nil
      }
      all.append(row)
    }
    return all
  }

  /// O(product × exclusions). The product is bounded before the loop, at each factor, so that it
  /// does not overflow either.
  private func product(
    _ axes: [Axis], _ excluded: [[String?]], _ included: [[String?]], _ node: ManifestNode
  ) -> ElementColumns? {
    var columns = ElementColumns(keys: axes.map { $0.key }, isMatrix: true)
    var total = 1
    for axis in axes {
      total = total.multipliedReportingOverflow(by: axis.values.count).partialValue
      if total > Limits.operationsPerGraph {
        findings.error(ElementColumns.tooMany, node.place)
        return nil
      }
    }
    for position in 0..<total {
      // A position is a number in a mixed base: its last digit belongs to the last axis.
      var rest = position
      var row = [String](repeating: "", count: axes.count)
      for axis in axes.indices.reversed() {
        row[axis] = axes[axis].values[rest % axes[axis].values.count]
        rest /= axes[axis].values.count
      }
      let isExcluded = excluded.contains { wanted in
        zip(wanted, row).allSatisfy { $0 == nil || $0 == $1 }
      }
      if !isExcluded, let problem = columns.append(row) {
        findings.error(problem, node.place)
        return nil
      }
    }
    // Included rows are appended even if they repeat a combination of the product.
    for row in included {
      if let problem = columns.append(row.map { $0 ?? "" }) {
        findings.error(problem, node.place)
        return nil
      }
    }
    return columns
  }
}
