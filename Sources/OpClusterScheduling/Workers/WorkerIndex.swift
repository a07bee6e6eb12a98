// The workers as a tree of summaries: each leaf says what one worker can take and when it must be
// looked at, each inner node says the same of all workers below it. So a worker is chosen, and the
// next deadline found, without a walk over all. The leaves stand in the order of the numbers, so
// that the lowest number wins a tie.

import OpClusterModel

struct WorkerIndex: Sendable {
  /// A power of two: node 1 is the root, `width + position` a leaf; or 0 without any worker yet.
  private var width = 0
  private var nodes: [WorkerSummary] = []
  /// By position: the number of the worker; 0 if it has left.
  private var numbers: [UInt32] = []
  /// Looked up, never iterated.
  private var positions: [UInt32: Int] = [:]
  /// Counts the changes of what decides which classes fit at all.
  private(set) var version: UInt64 = 0
  /// Counts the changes of the workers that take work.
  private(set) var takersVersion: UInt64 = 0
  /// The time for which the summaries hold.
  var asOf = Instant.zero

  /// The summary of all workers.
  var whole: WorkerSummary { width == 0 ? WorkerSummary() : nodes[1] }

  subscript(number: UInt32) -> WorkerSummary? {
    positions[number].map { nodes[width + $0] }
  }

  // MARK: - Changes

  /// Forgets all workers; what was counted goes on.
  mutating func forgetAll() {
    (width, nodes, numbers, positions) = (0, [], [], [:])
    version += 1
    takersVersion += 1
  }

  /// So few are set one by one.
  static let few = 8

  /// Sets the summaries of workers, nil for those that have left. Costs a path to the root each, or
  /// one visit to each node if there are many.
  mutating func set(_ changes: [(number: UInt32, summary: WorkerSummary?)], _ looks: inout Int) {
    makeRoom(for: changes)
    let isBulk = changes.count > Self.few && changes.count * 4 > width
    for change in changes {
      looks += 1
      guard let position = position(of: change.number, isThere: change.summary != nil),
        setLeaf(position, change.number, change.summary), !isBulk
      else { continue }
      mergeAbove(position, &looks)
    }
    if isBulk { mergeAll() }
  }

  /// Sets the summary of one worker, nil if it has left. Costs a path to the root, as far as
  /// anything changes there.
  mutating func set(_ number: UInt32, _ summary: WorkerSummary?, _ looks: inout Int) {
    if numbers.count == width { makeRoom(for: [(number, summary)]) }
    looks += 1
    guard let position = position(of: number, isThere: summary != nil),
      setLeaf(position, number, summary)
    else { return }
    mergeAbove(position, &looks)
  }

  /// Whether the leaf has changed.
  private mutating func setLeaf(
    _ position: Int, _ number: UInt32, _ summary: WorkerSummary?
  ) -> Bool {
    if summary == nil {
      numbers[position] = 0
      positions[number] = nil
    }
    let summary = summary ?? WorkerSummary()
    let leaf = width + position
    if nodes[leaf] == summary { return false }
    if nodes[leaf].fitting != summary.fitting { version += 1 }
    if nodes[leaf].takers != summary.takers { takersVersion += 1 }
    nodes[leaf] = summary
    return true
  }

  private mutating func mergeAbove(_ position: Int, _ looks: inout Int) {
    var at = (width + position) / 2
    while at > 0 {
      looks += 1
      var merged = WorkerSummary()
      merged.merge(nodes[2 * at], nodes[2 * at + 1])
      if nodes[at] == merged { return }
      nodes[at] = merged
      at /= 2
    }
  }

  private mutating func mergeAll() {
    for at in (1..<max(width, 1)).reversed() { nodes[at].merge(nodes[2 * at], nodes[2 * at + 1]) }
  }

  /// The position of a worker; a new one stands behind all others. Nil if it came and left.
  private mutating func position(of number: UInt32, isThere: Bool) -> Int? {
    if let known = positions[number] { return known }
    if !isThere { return nil }
    numbers.append(number)
    positions[number] = numbers.count - 1
    return numbers.count - 1
  }

  /// Makes room for new workers. Amortised: at least as many workers have come or left as are
  /// moved.
  private mutating func makeRoom(for changes: [(number: UInt32, summary: WorkerSummary?)]) {
    let coming = changes.reduce(0) {
      $0 + ($1.summary != nil && positions[$1.number] == nil ? 1 : 0)
    }
    if numbers.count + coming <= width { return }
    let kept = numbers.filter { $0 != 0 }
    var leaves: [WorkerSummary] = kept.map { self[$0] ?? WorkerSummary() }
    var room = 2
    while room < 2 * (kept.count + coming) { room *= 2 }
    leaves += Array(repeating: WorkerSummary(), count: room - leaves.count)
    nodes = Array(repeating: WorkerSummary(), count: room) + leaves
    width = room
    numbers = kept
    positions = [:]
    for (position, number) in kept.enumerated() { positions[number] = position }
    mergeAll()
  }

  // MARK: - Searches

  /// The workers of all leaves that `admits` admits, ascending; it must admit every node above such
  /// a leaf.
  func workers(_ looks: inout Int, where admits: (WorkerSummary) -> Bool) -> [UInt32] {
    var found: [UInt32] = []
    if width > 0 { collect(below: 1, &looks, admits, &found) }
    return found
  }

  private func collect(
    below node: Int, _ looks: inout Int, _ admits: (WorkerSummary) -> Bool,
    _ found: inout [UInt32]
  ) {
    looks += 1
    guard admits(nodes[node]) else { return }
    if node < width {
      collect(below: 2 * node, &looks, admits, &found)
      collect(below: 2 * node + 1, &looks, admits, &found)
    } else if numbers.indices.contains(node - width), numbers[node - width] != 0 {
      found.append(numbers[node - width])
    }
  }

  /// The worker with the highest value, of several the one with the lowest number.
  ///
  /// - Parameters:
  ///   - bound: At least the value of every worker below a node; nil if none of them has any.
  ///   - value: The value of a worker; nil if it has none.
  func best<Value: Comparable>(
    _ looks: inout Int, bound: (WorkerSummary) -> Value?, value: (UInt32) -> Value?
  ) -> (number: UInt32, value: Value)? {
    guard width > 0, let first = bound(nodes[1]) else { return nil }
    var found: (position: Int, value: Value)?
    search(1, first, from: 0, width, &looks, bound, value, &found)
    return found.map { (numbers[$0.position], $0.value) }
  }

  private func search<Value: Comparable>(
    _ node: Int, _ most: Value, from first: Int, _ span: Int, _ looks: inout Int,
    _ bound: (WorkerSummary) -> Value?, _ value: (UInt32) -> Value?,
    _ found: inout (position: Int, value: Value)?
  ) {
    looks += 1
    if let found, most < found.value || (most == found.value && first > found.position) { return }
    if node >= width {
      guard first < numbers.count, numbers[first] != 0, let own = value(numbers[first]) else {
        return
      }
      if let found, own < found.value || (own == found.value && first > found.position) { return }
      found = (first, own)
      return
    }
    let (left, right) = (bound(nodes[2 * node]), bound(nodes[2 * node + 1]))
    let half = span / 2
    // The higher bound first, so that it excludes the other side.
    if let left, let right, left < right {
      search(2 * node + 1, right, from: first + half, half, &looks, bound, value, &found)
      search(2 * node, left, from: first, half, &looks, bound, value, &found)
      return
    }
    if let left { search(2 * node, left, from: first, half, &looks, bound, value, &found) }
    if let right {
      search(2 * node + 1, right, from: first + half, half, &looks, bound, value, &found)
    }
  }

  /// The number of workers that `includes` says yes to. A node whose workers `decides` knows to be
  /// alike is not looked into.
  func count(
    _ looks: inout Int, decides: (WorkerSummary) -> Bool?, includes: (UInt32) -> Bool
  ) -> UInt32 {
    width == 0 ? 0 : count(below: 1, &looks, decides, includes)
  }

  private func count(
    below node: Int, _ looks: inout Int, _ decides: (WorkerSummary) -> Bool?,
    _ includes: (UInt32) -> Bool
  ) -> UInt32 {
    looks += 1
    if let known = decides(nodes[node]) { return known ? nodes[node].takers : 0 }
    if node >= width { return includes(numbers[node - width]) ? 1 : 0 }
    return count(below: 2 * node, &looks, decides, includes)
      + count(below: 2 * node + 1, &looks, decides, includes)
  }

  /// What the workers of a pass hold, as far as no summary can tell.
  struct Pass {
    var rank: Rank
    var now: Instant
    var workers: WatchedRegistry<WorkerRecord>
    var conversations: WatchedRegistry<WorkerConversation>

    /// Whether a worker may hold a further operation ahead of time.
    func hasRoom(_ number: UInt32) -> Bool {
      workers[number].room(for: rank, within: conversations[number].prefetch(at: now)) > 0
    }
  }

  /// Raises a reach by what the workers take of a rank. A node that cannot raise it is not looked
  /// into.
  func raise(_ reach: inout DemandAmounts, in pass: Pass, _ looks: inout Int) {
    if width > 0 { raise(&reach, below: 1, pass, &looks) }
  }

  private func raise(
    _ reach: inout DemandAmounts, below node: Int, _ pass: Pass, _ looks: inout Int
  ) {
    looks += 1
    if nodes[node].takers == 0 || reach.cover(nodes[node].fitting.most) { return }
    if !nodes[node].mayReserve, nodes[node].room(for: pass.rank) == 0 {
      reach.raise(by: nodes[node].free)
      return reach.raise(by: nodes[node].withoutCPUs)
    }
    if node >= width {
      if nodes[node].mayReserve || pass.hasRoom(numbers[node - width]) {
        return reach.raise(by: nodes[node].fitting.most)
      }
      reach.raise(by: nodes[node].free)
      return reach.raise(by: nodes[node].withoutCPUs)
    }
    raise(&reach, below: 2 * node, pass, &looks)
    raise(&reach, below: 2 * node + 1, pass, &looks)
  }

  // MARK: - Checks

  /// The first node that is not the summary of those below it; nil if there is none.
  var brokenNode: Int? {
    guard width > 1 else { return nil }
    return (1..<width).first { node in
      var expected = WorkerSummary()
      expected.merge(nodes[2 * node], nodes[2 * node + 1])
      return expected != nodes[node]
    }
  }
}

/// The number of workers that could run a class, as long as neither changes.
struct EligibleWorkers: Sendable {
  var serial: UInt64
  var version: UInt64
  var count: UInt32

  func isCount(of serial: UInt64, at version: UInt64) -> Bool {
    self.serial == serial && self.version == version
  }
}
