// What operations left that others like them need not do again, by what they did. Changed by facts.

import DequeModule
import OpClusterModel

/// The newest outcomes, bounded in number and bytes. Each method costs the same, however many there
/// are.
struct ReusableOutcomes: Sendable {
  private var outcomes: [ContentDigest: ReusableOutcome] = [:]
  /// The oldest first; some have been noted anew since, and stand further behind again.
  private var order: Deque<(key: ContentDigest, operation: OperationID)> = []
  private(set) var bytes = 0
  private let limits: (count: Int, bytes: Int)

  init(count: Int = Limits.reusableOutcomes, bytes: Int = Limits.reusableOutputBytes) {
    limits = (count, bytes)
  }

  var count: Int { outcomes.count }
  subscript(key: ContentDigest) -> ReusableOutcome? { outcomes[key] }

  /// The oldest first.
  var all: [ReusableOutcome] {
    order.compactMap { entry in
      outcomes[entry.key].flatMap { $0.operation == entry.operation ? $0 : nil }
    }
  }

  /// Notes the newest outcome of its key.
  mutating func note(_ outcome: ReusableOutcome) {
    if let before = outcomes.updateValue(outcome, forKey: outcome.key) {
      bytes -= before.output.count
      if before.operation == outcome.operation { order.removeAll { $0.key == outcome.key } }
    }
    bytes += outcome.output.count
    order.append((outcome.key, outcome.operation))
    while outcomes.count > limits.count || bytes > limits.bytes || order.count > 2 * limits.count {
      guard let oldest = order.popFirst() else { return }
      guard outcomes[oldest.key]?.operation == oldest.operation else { continue }
      bytes -= outcomes.removeValue(forKey: oldest.key)?.output.count ?? 0
    }
  }
}

extension ClusterState {
  /// Notes what an operation did that has just succeeded.
  mutating func makeReusable(_ id: OperationID, _ key: ContentDigest) {
    guard graphs.contains(id.graph.number), id.index < graphs[id.graph.number].operationCount else {
      return
    }
    graphs[id.graph.number].reuseKeys[id.index] = key
    // An output without room is not handed on.
    if lacksOutput(id) { return }
    let output = graphs[id.graph.number].outputs[id.index] ?? []
    reusable.note(ReusableOutcome(key: key, operation: id, output: output))
  }
}
