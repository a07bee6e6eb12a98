// The demand classes: the properties that decide which workers can take an operation, stored once
// each and only while a stage of a living graph uses them. Slots are reused, so memory follows the
// number of living classes. Not durable: derived from the graphs.

import OpClusterModel

/// The properties that decide which workers can take an operation.
struct DemandClass: Hashable, Sendable {
  var demand: Resources
  var requirements: [LabelRequirement]
  /// The types that a worker must have, all of them; none for a process, which every worker can
  /// run, and for a join point.
  var types: [OperationType] = []
  /// Runs inside the coordinator (S4).
  var isInside: Bool
  /// The first operation of the only stage that uses the class; nil: all stages with this demand
  /// share it.
  var stage: OperationID?

  /// Whether it runs at workers and asks for no cpus.
  fileprivate var needsNoCPU: Bool { !isInside && demand.cpus <= .zero }

  init(_ template: OperationTemplate) {
    demand = template.demand
    requirements = template.requirements
    switch template.work {
    case .nothing:
      isInside = true
      demand = .none
      requirements = []
    case .command:
      isInside = false
    case .call(let wanted):
      isInside = false
      types = [wanted]
    case .blocks(let wanted):
      isInside = false
      types = wanted
    }
  }
}

/// A demand class without its amounts: many classes share few kinds, and each worker is compared
/// with each kind once.
struct DemandKind: Hashable, Sendable {
  var requirements: [LabelRequirement]
  var types: [OperationType]
  var custom: [Resources.NamedAmount]
  var isInside: Bool

  init(_ demandClass: DemandClass) {
    requirements = demandClass.requirements
    types = demandClass.types
    custom = demandClass.demand.custom
    isInside = demandClass.isInside
  }

  /// Whether a worker with these properties serves operations of the kind, apart from their amounts
  /// of cpus, memory and gpus (S61, S128).
  ///
  /// - Parameter room: The most that it gives to one operation.
  func isServed(labels: [Label], types: [OperationType], room: Resources) -> Bool {
    if isInside { return false }
    guard custom.allSatisfy({ $0.amount <= room.amount(named: $0.name) }) else { return false }
    guard self.types.allSatisfy({ wanted in types.contains { wanted.isServed(by: $0) } }) else {
      return false
    }
    return requirements.allSatisfy { $0.isMet(by: labels) }
  }
}

/// What a kind wants of named resources, for each operation.
struct NamedWant: Sendable {
  /// The slot of the kind.
  var kind: Int
  var amounts: [Resources.NamedAmount]

  func isMet(by free: Resources) -> Bool {
    amounts.allSatisfy { $0.amount <= free.amount(named: $0.name) }
  }
}

/// A demand class, and the number of stages that use it.
struct StagesOfDemand: Sendable {
  var demandClass: DemandClass
  var stages: Int
}

struct DemandClasses: Sendable {
  struct Entry: Sendable {
    var demandClass: DemandClass
    /// The slot of its kind.
    var kind: Int
    /// Distinguishes the class from an earlier one in the same slot.
    var serial: UInt64
    /// The number of stages that use it.
    var users: Int
  }
  private struct KindEntry: Sendable {
    var kind: DemandKind
    var classes: Int
    /// Whether the slot is free.
    var isForgotten = false
  }

  private var entries = PagedArray<Entry>()
  private var freeSlots: [Int] = []
  private var kinds: [KindEntry] = []
  private var freeKinds: [Int] = []
  /// Slots of kinds without classes, the oldest first: the next graph is often like the last one,
  /// and each worker is compared with a kind that is new. At most `unusedKindsKept`.
  private var unusedKinds: [Int] = []
  private static let unusedKindsKept = 16
  /// The number of living classes that ask for no cpus, and do not run inside.
  private var withoutCPUs = 0
  /// The number of living kinds of each bit.
  private var kindsOfBit: [Int] = Array(repeating: 0, count: 64)
  // Looked up, never iterated
  private var numbers = PartitionedDictionary<DemandClass, Int>()
  private var kindNumbers: [DemandKind: Int] = [:]
  private var lastSerial: UInt64 = 0
  /// The latest look-up: most graphs equal the one before them.
  private var recent: (demandClass: DemandClass, number: Int)?

  /// Kinds in slots below this are compared with workers in advance, the others on demand.
  static let comparedKinds = 1_024
  /// Kinds in slots below this have a bit that no other kind shares, for those that are compared.
  static let exactKinds = 64
  /// The bit of operations inside the coordinator; the kinds share the other bits in turn.
  static let insideBit: UInt64 = 1 << 63

  var count: Int { entries.count - freeSlots.count }
  var slots: Int { entries.count }
  var kindSlots: Int { kinds.count }
  /// Whether an operation may fit where no cpu is free.
  var hasWithoutCPUs: Bool { withoutCPUs > 0 }

  /// The entry of a class that a stage uses.
  subscript(number: Int) -> Entry {
    _read { yield entries[number] }
    _modify { yield &entries[number] }
  }

  func kind(_ slot: Int) -> DemandKind { kinds[slot].kind }

  /// Whether the slot has a kind.
  func hasKind(_ slot: Int) -> Bool { !kinds[slot].isForgotten }

  func bit(ofKind slot: Int) -> UInt64 {
    kinds[slot].kind.isInside ? DemandClasses.insideBit : DemandClasses.bit(of: slot)
  }

  /// The bit of a kind that runs at workers.
  static func bit(of slot: Int) -> UInt64 { 1 << UInt64(slot % 63) }

  /// Whether no other kind has the same bit.
  func hasOwnBit(kind slot: Int) -> Bool {
    !kinds[slot].kind.isInside && kindsOfBit[slot % 63] == 1
  }

  /// Registers a copy of a class for one stage only, identified by its first operation. Returns its
  /// number.
  mutating func use(_ number: Int, aloneBy first: OperationID) -> Int {
    var own = entries[number].demandClass
    own.stage = first
    return use(own, stages: 1).number
  }

  /// Registers more stages for a class. Returns the class's number, and the slot of its kind if
  /// that is new.
  mutating func use(_ demandClass: DemandClass, stages: Int) -> (number: Int, newKind: Int?) {
    if let recent, recent.demandClass == demandClass {
      entries[recent.number].users += stages
      return (recent.number, nil)
    }
    if let known = numbers[demandClass] {
      entries[known].users += stages
      recent = (demandClass, known)
      return (known, nil)
    }
    let (kind, isNew) = use(DemandKind(demandClass))
    lastSerial += 1
    let entry = Entry(demandClass: demandClass, kind: kind, serial: lastSerial, users: stages)
    let number: Int
    if let free = freeSlots.popLast() {
      number = free
      entries[free] = entry
    } else {
      number = entries.count
      entries.append(entry)
    }
    numbers[demandClass] = number
    recent = (demandClass, number)
    if demandClass.needsNoCPU { withoutCPUs += 1 }
    return (number, isNew ? kind : nil)
  }

  private mutating func use(_ kind: DemandKind) -> (slot: Int, isNew: Bool) {
    if let known = kindNumbers[kind] {
      if kinds[known].classes == 0 { unusedKinds.removeAll { $0 == known } }
      kinds[known].classes += 1
      return (known, false)
    }
    let slot: Int
    if let free = freeKinds.popLast() {
      slot = free
      kinds[free] = KindEntry(kind: kind, classes: 1)
    } else {
      slot = kinds.count
      kinds.append(KindEntry(kind: kind, classes: 1))
    }
    if !kind.isInside { kindsOfBit[slot % 63] += 1 }
    kindNumbers[kind] = slot
    return (slot, true)
  }

  /// Removes stages from a class; the last one removes the class.
  mutating func release(_ number: Int, stages: Int) {
    entries[number].users -= stages
    if entries[number].users > 0 { return }
    if recent?.number == number { recent = nil }
    let (gone, kind) = (entries[number].demandClass, entries[number].kind)
    numbers[gone] = nil
    if gone.needsNoCPU { withoutCPUs -= 1 }
    // Frees the memory of long members.
    entries[number].demandClass.requirements = []
    entries[number].demandClass.types = []
    entries[number].demandClass.demand = .none
    freeSlots.append(number)
    release(kind: kind)
    if numbers.isEmpty {
      entries = PagedArray()
      freeSlots = []
    }
  }

  private mutating func release(kind slot: Int) {
    kinds[slot].classes -= 1
    if kinds[slot].classes > 0 { return }
    unusedKinds.append(slot)
    // Those of high slots are the first to go, since low slots have bits of their own.
    if slot >= Self.exactKinds {
      forget(kind: unusedKinds.removeLast())
    } else if unusedKinds.count > Self.unusedKindsKept {
      forget(kind: unusedKinds.removeFirst())
    }
  }

  private mutating func forget(kind slot: Int) {
    if !kinds[slot].kind.isInside { kindsOfBit[slot % 63] -= 1 }
    kindNumbers[kinds[slot].kind] = nil
    kinds[slot].kind.requirements = []
    kinds[slot].kind.types = []
    kinds[slot].kind.custom = []
    kinds[slot].isForgotten = true
    freeKinds.append(slot)
  }
}
