// Decides which worker could ever run an operation (S61, S128), and computes the maximum that the
// workers of a pass could still take: the bounds for searches in the line (`ClassTree`).

import OpClusterModel

extension Scheduler {
  /// Whether a worker could ever run operations of a class.
  func fits(_ worker: UInt32, _ demandClass: Int) -> Bool {
    let kind = classes[demandClass].kind
    guard conversations[worker].isLargeEnough(for: classes[demandClass].demandClass.demand) else {
      return false
    }
    if kind < DemandClasses.comparedKinds {
      guard kind < conversations[worker].serves.count, conversations[worker].serves[kind] else {
        return false
      }
    } else if !classes.kind(kind).isServed(
      labels: conversations[worker].labels, types: conversations[worker].types,
      room: conversations[worker].roomForOne)
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
    conversations[worker].servedBits = 0
    conversations[worker].kindBits = 0
    conversations[worker].lacks = [:]
    for kind in 0..<classes.kindSlots { compare(worker, withKind: kind) }
    if workerPools.count > 0 { workerPools.compare(worker, conversations[worker].labels) }
  }

  /// Compares it with the kinds that want named resources, after a change of what it has.
  mutating func compareWithNamed(_ worker: UInt32) {
    for kind in 0..<classes.kindSlots where !classes.kind(kind).custom.isEmpty {
      compare(worker, withKind: kind)
    }
  }

  mutating func compare(_ worker: UInt32, withKind kind: Int) {
    let bit = classes.bit(ofKind: kind)
    guard kind < DemandClasses.comparedKinds else {
      // Compared on demand.
      if bit != DemandClasses.insideBit { conversations[worker].kindBits |= bit }
      return
    }
    let isServed = classes.kind(kind).isServed(
      labels: conversations[worker].labels, types: conversations[worker].types,
      room: conversations[worker].roomForOne)
    if !isServed {
      // Not touched, so that a kind that few workers serve renews few summaries.
      let served = conversations[worker].serves
      let hasBit = classes.hasOwnBit(kind: kind) && conversations[worker].kindBits & bit != 0
      if !hasBit, kind >= served.count || !served[kind] { return }
    }
    while conversations[worker].serves.count <= kind { conversations[worker].serves.append(false) }
    // Also if false: the slot may have had another kind, which the worker served.
    conversations[worker].serves[kind] = isServed
    if kind < DemandClasses.exactKinds {
      conversations[worker].servedBits &= ~(1 << UInt64(kind))
      if isServed { conversations[worker].servedBits |= 1 << UInt64(kind) }
    }
    if bit == DemandClasses.insideBit { return }
    if classes.hasOwnBit(kind: kind) { conversations[worker].kindBits &= ~bit }
    if isServed { conversations[worker].kindBits |= bit }
  }

  // MARK: - Reach

  /// The maximum that any of these workers could take. Visits each of them.
  func reachAmong(
    _ candidates: some Sequence<UInt32>, for rank: Rank, at now: Instant
  ) -> DemandAmounts {
    var reach = DemandAmounts.inside
    for number in candidates {
      let (capacity, kinds) = (conversations[number].capacity, conversations[number].kindBits)
      let free = free(number)
      if takesAny(number, free, rank, at: now) {
        reach.raise(by: conversations[number].roomForOne, kinds: kinds)
        continue
      }
      reach.raise(by: free, kinds: kinds)
      if workers[number].assigned == 0 {
        reach.raise(by: reservableWithoutCPUs(of: capacity, free), kinds: kinds)
      }
    }
    return reach
  }

  /// Whether a worker takes any operation with cpus that it could ever run: ahead of time, or by a
  /// reservation.
  func takesAny(
    _ worker: UInt32, _ free: Resources, _ rank: Rank, at now: Instant
  ) -> Bool {
    if workers[worker].assigned == 0, free.cpus > .zero { return true }
    return room(at: worker, for: rank, at: now) > 0
  }

  /// Whether a worker keeps its room for an operation that does not fit yet, so that small ones do
  /// not starve it: nothing else waits there. Where all cpus, or all of what an operation without
  /// cpus wants, are taken, nothing is kept: others may be free earlier.
  func reserves(_ worker: UInt32, _ free: Resources, for demand: Resources) -> Bool {
    guard workers[worker].assigned == 0 else { return false }
    if demand.cpus > .zero { return free.cpus > .zero }
    return (demand.memoryBytes == 0 || free.memoryBytes > 0)
      && (demand.gpus == .zero || free.gpus > .zero)
      && demand.custom.allSatisfy { free.amount(named: $0.name) > .zero }
  }

  /// The most of an operation without cpus for which a worker keeps its room while nothing waits
  /// there.
  func reservableWithoutCPUs(of capacity: Resources, _ free: Resources) -> Resources {
    Resources(
      cpus: .zero, memoryBytes: free.memoryBytes > 0 ? capacity.memoryBytes : 0,
      gpus: free.gpus > .zero ? capacity.gpus : .zero)
  }

  /// Whether no worker of the pass has enough of the named resources that a class demands, so that
  /// nothing of its kind fits.
  mutating func lacksNamed(_ demandClass: Int, _ rank: Rank, at now: Instant) -> Bool {
    let demand = classes[demandClass].demandClass.demand
    let wanted = demand.custom
    if wanted.isEmpty || !classes.hasOwnBit(kind: classes[demandClass].kind) { return false }
    looks += workers.count
    return !workers.numbers.contains { number in
      guard takesWork(number) else { return false }
      let free = free(number)
      return room(at: number, for: rank, at: now) > 0 || reserves(number, free, for: demand)
        || wanted.allSatisfy { $0.amount <= free.amount(named: $0.name) }
    }
  }
}
