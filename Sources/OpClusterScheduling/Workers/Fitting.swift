// Which worker could ever run which operation (S61, S128), and the most that the workers of a pass
// could still take: bounds by which the line finds the first that fits (`ClassTree`).

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

  /// A worker says what it is: compared with every kind anew.
  mutating func compareWithKinds(_ worker: UInt32) {
    conversations[worker].serves = []
    conversations[worker].kindBits = 0
    conversations[worker].lacks = [:]
    for kind in 0..<classes.kindSlots { compare(worker, withKind: kind) }
  }

  mutating func compare(_ worker: UInt32, withKind kind: Int) {
    let bit = classes.bit(ofKind: kind)
    guard kind < DemandClasses.comparedKinds else {
      // Looked at when it is asked for.
      if bit != DemandClasses.insideBit { conversations[worker].kindBits |= bit }
      return
    }
    let isServed = classes.kind(kind).isServed(
      labels: conversations[worker].labels, types: conversations[worker].types)
    while conversations[worker].serves.count <= kind { conversations[worker].serves.append(false) }
    // The slot may have been that of a kind which it served.
    conversations[worker].serves[kind] = isServed
    if bit == DemandClasses.insideBit { return }
    if classes.hasOwnBit(kind: kind) { conversations[worker].kindBits &= ~bit }
    if isServed { conversations[worker].kindBits |= bit }
  }

  // MARK: - Reach

  /// The most that any worker of the pass could take. What is beyond it fits nowhere; what is
  /// within it may.
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

  /// Whether a worker takes whatever it could ever run: ahead of time, or keeping its room for it.
  private func takesAny(
    _ worker: UInt32, _ free: Resources, _ rank: Rank, at now: Instant
  ) -> Bool {
    workers[worker].held == 0 && free.cpus > .zero || room(at: worker, for: rank, at: now) > 0
  }

  /// Whether no worker of the pass has enough left of the named resources that a class asks for, so
  /// that nothing of its kind fits.
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

/// What one pass has learned: nothing becomes free while it lasts.
struct AssignmentPass: Sendable {
  /// Counts the passes.
  var number: UInt64 = 0
  /// Workers that take new work.
  var workers: [UInt32] = []
  /// Counts how often these were others, or what they are has changed.
  var workersVersion: UInt64 = 0
  private var conversations: UInt32 = 0
  private var earlier: [UInt32] = []
  /// What these could still take of each rank, as far as was asked since that changed.
  var reach: [Rank: Reach] = [:]
  /// By demand class: the pass in which it was found that no worker can take any of it.
  private var fullIn: [UInt64] = []
  /// Kinds that nothing fits of in this pass, by bit.
  var closedKinds: UInt64 = 0
  /// Of queues that have one. Looked up, never iterated.
  private var pools: [UInt32: [UInt32]] = [:]
  /// Queues and classes looked at since the beginning, and nodes of trees on the way to them.
  var steps = 0

  /// The workers of a queue's pool, found once in a pass; nil: the queue has none, and takes any.
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

  /// All workers have been named.
  mutating func compareWorkers(conversations: UInt32) {
    if workers != earlier || conversations != self.conversations { workersVersion += 1 }
    self.conversations = conversations
  }
}

extension ClusterState {
  /// What a line needs to know of a class.
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

  /// The number of a template's demand class, which one stage more uses.
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
