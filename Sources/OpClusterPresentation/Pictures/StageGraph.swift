// A graph's stages and their dependencies, ready for drawing: edges between single operations
// become edges between their stages, each pair once.
// The number of edges shown is bounded by the answer, whatever the graph has.

public import OpClusterModel

/// The input of all drawings.
/// Built once per drawing; O(stages + edges).
public struct StageGraph: Sendable {
  struct Edge: Hashable, Sendable {
    var from: Int
    var to: Int
    var policy: EdgePolicy
    /// Element i waits for element i.
    var isSameIndex: Bool
  }
  let structure: GraphStructure
  let edges: [Edge]
  var stages: [GraphStructure.Stage] { structure.stages }

  public init(_ structure: GraphStructure) {
    self.structure = structure
    var edges: [Edge] = []
    var known: Set<[Int]> = []
    // The first edge of a pair wins; edges inside of a stage are not drawn.
    func add(_ edge: Edge) {
      guard structure.stages.indices.contains(edge.from),
        structure.stages.indices.contains(edge.to), edge.from != edge.to,
        known.insert([edge.from, edge.to]).inserted
      else { return }
      edges.append(edge)
    }
    for edge in structure.groupEdges {
      add(
        Edge(
          from: Int(edge.from), to: Int(edge.to), policy: edge.policy,
          isSameIndex: edge.match == .sameIndex))
    }
    let index = StageIndex(structure)
    let single = structure.elementEdges
    for at in 0..<min(single.from.count, single.to.count) {
      guard let from = index.stage(of: single.from[at]), let to = index.stage(of: single.to[at])
      else { continue }
      add(Edge(from: from, to: to, policy: single.safePolicy(at), isSameIndex: false))
    }
    self.edges = edges
  }

  /// A note if the drawing is incomplete; nil if it is complete.
  var incompleteness: String? {
    let shown = structure.elementEdges.from.count
    let all = Int(structure.elementEdgeCount)
    guard all > shown else { return nil }
    return "drawn from \(shownCount(shown)) of \(shownCount(all)) single dependencies"
  }

  /// The state of a stage: `312/400, 8 executing`; for a plain operation its state.
  /// Documents and boxes use the same words, so that they can be compared.
  func standing(_ stage: GraphStructure.Stage) -> String {
    guard let state = stageState(stage.counts) else { return "empty" }
    if stage.count == 1 { return state.rawValue }
    let done = "\(shownCount(stage.counts.finished))/\(shownCount(stage.count))"
    let inState = stage.counts[state]
    if inState == stage.count { return "\(done) \(state.rawValue)" }
    return "\(done), \(shownCount(inState)) \(state.rawValue)"
  }
}
