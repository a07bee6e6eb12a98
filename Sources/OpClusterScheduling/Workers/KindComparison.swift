// Compares workers with kinds of demand in advance, so that whether a worker could run an operation
// is a look at a bit: all kinds when a worker says hello, some workers when a kind is new.

import OpClusterModel

extension Scheduler {
  /// Compares a worker with every kind again, after its hello.
  mutating func compareWithKinds(_ worker: UInt32) {
    conversations[worker].serves = []
    conversations[worker].servedBits = 0
    conversations[worker].kindBits = 0
    conversations[worker].namedWants = []
    conversations[worker].lacks = [:]
    workerOffers.replaceOffers(
      of: worker, labels: conversations[worker].labels, types: conversations[worker].types,
      custom: conversations[worker].offered.custom)
    for kind in 0..<min(classes.kindSlots, DemandClasses.comparedKinds)
    where classes.hasKind(kind) {
      compare(worker, withKind: kind)
    }
    conversations[worker].kindBits |= blurredKindBits
    if workerPools.count > 0 { workerPools.compare(worker, conversations[worker].labels) }
  }

  /// Compares it with the kinds that want named resources, after a change of what it has.
  mutating func compareWithNamed(_ worker: UInt32) {
    for kind in 0..<min(classes.kindSlots, DemandClasses.comparedKinds)
    where !classes.kind(kind).custom.isEmpty {
      compare(worker, withKind: kind)
    }
  }

  /// Compares the workers with a kind that is new. Costs those that may serve it, and those that
  /// served what its slot, or a slot with the same bit, had before.
  mutating func compareWorkers(withNewKind kind: Int) {
    let bit = classes.bit(ofKind: kind)
    guard kind < DemandClasses.comparedKinds else { return blur(bit) }
    var toCompare = forgetFormerKinds(of: kind)
    if toCompare != nil,
      let able = workerOffers.workers(for: classes.kind(kind), atMost: workers.count / 2)
    {
      toCompare? += able
    } else {
      toCompare = nil
    }
    let numbers = toCompare?.sortedSet() ?? workers.numbers
    looks += numbers.count
    for worker in numbers where conversations.contains(worker) { compare(worker, withKind: kind) }
  }

  /// Lets the workers forget the kinds that were in the slot of a new one, and those that had its
  /// bit if it has it alone now. Returns the workers, whose bit is to be set again; nil: all.
  private mutating func forgetFormerKinds(of kind: Int) -> [UInt32]? {
    var slots = [kind]
    var former: [UInt32]? = []
    if classes.hasOwnBit(kind: kind) {
      let end = min(classes.kindSlots, DemandClasses.comparedKinds)
      slots = Array(stride(from: kind % 63, to: end, by: 63))
      let bit = DemandClasses.bit(of: kind)
      // Amortised: all were visited when it was set.
      if blurredKindBits & bit != 0 {
        blurredKindBits &= ~bit
        former = nil
      }
    }
    for slot in slots {
      let servers = kindServers.emptySlot(slot)
      let numbers = servers ?? workers.numbers
      looks += numbers.count
      for worker in numbers where conversations.contains(worker) { forget(slot, at: worker) }
      if let servers { former? += servers } else { former = nil }
    }
    return former
  }

  private mutating func forget(_ slot: Int, at worker: UInt32) {
    let served = conversations[worker].serves
    // Not touched, so that its summary stays.
    guard slot < served.count, served[slot] else { return }
    conversations[worker].serves[slot] = false
    noteServed(slot, isServed: false, at: worker)
  }

  /// From now on the bit says nothing: kinds have it that are compared on demand.
  private mutating func blur(_ bit: UInt64) {
    if bit == DemandClasses.insideBit || blurredKindBits & bit != 0 { return }
    blurredKindBits |= bit
    // Once for each bit.
    for worker in workers.numbers where conversations.contains(worker) {
      conversations[worker].kindBits |= bit
    }
  }

  private mutating func compare(_ worker: UInt32, withKind kind: Int) {
    let isServed = classes.kind(kind).isServed(
      labels: conversations[worker].labels, types: conversations[worker].types,
      room: conversations[worker].roomForOne)
    let served = conversations[worker].serves
    let wasServed = kind < served.count && served[kind]
    let bit = classes.bit(ofKind: kind)
    let hasOwnBit = classes.hasOwnBit(kind: kind)
    if !isServed {
      // Not touched, so that a kind that few workers serve renews few summaries.
      let isKept = hasOwnBit && conversations[worker].kindBits & bit != 0
      if !isKept, !wasServed { return }
    }
    while conversations[worker].serves.count <= kind { conversations[worker].serves.append(false) }
    if isServed, !wasServed { kindServers.insertServer(worker, slot: kind, of: workers.count) }
    conversations[worker].serves[kind] = isServed
    noteServed(kind, isServed: isServed, at: worker)
    if bit == DemandClasses.insideBit { return }
    if hasOwnBit, blurredKindBits & bit == 0 { conversations[worker].kindBits &= ~bit }
    if isServed { conversations[worker].kindBits |= bit }
  }

  private mutating func noteServed(_ kind: Int, isServed: Bool, at worker: UInt32) {
    noteNamedWant(of: kind, isServed: isServed, at: worker)
    guard kind < DemandClasses.exactKinds else { return }
    conversations[worker].servedBits &= ~(1 << UInt64(kind))
    if isServed { conversations[worker].servedBits |= 1 << UInt64(kind) }
  }

  /// Keeps what a kind wants of named resources with the worker that serves it: the kind may be
  /// forgotten before the worker is compared again.
  private mutating func noteNamedWant(of kind: Int, isServed: Bool, at worker: UInt32) {
    if !conversations[worker].namedWants.isEmpty {
      conversations[worker].namedWants.removeAll { $0.kind == kind }
    }
    let amounts = classes.kind(kind).custom
    guard isServed, !amounts.isEmpty else { return }
    conversations[worker].namedWants.append(NamedWant(kind: kind, amounts: amounts))
  }

  // MARK: - Checks

  /// Whether the workers serve the kinds that they should; checked by the invariants, for one kind
  /// of each turn, which the number of the commit decides.
  func brokenKind() -> String? {
    let compared = min(classes.kindSlots, DemandClasses.comparedKinds)
    if compared == 0 { return nil }
    return brokenKind(Int(truncatingIfNeeded: lastCommit.number & 0xFFFF_FFFF) % compared)
  }

  func brokenKind(_ kind: Int) -> String? {
    if !classes.hasKind(kind) { return nil }
    let bit = classes.bit(ofKind: kind)
    for number in workers.numbers where conversations[number].increment > 0 {
      let conversation = conversations[number]
      let isServed = classes.kind(kind).isServed(
        labels: conversation.labels, types: conversation.types, room: conversation.roomForOne)
      let isNoted = kind < conversation.serves.count && conversation.serves[kind]
      let isCertain = kind < 64 && conversation.servedBits & (1 << UInt64(kind)) != 0
      let wants = conversation.namedWants.filter { $0.kind == kind }.count
      let isBroken =
        isNoted != isServed || isCertain != (isServed && kind < DemandClasses.exactKinds)
        || isServed && conversation.kindBits & bit == 0
        || conversation.kindBits & blurredKindBits != blurredKindBits
        || wants != (isServed && !classes.kind(kind).custom.isEmpty ? 1 : 0)
      if isBroken { return "worker \(workers[number].name) serves kind \(kind), or does not" }
    }
    return nil
  }
}
