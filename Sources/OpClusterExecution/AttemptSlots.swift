// What the worker knows of each attempt: a table of slots that are used again. Owned by the core.

import OpClusterModel

/// Position in `AttemptSlots`.
struct Slot: Hashable, Sendable {
  var position: Int32
  static let none = Slot(position: -1)
  var exists: Bool { position >= 0 }
}

/// A slot at one time: when the slot is used again, this no longer names it.
struct SlotTicket: Hashable, Sendable {
  var slot: Slot
  var generation: UInt32
}

/// One attempt, or the place of an operation that others here await.
struct HeldAttempt: Sendable {
  var id: AttemptID
  var state: AttemptState = .absent
  var template = TemplateNumber(-1)
  /// The graph's position in `OperationTable`.
  var graph: Int32
  var generation: UInt32
  /// Dependencies that have not ended so that their edges are met.
  var unmet: UInt32 = 0
  /// Heads of its two lists of edges.
  var firstAwait = EdgeNumber.none
  var firstDependent = EdgeNumber.none
  var priority: Priority = .normal
  var isStartReported = false
  /// The coordinator cancelled it: its outcome is cancelled, however it ends (S100).
  var isCancelled = false
  var place: UInt64 = 0
  /// `Dispatch.queue` and `Dispatch.service`
  var queue = QueueID.main
  var service: QualityOfService = .default
  /// `Dispatch.run`
  var run: UInt32 = 1
  var argument: [UInt8] = []
  var inputs: [DependencyInput] = []
  /// Of an ended one, for those that await it.
  var outcome: Outcome?
  var output: [UInt8] = []
}

/// The slots and those that are free.
struct AttemptSlots: Sendable {
  private(set) var slots: [HeldAttempt] = []
  private var free: [Slot] = []
  /// Slots in use.
  var count: Int { slots.count - free.count }

  subscript(_ slot: Slot) -> HeldAttempt {
    _read { yield slots[Int(slot.position)] }
    _modify { yield &slots[Int(slot.position)] }
  }

  mutating func take(_ id: AttemptID, graph: Int32) -> Slot {
    if let slot = free.popLast() {
      let generation = self[slot].generation
      self[slot] = HeldAttempt(id: id, graph: graph, generation: generation)
      return slot
    }
    slots.append(HeldAttempt(id: id, graph: graph, generation: 0))
    return Slot(position: Int32(slots.count - 1))
  }

  mutating func giveBack(_ slot: Slot) {
    let generation = self[slot].generation &+ 1
    let id = self[slot].id
    self[slot] = HeldAttempt(id: id, graph: -1, generation: generation)
    free.append(slot)
  }

  func ticket(_ slot: Slot) -> SlotTicket {
    SlotTicket(slot: slot, generation: slots[Int(slot.position)].generation)
  }
  func isCurrent(_ ticket: SlotTicket) -> Bool {
    slots[Int(ticket.slot.position)].generation == ticket.generation
  }
  /// Every slot in use, by position.
  var used: [Slot] {
    slots.indices.filter { slots[$0].graph >= 0 }.map { Slot(position: Int32($0)) }
  }
}
