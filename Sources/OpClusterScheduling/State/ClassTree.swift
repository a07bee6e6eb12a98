// One level of a line: the demand classes that stand in it, each with its runs, as a tree in the
// order of their first places. Each node knows the least of the demands below it, so that the first
// that fits is found without looking at those that cannot: a treap, whose shape depends on nothing
// but the order of additions.

import HeapModule
import OpClusterModel

/// A demand class as a line needs to know it.
struct LineClass: Sendable {
  var number: Int
  /// Tells it from another that had the number before (`DemandClasses`).
  var serial: UInt64
  var amounts: DemandAmounts
}

/// Amounts and kinds: of one class, the least of several, or the most that workers still take.
struct DemandAmounts: Hashable, Sendable {
  var cpus: Int64
  var memory: Int64
  var gpus: Int64
  /// One bit for each kind (`DemandClasses.bit`).
  var kinds: UInt64

  /// Whether something of `demand` may fit, for all that the bounds say.
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
  mutating func lower(by other: DemandAmounts) {
    cpus = min(cpus, other.cpus)
    memory = min(memory, other.memory)
    gpus = min(gpus, other.gpus)
    kinds |= other.kinds
  }
}

/// What the workers of a pass take at most: bounds, each of which may be another worker's.
struct Reach: Sendable {
  var now: DemandAmounts
  /// While they are the same workers.
  var ever: DemandAmounts
}

struct ClassTree: Sendable {
  enum Home: Sendable {
    case tree
    /// Nothing of it fits in this pass.
    case aside
    /// No worker that is there could ever run it.
    case resting
    case free
  }

  struct Node: Sendable {
    var demandClass: LineClass
    /// Of its first run, where it has any.
    var place: UInt64
    var runs: Heap<ReadyRun>
    var home = Home.tree
    fileprivate var left: Int32 = -1
    fileprivate var right: Int32 = -1
    /// Higher ones are nearer to the root.
    fileprivate var rank: UInt32 = 0
    /// Of the node and all below it.
    fileprivate var least: DemandAmounts
  }

  private var nodes: [Node] = []
  private var freeNodes: [Int32] = []
  private var root: Int32 = -1
  /// By class. Looked up, never iterated.
  private var numbers: [Int: Int32] = [:]
  /// Nodes that were put there; some may have left since.
  private var aside: [Int32] = []
  private var resting: [Int32] = []
  /// Nodes that lost their last run; removed when the line is next looked at.
  private var emptied: [Int32] = []
  private var additions: UInt32 = 0

  var count: Int { nodes.count - freeNodes.count }
  var hasEmptied: Bool { !emptied.isEmpty }

  subscript(node: Int32) -> Node { _read { yield nodes[Int(node)] } }

  // MARK: - Runs

  /// Returns how many runs went because nothing of their class can stand in line any more.
  mutating func add(_ run: ReadyRun, of demandClass: LineClass) -> Int {
    guard let known = numbers[demandClass.number] else {
      numbers[demandClass.number] = insert(run, demandClass)
      return 0
    }
    if nodes[Int(known)].demandClass.serial != demandClass.serial {
      // Nothing of the class that had the number before stands in line.
      if nodes[Int(known)].home == .tree { unlink(known) }
      let gone = nodes[Int(known)].runs.count
      nodes[Int(known)].demandClass = demandClass
      nodes[Int(known)].runs = [run]
      nodes[Int(known)].place = run.place
      nodes[Int(known)].home = .tree
      link(known)
      return gone
    }
    nodes[Int(known)].runs.insert(run)
    rekey(known)
    return 0
  }

  private mutating func insert(_ run: ReadyRun, _ demandClass: LineClass) -> Int32 {
    additions &+= 1
    let node = Node(
      demandClass: demandClass, place: run.place, runs: [run], rank: Self.rank(additions),
      least: demandClass.amounts)
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

  /// The same for the same addition, and like chance from one to the next.
  private static func rank(_ addition: UInt32) -> UInt32 {
    var mixed = addition &* 0x9E37_79B9
    mixed = (mixed ^ (mixed >> 16)) &* 0x85EB_CA6B
    mixed = (mixed ^ (mixed >> 13)) &* 0xC2B2_AE35
    return mixed ^ (mixed >> 16)
  }

  /// Takes the first run of a node out.
  mutating func removeFirstRun(of node: Int32) {
    nodes[Int(node)].runs.removeMin()
    if nodes[Int(node)].runs.isEmpty { emptied.append(node) } else { rekey(node) }
  }

  mutating func replaceFirstRun(of node: Int32, with run: ReadyRun) {
    nodes[Int(node)].runs.replaceMin(with: run)
    rekey(node)
  }

  /// Puts a node where its first run belongs.
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

  /// The node with the lowest place that `reach` admits now. What is met on the way and is beyond
  /// everything that workers have is laid to rest.
  mutating func first(within reach: Reach, _ steps: inout Int) -> Int32? {
    var hopeless: [Int32] = []
    let found = first(within: reach, below: root, &steps, &hopeless)
    for node in hopeless { setAside(node, resting: true) }
    return found < 0 ? nil : found
  }

  private func first(
    within reach: Reach, below node: Int32, _ steps: inout Int, _ hopeless: inout [Int32]
  ) -> Int32 {
    guard node >= 0 else { return -1 }
    steps += 1
    guard reach.now.admit(nodes[Int(node)].least) else { return -1 }
    let before = first(within: reach, below: nodes[Int(node)].left, &steps, &hopeless)
    if before >= 0 { return before }
    if reach.now.admit(nodes[Int(node)].demandClass.amounts) { return node }
    if !reach.ever.admit(nodes[Int(node)].demandClass.amounts) { hopeless.append(node) }
    return first(within: reach, below: nodes[Int(node)].right, &steps, &hopeless)
  }

  /// The node with the lowest place of all in the tree.
  var leftmost: Int32? {
    guard root >= 0 else { return nil }
    var node = root
    while nodes[Int(node)].left >= 0 { node = nodes[Int(node)].left }
    return node
  }

  /// Nodes outside of the tree; those that came back to it may be among them, or twice.
  var outside: [Int32] { (aside + resting).filter { isOutside($0) } }

  private func isOutside(_ node: Int32) -> Bool {
    nodes[Int(node)].home == .aside || nodes[Int(node)].home == .resting
  }

  /// Every run with the class of its node, in no order that counts.
  func forEachRun(_ body: (ReadyRun, LineClass) -> Void) {
    for node in nodes where node.home != .free {
      for run in node.runs.unordered { body(run, node.demandClass) }
    }
  }

  // MARK: - Coming and going

  mutating func setAside(_ node: Int32, resting isResting: Bool) {
    guard nodes[Int(node)].home == .tree else { return }
    unlink(node)
    nodes[Int(node)].home = isResting ? .resting : .aside
    if isResting { resting.append(node) } else { aside.append(node) }
  }

  /// What was set aside is looked at again.
  mutating func returnAside() {
    if aside.isEmpty { return }
    for node in aside where nodes[Int(node)].home == .aside { comeBack(node) }
    aside.removeAll(keepingCapacity: true)
  }

  mutating func wakeResting() {
    if resting.isEmpty { return }
    for node in resting where nodes[Int(node)].home == .resting { comeBack(node) }
    resting.removeAll()
  }

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
    if nodes[at].left >= 0 { least.lower(by: nodes[Int(nodes[at].left)].least) }
    if nodes[at].right >= 0 { least.lower(by: nodes[Int(nodes[at].right)].least) }
    nodes[at].least = least
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

  /// What stands before a node, and what stands behind it.
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
