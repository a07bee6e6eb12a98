// Converts a submission's edges to the form that the graph uses: edges between single operations as
// tables, edges between stages as a short list. A stage edge stays one entry whatever the number of
// elements; as single edges two arrays of a thousand would make a million. `GraphLifetime` counts
// blockers by the one and gates by the other.

import OpClusterModel

struct LoweredEdges {
  /// Only edges that are not between two plain operations.
  var groupEdges: [GroupEdge] = []
  var dependents = EdgeTable()
  var dependencies = EdgeTable()

  /// Drops duplicates (S30). Expects an admitted submission. Costs the edges and the operations; a
  /// set of all pairs lives as long as this runs.
  init(_ submission: GraphSubmission) {
    if submission.elementEdges.from.isEmpty, submission.groupEdges.isEmpty { return }
    let firsts = submission.firstIndices
    var edges = submission.elementEdges
    if edges.policies.count == 1 {
      edges.policies = Array(repeating: edges.policies[0], count: edges.count)
    }
    var seen: Set<GroupPair> = []
    for edge in submission.groupEdges {
      let pair = GroupPair(from: edge.from, to: edge.to, match: edge.match)
      if !seen.insert(pair).inserted { continue }
      let from = submission.templates[Int(edge.from)]
      let to = submission.templates[Int(edge.to)]
      // Both matches mean the same between two single operations.
      if from.count == 1 && to.count == 1 {
        edges.from.append(firsts[Int(edge.from)])
        edges.to.append(firsts[Int(edge.to)])
        edges.policies.append(edge.policy)
      } else {
        groupEdges.append(edge)
      }
    }
    edges.dropDuplicates()
    dependencies = EdgeTable(
      operations: Int(firsts[firsts.count - 1]), keys: edges.to, values: edges.from, edges: edges)
    dependents = dependencies.inverted(operations: Int(firsts[firsts.count - 1]))
  }

  private struct GroupPair: Hashable {
    var from: UInt32
    var to: UInt32
    var match: GroupEdge.Match
  }
}

extension ElementEdges {
  /// Keeps the first of equal pairs, in place.
  fileprivate mutating func dropDuplicates() {
    var seen: Set<UInt64> = []
    seen.reserveCapacity(count)
    var kept = 0
    for edge in from.indices {
      let pair = UInt64(from[edge]) << 32 | UInt64(to[edge])
      if !seen.insert(pair).inserted { continue }
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
