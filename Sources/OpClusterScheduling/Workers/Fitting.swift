// Which worker could ever run which operation (S61, S128), and the most that the workers of a pass
// could still take: bounds by which the line finds the first that fits (`ClassTree`).

import OpClusterModel

extension Scheduler {
  /// Whether a worker could ever run operations of a class.
  func fits(_ seat: UInt32, _ demandClass: Int) -> Bool {
    let kind = classes[demandClass].kind
    guard seats[seat].capacity.covers(classes[demandClass].demandClass.demand) else { return false }
    if kind < DemandClasses.comparedKinds {
      guard kind < seats[seat].serves.count, seats[seat].serves[kind] else { return false }
    } else if !classes.kind(kind).isServed(
      labels: seats[seat].labels, types: seats[seat].types)
    {
      return false
    }
    let serial = classes[demandClass].serial
    return (seats[seat].lacks.isEmpty || seats[seat].lacks[demandClass] != serial)
      && (seats[seat].withheld.isEmpty || seats[seat].withheld[demandClass] != serial)
  }

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
    if let newKind {
      for seat in seats.numbers { compare(seat, withKind: newKind) }
    }
    return number
  }

  mutating func releaseClasses(of graph: Graph) {
    for stage in graph.stages {
      classes.release(stage.demandClass)
      if let own = stage.ownClass { classes.release(own) }
    }
  }

  /// A worker says what it is: compared with every kind anew.
  mutating func compareWithKinds(_ seat: UInt32) {
    seats[seat].serves = []
    seats[seat].kindBits = 0
    seats[seat].lacks = [:]
    for kind in 0..<classes.kindSlots { compare(seat, withKind: kind) }
  }

  private mutating func compare(_ seat: UInt32, withKind kind: Int) {
    let bit = classes.bit(ofKind: kind)
    guard kind < DemandClasses.comparedKinds else {
      // Looked at when it is asked for.
      if bit != DemandClasses.insideBit { seats[seat].kindBits |= bit }
      return
    }
    let isServed = classes.kind(kind).isServed(
      labels: seats[seat].labels, types: seats[seat].types)
    while seats[seat].serves.count <= kind { seats[seat].serves.append(false) }
    // The slot may have been that of a kind which it served.
    seats[seat].serves[kind] = isServed
    if bit == DemandClasses.insideBit { return }
    if classes.hasOwnBit(kind: kind) { seats[seat].kindBits &= ~bit }
    if isServed { seats[seat].kindBits |= bit }
  }

  // MARK: - Reach

  /// The most that any worker of the pass could take. What is beyond it fits nowhere; what is
  /// within it may.
  func reach(of candidates: [UInt32], for rank: Rank, at now: Instant) -> Reach {
    let none = DemandAmounts(cpus: 0, memory: 0, gpus: 0, kinds: DemandClasses.insideBit)
    var reach = Reach(now: none, ever: none)
    for number in candidates {
      let (capacity, kinds) = (seats[number].capacity, seats[number].kindBits)
      reach.ever.raise(by: capacity, kinds: kinds)
      let free = Seat.free(capacity, seats[number].taken)
      if takesAny(number, free, rank, at: now) {
        reach.now.raise(by: capacity, kinds: kinds)
      } else if seats[number].reservation == nil {
        reach.now.raise(by: free, kinds: kinds)
      }
    }
    return reach
  }

  /// Whether a worker takes whatever it could ever run: ahead of time, or keeping its room for it.
  private func takesAny(
    _ seat: UInt32, _ free: Resources, _ rank: Rank, at now: Instant
  ) -> Bool {
    seats[seat].held == 0 && free.cpus > .zero || seats[seat].room(for: rank, at: now) > 0
  }

  /// Whether no worker of the pass has enough left of the named resources that a class asks for, so
  /// that nothing of its kind fits.
  func lacksNamed(
    _ demandClass: Int, _ candidates: [UInt32], _ rank: Rank, at now: Instant
  ) -> Bool {
    let wanted = classes[demandClass].demandClass.demand.custom
    if wanted.isEmpty || !classes.hasOwnBit(kind: classes[demandClass].kind) { return false }
    return !candidates.contains { number in
      let free = Seat.free(seats[number].capacity, seats[number].taken)
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
  var seats: [UInt32] = []
  /// Counts how often these were others, or what they are has changed.
  var seatsVersion: UInt64 = 0
  private var conversations: UInt32 = 0
  private var earlier: [UInt32] = []
  /// What these could still take of each rank, as far as was asked since that changed.
  var reach: [Rank: Reach] = [:]
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
    let found = find(seats)
    pools[queue] = found
    return found
  }

  mutating func begin() {
    number += 1
    if !pools.isEmpty { pools.removeAll() }
    reach.removeAll(keepingCapacity: true)
    closedKinds = 0
    swap(&seats, &earlier)
    seats.removeAll(keepingCapacity: true)
  }

  /// All seats have been named.
  mutating func compareSeats(conversations: UInt32) {
    if seats != earlier || conversations != self.conversations { seatsVersion += 1 }
    self.conversations = conversations
  }
}
