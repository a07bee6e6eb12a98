// Which operations edges of living graphs lead to from other graphs, so that the contents of their
// outputs stay although their own graphs have ended. Follows from the edges alone.

import OpClusterModel

/// Counts edges. Each method costs the same, however many there are.
struct Citations: Sendable {
  private(set) var counts: [OperationID: UInt32] = [:]

  func contains(_ id: OperationID) -> Bool { !counts.isEmpty && counts[id] != nil }

  /// True: it is the first edge from there.
  mutating func noteEdge(from id: OperationID) -> Bool {
    counts[id, default: 0] += 1
    return counts[id] == 1
  }

  /// True: it was the last one.
  mutating func forgetEdge(from id: OperationID) -> Bool {
    guard let count = counts[id] else { return false }
    counts[id] = count > 1 ? count - 1 : nil
    return count == 1
  }
}

extension ClusterState {
  /// Notes an edge of a living graph from an operation of any graph.
  mutating func cite(_ id: OperationID) {
    guard citations.noteEdge(from: id), let output = endedContents(of: id) else { return }
    pins.pinAll(output.contents, copies: output.replicas)
  }

  /// Forgets such an edge.
  mutating func uncite(_ id: OperationID) {
    guard citations.forgetEdge(from: id), let output = endedContents(of: id) else { return }
    pins.unpinAll(output.contents, copies: output.replicas)
  }

  /// Forgets all such edges of a graph that has left. Costs those.
  mutating func unciteAll(of graph: Graph) {
    // Holders are told in this order, which must not come from hashing.
    for index in graph.extraDependencies.keys.sorted() {
      for extra in graph.extraDependencies[index] ?? [] { uncite(extra.on) }
    }
  }

  /// The contents that the output of an operation names, and in how many stores they are to lie;
  /// nil while its own graph lives, which keeps them by itself.
  func endedContents(
    of id: OperationID
  ) -> (contents: [StoredContent], replicas: UInt8)? {
    guard let known = ended[id.graph], let output = known.output(of: id.index) else { return nil }
    return (OperationOutput.contents(of: output), known.replicas(of: id.index))
  }
}
