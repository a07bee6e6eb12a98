// Digests that many operations of a graph have in common, reckoned once. A value; the scheduler
// drops those of a graph with it.

import OpClusterModel

/// Not durable: they follow from what has ended. Each method costs the same, however many there
/// are.
struct ReuseDigests: Sendable {
  private struct OfGraph: Sendable {
    // By stage; nil inside: it cannot be told.
    var common: [Int: ContentDigest?] = [:]
    var leavings: [Int: ContentDigest?] = [:]
    var outputs: [UInt32: ContentDigest] = [:]
  }
  private var graphs: [UInt32: OfGraph] = [:]

  func common(_ graph: UInt32, _ stage: Int) -> ContentDigest?? { graphs[graph]?.common[stage] }
  func leavings(_ graph: UInt32, _ stage: Int) -> ContentDigest?? {
    graphs[graph]?.leavings[stage]
  }
  func output(of id: OperationID) -> ContentDigest? {
    graphs[id.graph.number]?.outputs[id.index]
  }

  mutating func noteCommon(_ digest: ContentDigest?, _ graph: UInt32, _ stage: Int) {
    graphs[graph, default: OfGraph()].common.updateValue(digest, forKey: stage)
  }
  mutating func noteLeavings(_ digest: ContentDigest?, _ graph: UInt32, _ stage: Int) {
    graphs[graph, default: OfGraph()].leavings.updateValue(digest, forKey: stage)
  }
  mutating func noteOutput(_ digest: ContentDigest, of id: OperationID) {
    graphs[id.graph.number, default: OfGraph()].outputs[id.index] = digest
  }

  mutating func forget(_ ended: [GraphID]) {
    if graphs.isEmpty { return }
    for graph in ended { graphs[graph.number] = nil }
  }

  var isEmpty: Bool { graphs.isEmpty }
}
