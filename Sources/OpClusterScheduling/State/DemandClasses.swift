// Which demands there are: what decides which workers can take an operation, each once, and only
// while a stage of a living graph uses it. Slots are used again, so that memory is what lives. Not
// durable: follows from the graphs.

import OpClusterModel

/// What decides which workers can take an operation.
struct DemandClass: Hashable, Sendable {
  var demand: Resources
  var requirements: [LabelRequirement]
  /// All of which a worker must have; none: a process, which every worker can run, or nothing.
  var types: [OperationType] = []
  /// Runs inside the coordinator (S4).
  var isInside: Bool
  /// The first operation of the only stage that uses it; nil: whoever demands the same.
  var stage: OperationID?

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

/// A demand class without its amounts: many classes are of few kinds, and a worker is compared
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

  /// Whether a worker with these serves operations of the kind, their amounts aside (S61, S128).
  func isServed(labels: [Label], types: [OperationType]) -> Bool {
    if isInside { return false }
    guard self.types.allSatisfy({ wanted in types.contains { wanted.isServed(by: $0) } }) else {
      return false
    }
    return requirements.allSatisfy { $0.isMet(by: labels) }
  }
}

struct DemandClasses: Sendable {
  struct Entry: Sendable {
    var demandClass: DemandClass
    /// Slot of its kind.
    var kind: Int
    /// Tells it from another one that had the slot before.
    var serial: UInt64
    /// Stages that use it.
    var users: Int
  }
  private struct KindEntry: Sendable {
    var kind: DemandKind
    var classes: Int
  }

  private var entries: [Entry] = []
  private var freeSlots: [Int] = []
  private var kinds: [KindEntry] = []
  private var freeKinds: [Int] = []
  /// Living kinds of each bit.
  private var kindsOfBit: [Int] = Array(repeating: 0, count: 64)
  // Looked up, never iterated
  private var numbers: [DemandClass: Int] = [:]
  private var kindNumbers: [DemandKind: Int] = [:]
  private var lastSerial: UInt64 = 0
  /// What was looked up last: most templates are like the one before them.
  private var recent: Recent?

  private struct Recent: Sendable {
    var demand: Resources
    var requirements: [LabelRequirement]
    var work: Work
    var number: Int
  }

  /// Kinds with a slot below this are compared with workers beforehand, the others when asked.
  static let comparedKinds = 1_024
  /// The bit of what runs inside the coordinator; the others are shared by the kinds in turn.
  static let insideBit: UInt64 = 1 << 63

  var count: Int { entries.count - freeSlots.count }
  var slots: Int { entries.count }
  var kindSlots: Int { kinds.count }

  /// The entry of a class that a stage uses.
  subscript(number: Int) -> Entry {
    _read { yield entries[number] }
    _modify { yield &entries[number] }
  }

  func kind(_ slot: Int) -> DemandKind { kinds[slot].kind }

  func bit(ofKind slot: Int) -> UInt64 {
    kinds[slot].kind.isInside ? DemandClasses.insideBit : 1 << UInt64(slot % 63)
  }

  /// Whether no other kind has the bit of this one.
  func hasOwnBit(kind slot: Int) -> Bool {
    !kinds[slot].kind.isInside && kindsOfBit[slot % 63] == 1
  }

  /// The number of a template's class, which one stage more uses, and the slot of its kind where
  /// that is new.
  mutating func use(_ template: OperationTemplate) -> (number: Int, newKind: Int?) {
    if let recent, recent.demand == template.demand, recent.work == template.work,
      recent.requirements == template.requirements
    {
      entries[recent.number].users += 1
      return (recent.number, nil)
    }
    let (number, newKind) = use(DemandClass(template))
    recent = Recent(
      demand: template.demand, requirements: template.requirements, work: template.work,
      number: number)
    return (number, newKind)
  }

  /// The number of a class like another one, for one stage alone, named by its first operation.
  mutating func use(_ number: Int, aloneBy first: OperationID) -> Int {
    var own = entries[number].demandClass
    own.stage = first
    return use(own).number
  }

  private mutating func use(_ demandClass: DemandClass) -> (number: Int, newKind: Int?) {
    if let known = numbers[demandClass] {
      entries[known].users += 1
      return (known, nil)
    }
    let (kind, isNew) = use(DemandKind(demandClass))
    lastSerial += 1
    let entry = Entry(demandClass: demandClass, kind: kind, serial: lastSerial, users: 1)
    let number: Int
    if let free = freeSlots.popLast() {
      number = free
      entries[free] = entry
    } else {
      number = entries.count
      entries.append(entry)
    }
    numbers[demandClass] = number
    return (number, isNew ? kind : nil)
  }

  private mutating func use(_ kind: DemandKind) -> (slot: Int, isNew: Bool) {
    if let known = kindNumbers[kind] {
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

  /// A stage that used a class is gone; the last takes the class along.
  mutating func release(_ number: Int) {
    entries[number].users -= 1
    if entries[number].users > 0 { return }
    if recent?.number == number { recent = nil }
    let (gone, kind) = (entries[number].demandClass, entries[number].kind)
    numbers[gone] = nil
    // Nothing that is long is kept in a free slot.
    entries[number].demandClass.requirements = []
    entries[number].demandClass.types = []
    entries[number].demandClass.demand = .none
    freeSlots.append(number)
    release(kind: kind)
    if numbers.isEmpty {
      (entries, freeSlots) = ([], [])
      (kinds, freeKinds) = ([], [])
    }
  }

  private mutating func release(kind slot: Int) {
    kinds[slot].classes -= 1
    if kinds[slot].classes > 0 { return }
    if !kinds[slot].kind.isInside { kindsOfBit[slot % 63] -= 1 }
    kindNumbers[kinds[slot].kind] = nil
    kinds[slot].kind.requirements = []
    kinds[slot].kind.types = []
    kinds[slot].kind.custom = []
    freeKinds.append(slot)
  }
}
