// The lines of all queues as trees of summaries, one for each quality of service: each leaf says
// what waits in one line, each inner node the same of all lines below it. So the next queue of a
// rotation whose line may have something for a worker is found without a walk over all queues. The
// leaves stand in the order of the numbers, which is that of the rotation. Kept by
// `LineSummaries`, read by `Assignment`.

/// What waits in one line, or in any of several.
struct LineSummary: Equatable, Sendable {
  /// The number of lines in which something waits whose queue has room.
  var lines: UInt32 = 0
  /// The minimum of the demands.
  var least = DemandAmounts.nothing
  /// Whether a worker that has not changed may take something of it.
  var isAwake = false
  /// Whether the bounds of its service say nothing about it: its queue has operations at workers
  /// that what waits goes before. (What the workers of a pool take is within what all take.)
  var isPeculiar = false

  fileprivate mutating func merge(_ one: LineSummary, _ other: LineSummary) {
    lines = one.lines + other.lines
    least = one.least
    least.lower(by: other.least)
    isAwake = one.isAwake || other.isAwake
    isPeculiar = one.isPeculiar || other.isPeculiar
  }
}

struct LineIndex: Sendable {
  /// By position: the number of the queue, ascending; some have been removed since.
  private var numbers: [UInt32] = []
  /// By position: the service in whose tree its leaf is.
  private var services: [UInt8] = []
  /// A power of two, at least the number of positions; or 0.
  private var width = 0
  /// By service, empty until it is used: node 1 is the root, `width + position` a leaf.
  private var trees: [[LineSummary]] = Array(repeating: [], count: Rank.services)
  private static let none = UInt8.max

  var hasAwake: Bool { trees.contains { !$0.isEmpty && $0[1].isAwake } }

  /// The summary of all lines of a service.
  func whole(_ service: Int) -> LineSummary {
    trees[service].isEmpty ? LineSummary() : trees[service][1]
  }

  /// The summary of one queue's line, and the service under which it is served.
  subscript(number: UInt32) -> (service: Int, summary: LineSummary)? {
    guard let position = position(of: number), services[position] != Self.none else { return nil }
    let service = Int(services[position])
    return (service, trees[service][width + position])
  }

  // MARK: - Changes

  /// Sets the summary of a queue's line, nil if it is not served. Costs a path to the root, as far
  /// as anything changes there, and more for a queue that was never served before.
  ///
  /// - Parameter queues: All queues.
  mutating func set(
    _ number: UInt32, _ service: Int?, _ summary: LineSummary, among queues: WatchedRegistry<Queue>
  ) {
    if service != nil { cover(number, queues) }
    guard let position = position(of: number) else { return }
    let before = services[position]
    services[position] = service.map { UInt8($0) } ?? Self.none
    if before != Self.none, Int(before) != service {
      setLeaf(position, Int(before), LineSummary())
    }
    guard let service else { return }
    if trees[service].isEmpty {
      trees[service] = Array(repeating: LineSummary(), count: 2 * width)
    }
    setLeaf(position, service, summary)
  }

  private mutating func setLeaf(_ position: Int, _ service: Int, _ summary: LineSummary) {
    var at = width + position
    if trees[service][at] == summary { return }
    trees[service][at] = summary
    at /= 2
    while at > 0 {
      var merged = LineSummary()
      merged.merge(trees[service][2 * at], trees[service][2 * at + 1])
      if trees[service][at] == merged { return }
      trees[service][at] = merged
      at /= 2
    }
  }

  /// Found by a binary search.
  private func position(of number: UInt32) -> Int? {
    let position = firstPosition(after: number) - 1
    return position >= 0 && numbers[position] == number ? position : nil
  }

  private func firstPosition(after number: UInt32) -> Int {
    if let last = numbers.last, last <= number { return numbers.count }
    var (low, high) = (0, numbers.count)
    while low < high {
      let middle = (low + high) / 2
      if numbers[middle] <= number { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Gives positions to a queue and to all before it. Amortised: each queue gets one once, and at
  /// least as many were given or have gone as are moved.
  private mutating func cover(_ number: UInt32, _ queues: WatchedRegistry<Queue>) {
    while numbers.last.map({ $0 < number }) ?? true {
      let next = queues.numbers(after: numbers.last, limit: Self.positionsAtOnce)
        .prefix { $0 <= number }
      if next.isEmpty { return }
      numbers += next
      services += Array(repeating: Self.none, count: next.count)
    }
    if numbers.count > width { makeRoom(queues) }
  }
  private static let positionsAtOnce = 64

  private mutating func makeRoom(_ queues: WatchedRegistry<Queue>) {
    let kept = numbers.indices.filter { queues.contains(numbers[$0]) }
    var room = 2
    while room < 2 * kept.count { room *= 2 }
    for service in trees.indices where !trees[service].isEmpty {
      var tree = Array(repeating: LineSummary(), count: 2 * room)
      for (position, old) in kept.enumerated() where width + old < trees[service].count {
        tree[room + position] = trees[service][width + old]
      }
      for at in (1..<room).reversed() { tree[at].merge(tree[2 * at], tree[2 * at + 1]) }
      trees[service] = tree
    }
    (numbers, services) = (kept.map { numbers[$0] }, kept.map { services[$0] })
    width = room
  }

  // MARK: - Searches

  /// The first queue of a service behind another one, in rotation, whose line `admits` admits; it
  /// must admit every node above such a leaf.
  func next(
    after number: UInt32, _ service: Int, _ steps: inout Int, where admits: (LineSummary) -> Bool
  ) -> UInt32? {
    if trees[service].isEmpty { return nil }
    let lead = firstPosition(after: number)
    let found =
      first(service, 1, 0, width, from: lead, &steps, admits)
      ?? first(service, 1, 0, width, from: 0, &steps, admits)
    return found.map { numbers[$0] }
  }

  private func first(
    _ service: Int, _ node: Int, _ start: Int, _ span: Int, from lead: Int, _ steps: inout Int,
    _ admits: (LineSummary) -> Bool
  ) -> Int? {
    if start + span <= lead { return nil }
    steps += 1
    guard trees[service][node].lines > 0, admits(trees[service][node]) else { return nil }
    if node >= width { return start }
    let half = span / 2
    return first(service, 2 * node, start, half, from: lead, &steps, admits)
      ?? first(service, 2 * node + 1, start + half, half, from: lead, &steps, admits)
  }

  // MARK: - Checks

  /// The first node that is not the summary of those below it; nil if there is none.
  var brokenNode: Int? {
    for tree in trees where !tree.isEmpty {
      for node in 1..<width {
        var expected = LineSummary()
        expected.merge(tree[2 * node], tree[2 * node + 1])
        if expected != tree[node] { return node }
      }
    }
    return nil
  }
}
