// The worker's data about each attempt: a table of reusable slots. Owned by the core.

import OpClusterModel

/// A position in `AttemptSlots`.
struct Slot: Hashable, Sendable {
  var position: Int32
  static let none = Slot(position: -1)
  var exists: Bool { position >= 0 }
}

/// A slot in one use; after reuse of the slot the ticket is invalid.
struct SlotTicket: Hashable, Sendable {
  var slot: Slot
  var generation: UInt32
}

/// One attempt, or the place of an operation that others here await.
struct AttemptRecord: Sendable {
  var id: AttemptID
  var state: AttemptState = .absent
  var template = TemplateNumber(-1)
  /// The graph's position in `OperationTable`.
  var graph: Int32
  var generation: UInt32
  /// The number of dependencies whose edges are not satisfied.
  var unmet: UInt32 = 0
  /// The heads of its two lists of edges.
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
  /// The outcome and output of an ended operation, for those that await it.
  var outcome: Outcome?
  var output: [UInt8] = []
}

/// The slots and the free positions.
struct AttemptSlots: Sendable {
  private(set) var slots: [AttemptRecord] = []
  private var free: [Slot] = []
  /// The number of slots in use.
  var count: Int { slots.count - free.count }

  subscript(_ slot: Slot) -> AttemptRecord {
    _read { yield slots[Int(slot.position)] }
    _modify { yield &slots[Int(slot.position)] }
  }

  mutating func take(_ id: AttemptID, graph: Int32) -> Slot {
    if let slot = free.popLast() {
      let generation = self[slot].generation
      self[slot] = AttemptRecord(id: id, graph: graph, generation: generation)
      return slot
    }
    slots.append(AttemptRecord(id: id, graph: graph, generation: 0))
    return Slot(position: Int32(slots.count - 1))
  }

  mutating func giveBack(_ slot: Slot) {
    let generation = self[slot].generation &+ 1
    let id = self[slot].id
    self[slot] = AttemptRecord(id: id, graph: -1, generation: generation)
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
