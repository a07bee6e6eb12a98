// The edges between whole templates of a submission, by pair. An edge between two operations may be
// one of them already, or contradict it (S30).

import OpClusterModel

struct TemplateEdges {
  private struct Known {
    let policy: EdgePolicy
    /// Whether each operation of the one waits for each of the other.
    var connectsAll: Bool
  }

  private var byPair: [UInt64: Known] = [:]
  /// The index of the first operation of each template, and the number of operations at the end.
  private let firsts: [UInt32]
  /// The templates that were found last: edges mostly come in their order.
  private var last = (from: 0, to: 0)

  init(_ submission: GraphSubmission) { firsts = submission.firstIndices }

  /// Adds an edge. Returns false if its templates are connected with another policy; they may be
  /// connected in both ways of matching.
  mutating func connect(_ edge: GroupEdge) -> Bool {
    guard let known = byPair[edge.pair] else {
      byPair[edge.pair] = Known(policy: edge.policy, connectsAll: edge.match == .all)
      return true
    }
    byPair[edge.pair]?.connectsAll = known.connectsAll || edge.match == .all
    return known.policy == edge.policy
  }

  /// Whether another edge of the same pair connects what this edge connects, and more.
  func isContained(_ edge: GroupEdge) -> Bool {
    edge.match == .sameIndex && byPair[edge.pair]?.connectsAll == true
  }

  /// Returns the policy with which one operation waits for another because their templates are
  /// connected; nil if it does not. Expects indices of the submission. Costs the logarithm of the
  /// templates, and a step if the templates are those of the last call.
  mutating func policy(from: UInt32, to: UInt32) -> EdgePolicy? {
    if byPair.isEmpty { return nil }
    last = (template(of: from, near: last.from), template(of: to, near: last.to))
    guard let known = byPair[UInt64(last.from) << 32 | UInt64(last.to)] else { return nil }
    let isSameElement = from - firsts[last.from] == to - firsts[last.to]
    return known.connectsAll || isSameElement ? known.policy : nil
  }

  private func template(of operation: UInt32, near guess: Int) -> Int {
    let isThere = firsts[guess] <= operation && operation < firsts[guess + 1]
    return isThere ? guess : firsts.lastIndex(notAbove: operation)
  }
}

extension GroupEdge {
  fileprivate var pair: UInt64 { UInt64(from) << 32 | UInt64(to) }
}

extension [UInt32] {
  /// The last place whose value is not above `value`; the values ascend from 0. Costs the logarithm
  /// of their number.
  func lastIndex(notAbove value: UInt32) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle] <= value { low = middle + 1 } else { high = middle }
    }
    return low - 1
  }
}
