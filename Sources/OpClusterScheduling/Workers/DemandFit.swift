// Decides which worker could ever run an operation (S61, S128), and computes the maximum that the
// workers of a pass could still take: the bounds for searches in the line (`ClassTree`).

import OpClusterModel

extension Scheduler {
  /// Whether a worker could ever run operations of a class.
  func fits(_ worker: UInt32, _ demandClass: Int) -> Bool {
    let kind = classes[demandClass].kind
    guard conversations[worker].capacity.covers(classes[demandClass].demandClass.demand) else {
      return false
    }
    if kind < DemandClasses.comparedKinds {
      guard kind < conversations[worker].serves.count, conversations[worker].serves[kind] else {
        return false
      }
    } else if !classes.kind(kind).isServed(
      labels: conversations[worker].labels, types: conversations[worker].types)
    {
      return false
    }
    let serial = classes[demandClass].serial
    return
      (conversations[worker].lacks.isEmpty || conversations[worker].lacks[demandClass] != serial)
      && (conversations[worker].withheld.isEmpty
        || conversations[worker].withheld[demandClass] != serial)
  }

  /// Compares a worker with every kind again, after its hello.
  mutating func compareWithKinds(_ worker: UInt32) {
    conversations[worker].serves = []
    conversations[worker].kindBits = 0
    conversations[worker].lacks = [:]
    for kind in 0..<classes.kindSlots { compare(worker, withKind: kind) }
  }

  mutating func compare(_ worker: UInt32, withKind kind: Int) {
    let bit = classes.bit(ofKind: kind)
    guard kind < DemandClasses.comparedKinds else {
      // Compared on demand.
      if bit != DemandClasses.insideBit { conversations[worker].kindBits |= bit }
      return
    }
    let isServed = classes.kind(kind).isServed(
      labels: conversations[worker].labels, types: conversations[worker].types)
    while conversations[worker].serves.count <= kind { conversations[worker].serves.append(false) }
    // Also if false: the slot may have had another kind, which the worker served.
    conversations[worker].serves[kind] = isServed
    if bit == DemandClasses.insideBit { return }
    if classes.hasOwnBit(kind: kind) { conversations[worker].kindBits &= ~bit }
    if isServed { conversations[worker].kindBits |= bit }
  }

  // MARK: - Reach

  /// The maximum that any worker of the pass could take. Demands beyond it fit nowhere; demands
  /// within it may fit.
  func reach(of candidates: [UInt32], for rank: Rank, at now: Instant) -> Reach {
    let none = DemandAmounts(cpus: 0, memory: 0, gpus: 0, kinds: DemandClasses.insideBit)
    var reach = Reach(now: none, ever: none)
    for number in candidates {
      let (capacity, kinds) = (conversations[number].capacity, conversations[number].kindBits)
      reach.ever.raise(by: capacity, kinds: kinds)
      let free = free(number)
      if takesAny(number, free, rank, at: now) {
        reach.now.raise(by: capacity, kinds: kinds)
      } else if conversations[number].reservation == nil {
        reach.now.raise(by: free, kinds: kinds)
      }
    }
    return reach
  }

  /// Whether a worker takes any operation that it could ever run: ahead of time, or by a
  /// reservation.
  private func takesAny(
    _ worker: UInt32, _ free: Resources, _ rank: Rank, at now: Instant
  ) -> Bool {
    workers[worker].held == 0 && free.cpus > .zero || room(at: worker, for: rank, at: now) > 0
  }

  /// Whether no worker of the pass has enough of the named resources that a class demands, so that
  /// nothing of its kind fits.
  func lacksNamed(
    _ demandClass: Int, _ candidates: [UInt32], _ rank: Rank, at now: Instant
  ) -> Bool {
    let wanted = classes[demandClass].demandClass.demand.custom
    if wanted.isEmpty || !classes.hasOwnBit(kind: classes[demandClass].kind) { return false }
    return !candidates.contains { number in
      let free = free(number)
      return takesAny(number, free, rank, at: now)
        || wanted.allSatisfy { $0.amount <= free.amount(named: $0.name) }
    }
  }
}

/// The findings of one pass; nothing becomes free during it.
struct AssignmentPass: Sendable {
  /// Counts the passes.
  var number: UInt64 = 0
  /// The workers that take new work.
  var workers: [UInt32] = []
  /// Counts the changes of these workers or of their properties.
  var workersVersion: UInt64 = 0
  private var conversations: UInt32 = 0
  private var earlier: [UInt32] = []
  /// The remaining reach of these workers by rank, as far as computed since the last change.
  var reach: [Rank: Reach] = [:]
  /// By demand class: the pass in which no worker could take any more of it.
  private var fullIn: [UInt64] = []
  /// The kinds that fit nowhere in this pass, by bit.
  var closedKinds: UInt64 = 0
  /// The pools of queues that have one. Looked up, never iterated.
  private var pools: [UInt32: [UInt32]] = [:]
  /// The total number of visited queues and classes, including tree nodes on the way.
  var steps = 0

  /// The workers of a queue's pool, computed once per pass; nil: the queue has none, and takes any.
  mutating func pool(
    of queue: UInt32, _ settings: QueueSettings, _ find: ([UInt32]) -> [UInt32]
  ) -> [UInt32]? {
    if settings.pool.isEmpty { return nil }
    if let known = pools[queue] { return known }
    let found = find(workers)
    pools[queue] = found
    return found
  }

  func isFull(_ demandClass: Int) -> Bool {
    demandClass < fullIn.count && fullIn[demandClass] == number
  }

  mutating func noteFull(_ demandClass: Int) {
    while fullIn.count <= demandClass { fullIn.append(0) }
    fullIn[demandClass] = number
  }

  mutating func begin() {
    number += 1
    if !pools.isEmpty { pools.removeAll() }
    reach.removeAll(keepingCapacity: true)
    closedKinds = 0
    swap(&workers, &earlier)
    workers.removeAll(keepingCapacity: true)
  }

  /// Compares the workers with those of the previous pass; call it after naming all.
  mutating func compareWorkers(conversations: UInt32) {
    if workers != earlier || conversations != self.conversations { workersVersion += 1 }
    self.conversations = conversations
  }
}

extension ClusterState {
  /// The properties of a class that a line needs.
  func lineClass(_ number: Int) -> LineClass {
    let (serial, kind) = (classes[number].serial, classes[number].kind)
    let demand = classes[number].demandClass.demand
    return LineClass(
      number: number, serial: serial,
      amounts: DemandAmounts(
        cpus: demand.cpus.tenThousandths, memory: demand.memoryBytes,
        gpus: demand.gpus.tenThousandths, kinds: classes.bit(ofKind: kind)))
  }

  // MARK: - Classes come and go

  /// The number of a template's demand class; registers one more stage for it.
  mutating func useClass(of template: OperationTemplate) -> Int {
    let (number, newKind) = classes.use(template)
    if let newKind { newKinds.append(newKind) }
    return number
  }

  mutating func releaseClasses(of graph: Graph) {
    for stage in graph.stages {
      classes.release(stage.demandClass)
      if let own = stage.ownClass { classes.release(own) }
    }
  }
}
