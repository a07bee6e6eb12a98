// Converts a submission's edges to the form that the graph uses: edges between single operations as
// tables, edges between stages as a short list. A stage edge stays one entry whatever the number of
// elements; as single edges two arrays of a thousand would make a million. `GraphPlan` counts
// blockers by the one and gates by the other.

import OpClusterModel

struct LoweredEdges {
  /// Only edges that are not between two plain operations.
  var groupEdges: [GroupEdge] = []
  var dependents = EdgeTable()
  var dependencies = EdgeTable()
  /// Whether every edge leads to a higher index.
  var ascend = true

  /// Drops duplicates (S30). Expects an admitted submission and its edges between templates. Costs
  /// the edges, times the logarithm of the templates if templates are connected, and the
  /// operations.
  init(_ submission: GraphSubmission, _ templateEdges: TemplateEdges) {
    if submission.elementEdges.from.isEmpty, submission.groupEdges.isEmpty { return }
    let firsts = submission.firstIndices
    var edges = submission.elementEdges
    if edges.policies.count == 1 {
      edges.policies = Array(repeating: edges.policies[0], count: edges.count)
    }
    // An edge between two operations whose templates are connected is there already. Earlier
    // releases accepted another policy, of which the journal may still tell.
    var connected = templateEdges
    if !submission.groupEdges.isEmpty {
      edges.keep { connected.policy(from: $0, to: $1) != $2 }
    }
    for (at, edge) in submission.groupEdges.enumerated() where connected.isNeeded[at] {
      let (from, to) = (Int(edge.from), Int(edge.to))
      // Both matches mean the same between two single operations.
      if submission.templates[from].count == 1 && submission.templates[to].count == 1 {
        edges.from.append(firsts[from])
        edges.to.append(firsts[to])
        edges.policies.append(edge.policy)
      } else {
        groupEdges.append(edge)
      }
    }
    ascend =
      zip(edges.from, edges.to).allSatisfy { $0 < $1 } && groupEdges.allSatisfy { $0.from < $0.to }
    dependencies = EdgeTable(
      operations: Int(firsts[firsts.count - 1]), keys: edges.to, values: edges.from, edges: edges)
    dependencies.keepFirstOfEach()
    dependents = dependencies.inverted(operations: Int(firsts[firsts.count - 1]))
  }
}

extension ElementEdges {
  /// Keeps the edges for which `isWanted` holds, in place; the policies are one for each.
  fileprivate mutating func keep(
    _ isWanted: (_ from: UInt32, _ to: UInt32, _ policy: EdgePolicy) -> Bool
  ) {
    var kept = 0
    for edge in from.indices where isWanted(from[edge], to[edge], policies[edge]) {
      from[kept] = from[edge]
      to[kept] = to[edge]
      policies[kept] = policies[edge]
      kept += 1
    }
    from.removeLast(from.count - kept)
    to.removeLast(to.count - kept)
    policies.removeLast(policies.count - kept)
  }
}

extension GraphSubmission {
  /// Whether the submission has any dependency.
  var hasEdges: Bool {
    !elementEdges.from.isEmpty || !groupEdges.isEmpty || !externalEdges.isEmpty
  }
}
