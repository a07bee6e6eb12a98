// Resolves dependencies between the operations of a manifest: names become positions; impossible
// ones are reported. Called by the lowering.
// Positions are those of templates. An operation of `finally` gets an edge from every ordinary one;
// a need that it names itself keeps its condition.

import OpClusterModel

/// Each need becomes one edge between templates; elements are never expanded here.
struct Edges {
  let findings: Findings
  let operations: [OperationDeclaration]
  /// By full name. Of two operations with one name the first counts, and the second is a finding.
  let positions: [String: Int]

  init(findings: Findings, operations: [OperationDeclaration]) {
    self.findings = findings
    self.operations = operations
    var positions: [String: Int] = [:]
    for (at, operation) in operations.enumerated() {
      if let first = positions[operation.name] {
        let line = operations[first].place.line
        findings.error(
          "there are two operations '\(operation.name)'", operation.place,
          hint: "first on line \(line)")
      } else {
        positions[operation.name] = at
      }
    }
    self.positions = positions
  }

  /// Returns all edges, in the order of the waiting operations.
  /// O(needs), and for each operation of `finally` O(operations): their product is bounded by the
  /// limit of edges.
  func resolve() -> [GroupEdge] {
    var edges: [GroupEdge] = []
    var needs = [[Int]](repeating: [], count: operations.count)
    // Operations of `finally` do not wait for each other unless they say so.
    let ordinary = operations.indices.filter { !operations[$0].isFinal }
    for (to, operation) in operations.enumerated() {
      var seen: Set<Int> = []
      for need in operation.needs {
        guard let from = position(of: need, for: operation) else { continue }
        // A need of a group's success is met by its joint, which is one edge instead of many.
        if let members = operations[from].members, need.policy != .succeeded {
          addMembers(members, need, operation, to, &seen, &needs, &edges)
          continue
        }
        if !seen.insert(from).inserted {
          findings.error(
            "'\(operation.name)' needs '\(need.on.name)' twice", need.on.place)
          continue
        }
        checkMatch(need, operations[from], operation)
        needs[to].append(from)
        edges.append(
          GroupEdge(from: UInt32(from), to: UInt32(to), policy: need.policy, match: need.match))
      }
      guard operation.isFinal else { continue }
      // Asked before the edges are made: many operations in `finally` would need more than memory
      // has.
      if edges.count + ordinary.count > Limits.groupEdgesPerGraph {
        findings.error("the graph has too many dependencies", operation.place)
        break
      }
      for from in ordinary where !seen.contains(from) {
        edges.append(GroupEdge(from: UInt32(from), to: UInt32(to), policy: .finished))
      }
    }
    reportCycles(needs)
    return edges
  }

  /// Adds an edge from every member, for a need of `finished` on a group. The group's join point
  /// would not do: it is skipped as soon as one member fails.
  private func addMembers(
    _ members: [String], _ need: DeclaredNeed, _ operation: OperationDeclaration, _ to: Int,
    _ seen: inout Set<Int>, _ needs: inout [[Int]], _ edges: inout [GroupEdge]
  ) {
    guard need.policy == .finished else {
      findings.error(
        "'\(operation.name)' cannot wait for the failure of the group '\(need.on.name)'",
        need.on.place,
        hint: members.first.map { "name an operation of it, such as '\($0)'" } ?? "")
      return
    }
    for member in members {
      guard let from = positions[member], seen.insert(from).inserted else { continue }
      needs[to].append(from)
      edges.append(GroupEdge(from: UInt32(from), to: UInt32(to), policy: .finished))
    }
  }

  /// Returns nil after a finding. A need of `finally` from outside of it would wait for itself in
  /// the end.
  private func position(of need: DeclaredNeed, for operation: OperationDeclaration) -> Int? {
    if need.on.name == operation.name {
      findings.error("'\(operation.name)' needs itself", need.on.place)
      return nil
    }
    guard let from = positions[need.on.name] else {
      findings.error(
        "unknown operation '\(need.on.name)' in the needs of '\(operation.name)'", need.on.place,
        hint: hint(for: need.on.name))
      return nil
    }
    if operations[from].isFinal, !operation.isFinal {
      findings.error(
        "'\(operation.name)' cannot need '\(need.on.name)' of 'finally'", need.on.place,
        hint: "that runs after everything else")
      return nil
    }
    return from
  }

  /// Returns a near name, or nothing after 100 findings: each hint searches all names.
  private func hint(for name: String) -> String {
    guard findings.diagnostics.count < 100 else { return "" }
    // Outside of a group, a member's name includes the group's name.
    // The suffix is what people forget most.
    if let member = operations.first(where: { $0.name.hasSuffix("." + name) }) {
      return "did you mean '\(member.name)'?"
    }
    return NearNames.hint(for: name, among: operations.lazy.map { $0.name })
  }

  /// Checks an element-wise need: both sides have the same number of elements and the same indices.
  private func checkMatch(
    _ need: DeclaredNeed, _ from: OperationDeclaration, _ to: OperationDeclaration
  ) {
    guard need.match == .sameIndex else { return }
    guard let one = from.elements, let other = to.elements else {
      let plain = from.elements == nil ? from.name : to.name
      findings.error("'same-index' needs two arrays, '\(plain)' is none", need.on.place)
      return
    }
    if one.count != other.count {
      findings.error(
        "'same-index' needs equal counts: '\(from.name)' has \(one.count) elements, "
          + "'\(to.name)' has \(other.count)", need.on.place)
    } else if Self.numbering(one) != Self.numbering(other) {
      findings.error(
        "'same-index' needs equal numbers: those of '\(from.name)' and '\(to.name)' differ",
        need.on.place)
    }
  }

  /// A range and a list of items may have the same numbers in another form.
  private static func numbering(_ columns: ElementColumns) -> [IndexRun] {
    columns.indexRuns.isEmpty ? [IndexRun(first: 1, count: columns.count)] : columns.indexRuns
  }

  /// One finding per circle, with its path as people read it: `a needs b needs a`.
  private func reportCycles(_ needs: [[Int]]) {
    for cycle in Cycles.find(needs: needs) {
      let names = (cycle + cycle.prefix(1)).map { operations[$0].name }
      let first = operations[cycle[0]]
      let next = operations[cycle[cycle.count > 1 ? 1 : 0]].name
      let place = first.needs.first { $0.on.name == next }?.on.place ?? first.place
      // A long circle shows its beginning and its end.
      let path =
        names.count > 12
        ? names.prefix(6).joined(separator: " needs ") + " … "
          + names.suffix(2).joined(
            separator: " needs ") : names.joined(separator: " needs ")
      findings.error("the operations wait for each other: \(path)", place)
    }
  }
}
