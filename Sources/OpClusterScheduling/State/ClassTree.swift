// One level of a line: its demand classes with their runs, as a tree in the order of their first
// places. Each node stores the minimum of the demands below it, so that a search for the first
// class that fits skips subtrees that cannot fit. The tree is a treap whose shape depends only on
// the order of additions.
//
// A class is awake from an addition until a pass has found that no worker takes it. Then it sleeps:
// only a worker that has changed since can take it, and a search compares it with no other.

import HeapModule
import OpClusterModel

/// The properties of a demand class that a line needs.
struct LineClass: Sendable {
  var number: Int
  /// Distinguishes the class from an earlier one with the same number (`DemandClasses`).
  var serial: UInt64
  var amounts: DemandAmounts
}

/// Amounts and kinds: of one class, the minimum of several, or the maximum that workers still take.
struct DemandAmounts: Hashable, Sendable {
  var cpus: Int64
  var memory: Int64
  var gpus: Int64
  /// One bit for each kind (`DemandClasses.bit`).
  var kinds: UInt64

  /// Whether `demand` is within these bounds, so that it may fit.
  @inline(__always)
  func admit(_ demand: DemandAmounts) -> Bool {
    demand.cpus <= cpus && demand.memory <= memory && demand.gpus <= gpus
      && demand.kinds & kinds != 0
  }

  @inline(__always)
  mutating func raise(by capacity: Resources, kinds more: UInt64) {
    cpus = max(cpus, capacity.cpus.tenThousandths)
    memory = max(memory, capacity.memoryBytes)
    gpus = max(gpus, capacity.gpus.tenThousandths)
    kinds |= more
  }

  @inline(__always)
  mutating func raise(by other: DemandAmounts) {
    cpus = max(cpus, other.cpus)
    memory = max(memory, other.memory)
    gpus = max(gpus, other.gpus)
    kinds |= other.kinds
  }

  /// Whether nothing in `other` is beyond these bounds.
  @inline(__always)
  func cover(_ other: DemandAmounts) -> Bool {
    other.cpus <= cpus && other.memory <= memory && other.gpus <= gpus
      && other.kinds & ~kinds == 0
  }

  /// The reach without any worker: admits operations inside the coordinator.
  static let inside = DemandAmounts(
    cpus: 0, memory: 0, gpus: 0, kinds: DemandClasses.insideBit)
  /// The reach of no worker: admits nothing.
  static let nothingFree = DemandAmounts(cpus: .min, memory: .min, gpus: .min, kinds: 0)
  /// The demand of no class: admitted by nothing, and lowers nothing.
  static let nothing = DemandAmounts(cpus: .max, memory: .max, gpus: .max, kinds: 0)

  @inline(__always)
  mutating func lower(by other: DemandAmounts) {
    cpus = min(cpus, other.cpus)
    memory = min(memory, other.memory)
    gpus = min(gpus, other.gpus)
    kinds |= other.kinds
  }
}

/// The maximum that workers take of what waits in one level of a line. Each bound may come from a
/// different worker.
struct LineReach: Equatable, Sendable {
  /// Of all workers: for classes that are awake.
  var all: DemandAmounts
  /// Of those that have changed since the others refused what sleeps.
  var fresh: FreshReach
  /// The maximum of all workers as long as they stay the same. What is beyond it rests, so that
  /// no search meets it.
  var ever: DemandAmounts
  /// Whether all workers count for classes that sleep as well (`Line.wakesAll`).
  fileprivate(set) var wakesAll = false

  init(all: DemandAmounts, fresh: FreshReach, ever: DemandAmounts) {
    (self.all, self.fresh, self.ever) = (all, fresh, ever)
  }

  /// The same for a line of which nobody knows what fits.
  func wakingAll(_ wakesAll: Bool) -> LineReach {
    var reach = self
    reach.wakesAll = wakesAll
    return reach
  }

  /// Whether anything of a subtree may fit.
  @inline(__always)
  fileprivate func admits(_ least: DemandAmounts, _ leastAwake: DemandAmounts) -> Bool {
    all.admit(wakesAll ? least : leastAwake) || fresh.admit(least)
  }
}

/// The maxima of a few workers, each of its own: what one has of cpus and another of memory is
/// nothing together. Workers that are alike count once.
struct FreshReach: Equatable, Sendable {
  private var first = DemandAmounts.nothingFree
  private var others: [DemandAmounts] = []
  /// Bounds beyond these are merged.
  private static let most = 4

  mutating func widen(by bounds: DemandAmounts) {
    if first.cover(bounds) || others.contains(where: { $0.cover(bounds) }) { return }
    if bounds.cover(first) { first = bounds } else { others.append(bounds) }
    others.removeAll { first.cover($0) }
    if others.count == Self.most { first.raise(by: others.removeLast()) }
  }

  @inline(__always)
  func admit(_ demand: DemandAmounts) -> Bool {
    first.admit(demand) || !others.isEmpty && others.contains { $0.admit(demand) }
  }
}

struct ClassTree: Sendable {
  enum Home: Sendable {
    case tree
    /// Nothing of the class fits in this pass.
    case aside
    /// No connected worker could ever run it.
    case resting
    case free
  }

  struct Node: Sendable {
    var demandClass: LineClass
    /// The place of its first run, if it has one.
    var place: UInt64
    var runs: Heap<ReadyRun>
    var home = Home.tree
    fileprivate var isAwake = true
    fileprivate var left: Int32 = -1
    fileprivate var right: Int32 = -1
    /// The treap priority: higher ones are nearer to the root.
    fileprivate var rank: UInt32 = 0
    /// The minimum demands of the node and of all nodes below it.
    fileprivate var least: DemandAmounts
    /// The same of those that are awake.
    fileprivate var leastAwake: DemandAmounts
  }

  private var nodes = PagedArray<Node>()
  private var freeNodes: [Int32] = []
  private var root: Int32 = -1
  /// The node of each class. Looked up, never iterated.
  private var numbers = PartitionedDictionary<Int, Int32>()
  /// Nodes that were set aside; some may have returned since.
  private var aside: [Int32] = []
  private var resting: [Int32] = []
  /// Nodes that lost their last run; removed at the next use of the line.
  private var emptied: [Int32] = []
  private var additions: UInt32 = 0

  var count: Int { nodes.count - freeNodes.count }
  var hasEmptied: Bool { !emptied.isEmpty }

  subscript(node: Int32) -> Node { _read { yield nodes[Int(node)] } }

  // MARK: - Runs

  /// Adds runs of one class, the lowest place first. Returns the number of runs that were removed,
  /// because their class no longer exists.
  mutating func add(_ runs: some Collection<ReadyRun>, of demandClass: LineClass) -> Int {
    guard let first = runs.first else { return 0 }
    let gone = add(first, of: demandClass)
    if runs.count > 1, let node = numbers[demandClass.number] {
      nodes[Int(node)].runs.insert(contentsOf: runs.dropFirst())
    }
    return gone
  }

  private mutating func add(_ run: ReadyRun, of demandClass: LineClass) -> Int {
    guard let known = numbers[demandClass.number] else {
      numbers[demandClass.number] = insert(run, demandClass)
      return 0
    }
    if nodes[Int(known)].demandClass.serial != demandClass.serial {
      // The number had an earlier class, of which nothing stands in line any more.
      if nodes[Int(known)].home == .tree { unlink(known) }
      let gone = nodes[Int(known)].runs.count
      nodes[Int(known)].demandClass = demandClass
      nodes[Int(known)].runs = [run]
      nodes[Int(known)].place = run.place
      nodes[Int(known)].home = .tree
      nodes[Int(known)].isAwake = true
      link(known)
      return gone
    }
    nodes[Int(known)].runs.insert(run)
    rekey(known)
    wake(known)
    return 0
  }

  private mutating func insert(_ run: ReadyRun, _ demandClass: LineClass) -> Int32 {
    additions &+= 1
    let node = Node(
      demandClass: demandClass, place: run.place, runs: [run], rank: Self.rank(additions),
      least: demandClass.amounts, leastAwake: demandClass.amounts)
    let number: Int32
    if let free = freeNodes.popLast() {
      number = free
      nodes[Int(free)] = node
    } else {
      number = Int32(nodes.count)
      nodes.append(node)
    }
    link(number)
    return number
  }

  /// A pseudo-random treap priority, always the same for the same addition.
  private static func rank(_ addition: UInt32) -> UInt32 {
    var mixed = addition &* 0x9E37_79B9
    mixed = (mixed ^ (mixed >> 16)) &* 0x85EB_CA6B
    mixed = (mixed ^ (mixed >> 13)) &* 0xC2B2_AE35
    return mixed ^ (mixed >> 16)
  }

  /// Removes the first run of a node.
  mutating func removeFirstRun(of node: Int32) {
    nodes[Int(node)].runs.removeMin()
    if nodes[Int(node)].runs.isEmpty { emptied.append(node) } else { rekey(node) }
  }

  mutating func replaceFirstRun(of node: Int32, with run: ReadyRun) {
    nodes[Int(node)].runs.replaceMin(with: run)
    rekey(node)
  }

  /// Moves a node to the position of its first run.
  private mutating func rekey(_ node: Int32) {
    guard let place = nodes[Int(node)].runs.min?.place, place != nodes[Int(node)].place else {
      return
    }
    guard nodes[Int(node)].home == .tree else {
      nodes[Int(node)].place = place
      return
    }
    unlink(node)
    nodes[Int(node)].place = place
    link(node)
  }

  // MARK: - Looking

  /// The node with the lowest place that `reach` admits. Sets visited nodes to rest if they exceed
  /// the capacity of all workers and are many.
  mutating func first(within reach: LineReach, _ steps: inout Int) -> Int32? {
    var hopeless: [Int32] = []
    let found = first(within: reach, below: root, &steps, &hopeless)
    // Few lie on the way to what was found: taking them out, and in again once the workers change,
    // costs the square of that way. Many are met where one class wants too much of this, the next
    // too much of that, so that the minimum of both promises what neither can keep.
    if hopeless.count > Self.hopelessOnTheWay {
      for node in hopeless { setAside(node, resting: true) }
    }
    return found < 0 ? nil : found
  }

  /// More than the way to a node of a tree of a million classes, which is 40 nodes long or a little
  /// more.
  private static var hopelessOnTheWay: Int { 64 }

  private func first(
    within reach: LineReach, below node: Int32, _ steps: inout Int, _ hopeless: inout [Int32]
  ) -> Int32 {
    guard node >= 0 else { return -1 }
    steps += 1
    let at = Int(node)
    guard reach.admits(nodes[at].least, nodes[at].leastAwake) else { return -1 }
    let before = first(within: reach, below: nodes[at].left, &steps, &hopeless)
    if before >= 0 { return before }
    let amounts = nodes[at].demandClass.amounts
    if reach.admits(amounts, nodes[at].isAwake ? amounts : .nothing) { return node }
    if !reach.ever.admit(amounts) { hopeless.append(node) }
    return first(within: reach, below: nodes[at].right, &steps, &hopeless)
  }

  /// The minimum of what stands in the tree.
  var least: DemandAmounts { root < 0 ? .nothing : nodes[Int(root)].least }
  /// Whether a class is awake.
  var hasAwake: Bool { root >= 0 && nodes[Int(root)].leastAwake.kinds != 0 }

  /// The node with the lowest place in the tree.
  var leftmost: Int32? {
    guard root >= 0 else { return nil }
    var node = root
    while nodes[Int(node)].left >= 0 { node = nodes[Int(node)].left }
    return node
  }

  /// Nodes outside of the tree; may contain a node twice.
  var outside: [Int32] { (aside + resting).filter { isOutside($0) } }

  private func isOutside(_ node: Int32) -> Bool {
    nodes[Int(node)].home == .aside || nodes[Int(node)].home == .resting
  }

  /// Calls `body` for every run with the class of its node, in unspecified order.
  func forEachRun(_ body: (ReadyRun, LineClass) -> Void) {
    nodes.forEach { node in
      if node.home == .free { return }
      for run in node.runs.unordered { body(run, node.demandClass) }
    }
  }

  /// Calls `body` for some of the runs, `apart` from each other.
  ///
  /// - Parameter passed: The number of runs before them, carried from tree to tree.
  func forEachRun(
    everyOther apart: Int, _ passed: inout Int, _ body: (ReadyRun, LineClass) -> Void
  ) {
    nodes.forEach { node in
      if node.home == .free { return }
      let runs = node.runs.unordered
      var at = (apart - passed % apart) % apart
      while at < runs.count {
        body(runs[at], node.demandClass)
        at += apart
      }
      passed += runs.count
    }
  }

  // MARK: - Coming and going

  mutating func setAside(_ node: Int32, resting isResting: Bool) {
    guard nodes[Int(node)].home == .tree else { return }
    unlink(node)
    nodes[Int(node)].home = isResting ? .resting : .aside
    if isResting { resting.append(node) } else { aside.append(node) }
  }

  private mutating func wake(_ node: Int32) {
    if nodes[Int(node)].isAwake { return }
    nodes[Int(node)].isAwake = true
    if nodes[Int(node)].home == .tree { refresh(from: root, to: node) }
  }

  /// Makes the nodes on the way to a node again.
  private mutating func refresh(from at: Int32, to node: Int32) {
    if at != node {
      let isLeft = isBefore(node, at)
      refresh(from: isLeft ? nodes[Int(at)].left : nodes[Int(at)].right, to: node)
    }
    update(at)
  }

  /// Puts everything to sleep. Visits only what is awake, and the way to it.
  mutating func fallAsleep() {
    for node in aside { nodes[Int(node)].isAwake = false }
    fallAsleep(root)
  }

  private mutating func fallAsleep(_ node: Int32) {
    guard node >= 0, nodes[Int(node)].leastAwake.kinds != 0 else { return }
    fallAsleep(nodes[Int(node)].left)
    fallAsleep(nodes[Int(node)].right)
    nodes[Int(node)].isAwake = false
    nodes[Int(node)].leastAwake = .nothing
  }

  /// Returns the nodes that were set aside to the tree.
  mutating func returnAside() {
    if aside.isEmpty { return }
    for node in aside where nodes[Int(node)].home == .aside { comeBack(node) }
    aside.removeAll(keepingCapacity: true)
  }

  mutating func wakeResting() {
    if resting.isEmpty { return }
    for node in resting where nodes[Int(node)].home == .resting {
      nodes[Int(node)].isAwake = true
      comeBack(node)
    }
    resting.removeAll()
  }

  var hasResting: Bool { !resting.isEmpty }
  var hasAside: Bool { !aside.isEmpty }

  private mutating func comeBack(_ node: Int32) {
    nodes[Int(node)].home = .tree
    link(node)
  }

  mutating func removeEmptied() {
    if emptied.isEmpty { return }
    for node in emptied where nodes[Int(node)].home != .free && nodes[Int(node)].runs.isEmpty {
      if nodes[Int(node)].home == .tree { unlink(node) }
      let number = nodes[Int(node)].demandClass.number
      if numbers[number] == node { numbers[number] = nil }
      nodes[Int(node)].home = .free
      nodes[Int(node)].runs = []
      freeNodes.append(node)
    }
    emptied.removeAll(keepingCapacity: true)
    if count == 0 { self = ClassTree() }
  }

  // MARK: - The tree

  private func isBefore(_ a: Int32, _ b: Int32) -> Bool {
    let (one, other) = (nodes[Int(a)].place, nodes[Int(b)].place)
    return one == other ? a < b : one < other
  }

  private mutating func update(_ node: Int32) {
    let at = Int(node)
    var least = nodes[at].demandClass.amounts
    var awake = nodes[at].isAwake ? least : .nothing
    let (left, right) = (Int(nodes[at].left), Int(nodes[at].right))
    if left >= 0 {
      least.lower(by: nodes[left].least)
      awake.lower(by: nodes[left].leastAwake)
    }
    if right >= 0 {
      least.lower(by: nodes[right].least)
      awake.lower(by: nodes[right].leastAwake)
    }
    nodes[at].least = least
    nodes[at].leastAwake = awake
  }

  private mutating func link(_ node: Int32) {
    nodes[Int(node)].left = -1
    nodes[Int(node)].right = -1
    root = link(node, below: root)
  }

  private mutating func link(_ node: Int32, below at: Int32) -> Int32 {
    if at < 0 || nodes[Int(node)].rank > nodes[Int(at)].rank {
      let (left, right) = split(at, before: node)
      nodes[Int(node)].left = left
      nodes[Int(node)].right = right
      update(node)
      return node
    }
    if isBefore(node, at) {
      let left = link(node, below: nodes[Int(at)].left)
      nodes[Int(at)].left = left
    } else {
      let right = link(node, below: nodes[Int(at)].right)
      nodes[Int(at)].right = right
    }
    update(at)
    return at
  }

  /// Splits a subtree into the nodes before `node` and the others.
  private mutating func split(_ at: Int32, before node: Int32) -> (Int32, Int32) {
    if at < 0 { return (-1, -1) }
    if isBefore(at, node) {
      let (left, right) = split(nodes[Int(at)].right, before: node)
      nodes[Int(at)].right = left
      update(at)
      return (at, right)
    }
    let (left, right) = split(nodes[Int(at)].left, before: node)
    nodes[Int(at)].left = right
    update(at)
    return (left, at)
  }

  private mutating func unlink(_ node: Int32) {
    root = unlink(node, below: root)
  }

  private mutating func unlink(_ node: Int32, below at: Int32) -> Int32 {
    guard at >= 0 else { preconditionFailure("demand \(node) is not in the tree") }
    if at == node { return merge(nodes[Int(at)].left, nodes[Int(at)].right) }
    if isBefore(node, at) {
      let left = unlink(node, below: nodes[Int(at)].left)
      nodes[Int(at)].left = left
    } else {
      let right = unlink(node, below: nodes[Int(at)].right)
      nodes[Int(at)].right = right
    }
    update(at)
    return at
  }

  private mutating func merge(_ left: Int32, _ right: Int32) -> Int32 {
    if left < 0 { return right }
    if right < 0 { return left }
    if nodes[Int(left)].rank > nodes[Int(right)].rank {
      let below = merge(nodes[Int(left)].right, right)
      nodes[Int(left)].right = below
      update(left)
      return left
    }
    let below = merge(left, nodes[Int(right)].left)
    nodes[Int(right)].left = below
    update(right)
    return right
  }
}
