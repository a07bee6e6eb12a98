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

  /// The bits of the kinds that a worker serves, without those whose named resources are in use.
  /// Costs the kinds with named resources that it serves.
  func kindsWithRoom(_ worker: UInt32, _ free: Resources) -> UInt64 {
    var bits = conversations[worker].kindBits
    if conversations[worker].namedWants.isEmpty { return bits }
    for want in conversations[worker].namedWants where !want.isMet(by: free) {
      if !sharesBit(want.kind, at: worker) { bits &= ~DemandClasses.bit(of: want.kind) }
    }
    return bits
  }

  /// Whether a worker may serve another kind with the same bit.
  private func sharesBit(_ kind: Int, at worker: UInt32) -> Bool {
    if blurredKindBits & DemandClasses.bit(of: kind) != 0 { return true }
    let served = conversations[worker].serves
    return stride(from: kind % 63, to: served.count, by: 63).contains { $0 != kind && served[$0] }
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
      reach.raise(by: free, kinds: kindsWithRoom(number, free))
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
}
