// A suspension of graphs, or a resumption, between its parts.

import OpClusterModel

struct SuspensionProgress: Sendable {
  let isSuspended: Bool
  let graphs: [GraphID]
  /// The position of the first of them that was not reached yet.
  var next = 0
  /// Graphs that were reached of which workers have operations.
  var handedOver: [GraphID] = []
  /// What the answer names if it runs then.
  var members: [OperationID] = []

  init(of graphs: [GraphID], _ isSuspended: Bool) {
    self.isSuspended = isSuspended
    self.graphs = graphs
  }

  var isComplete: Bool { next == graphs.count }

  /// Whether one of these was not reached yet; both ascend. Costs both, at most.
  func isLeft(anyOf others: [GraphID]) -> Bool {
    var (own, other) = (next, 0)
    while own < graphs.count, other < others.count {
      if graphs[own] == others[other] { return true }
      if graphs[own] < others[other] { own += 1 } else { other += 1 }
    }
    return false
  }
}
