// The edges between whole templates of a submission, by pair. An edge between two operations may be
// one of them already, or contradict it (S30). Sorted by counting, without a hash: a submission may
// have hundreds of thousands of them, and is looked at in one turn.

import OpClusterModel

struct TemplateEdges {
  /// All edges of one pair of templates, of which there are two ways of matching.
  private struct Pair {
    let from: UInt32
    let policy: EdgePolicy
    /// Whether each operation of the one waits for each of the other.
    var connectsAll: Bool
  }

  /// The pairs by the template that waits, and then by the one it waits for.
  private var pairs: [Pair] = []
  /// The end of each waiting template's pairs; empty if there are none.
  private var ends: [UInt32] = []
  /// The position of the first edge whose templates an earlier one connects with another policy.
  private(set) var conflict: Int?
  /// Whether each edge connects what no earlier edge, and no wider one, connects.
  private(set) var isNeeded: [Bool] = []
  /// The index of the first operation of each template, and the number of operations at the end.
  private let firsts: [UInt32]
  /// The templates that were found last: edges mostly come in their order.
  private var last = (from: 0, to: 0)

  /// Expects edges between templates of the submission. Of a pair with several policies the first
  /// counts. Costs the edges and the templates.
  init(_ submission: GraphSubmission) {
    firsts = submission.firstIndices
    let edges = submission.groupEdges
    if edges.isEmpty { return }
    let templates = submission.templates.count
    var order = Array(edges.indices)
    order.sort(below: templates) { edges[$0].from }
    order.sort(below: templates) { edges[$0].to }
    pairs.reserveCapacity(edges.count)
    ends = Array(repeating: 0, count: templates)
    isNeeded = Array(repeating: false, count: edges.count)
    var rest = order[...]
    while let first = rest.first {
      let same = rest.prefix {
        edges[$0].from == edges[first].from && edges[$0].to == edges[first].to
      }
      connect(same, of: edges)
      rest = rest.dropFirst(same.count)
    }
    for at in ends.indices.dropFirst() { ends[at] = max(ends[at], ends[at - 1]) }
  }

  /// Adds the edges of one pair, which come in the order of addition.
  private mutating func connect(_ same: ArraySlice<Int>, of edges: [GroupEdge]) {
    let first = edges[same[same.startIndex]]
    let whole = same.first { edges[$0].match == .all }
    pairs.append(Pair(from: first.from, policy: first.policy, connectsAll: whole != nil))
    ends[Int(first.to)] = UInt32(pairs.count)
    isNeeded[whole ?? same[same.startIndex]] = true
    if let other = same.first(where: { edges[$0].policy != first.policy }) {
      conflict = min(other, conflict ?? other)
    }
  }

  /// Returns the policy with which one operation waits for another because their templates are
  /// connected; nil if it does not. Expects indices of the submission. Costs the logarithm of the
  /// templates and of the edges.
  mutating func policy(from: UInt32, to: UInt32) -> EdgePolicy? {
    if pairs.isEmpty { return nil }
    last = (template(of: from, near: last.from), template(of: to, near: last.to))
    guard let pair = pair(from: last.from, to: last.to) else { return nil }
    let isSameElement = from - firsts[last.from] == to - firsts[last.to]
    return pair.connectsAll || isSameElement ? pair.policy : nil
  }

  private func pair(from: Int, to: Int) -> Pair? {
    var (low, high) = (to == 0 ? 0 : Int(ends[to - 1]), Int(ends[to]))
    while low < high {
      let middle = (low + high) / 2
      if pairs[middle].from == from { return pairs[middle] }
      if pairs[middle].from < from { low = middle + 1 } else { high = middle }
    }
    return nil
  }

  private func template(of operation: UInt32, near guess: Int) -> Int {
    let isThere = firsts[guess] <= operation && operation < firsts[guess + 1]
    return isThere ? guess : firsts.lastIndex(notAbove: operation)
  }
}

extension [Int] {
  /// Sorts by keys from 0 to below `bound`; what has the same key stays in its order. Costs the
  /// elements and the keys.
  fileprivate mutating func sort(below bound: Int, by key: (Int) -> UInt32) {
    var places = Array(repeating: 0, count: bound)
    for element in self { places[Int(key(element))] += 1 }
    var total = 0
    for at in places.indices {
      let own = places[at]
      places[at] = total
      total += own
    }
    var sorted = self
    for element in self {
      sorted[places[Int(key(element))]] = element
      places[Int(key(element))] += 1
    }
    self = sorted
  }
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
