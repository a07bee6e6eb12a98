// A machine of the relay, and the table of them.

import DequeModule
import OpClusterExecution
import OpClusterModel

/// A machine as the relay knows it.
struct Machine: Sendable {
  let name: String
  let session: WorkerSession
  var capacity: Resources
  var labels: [Label]
  var types: [OperationType]
  /// What processes take that KILL does not end.
  var withheld = Resources.none
  /// What is left of the capacity.
  var free: Resources
  /// nil while it is not connected.
  var peer: PeerID?
  var increment: UInt32 = 0
  var lastHeard: Instant
  var lastSpoken: Instant
  /// It has not been heard of for longer than `Timing.suspect`: it is given nothing.
  var isSuspect = false
  /// It takes nothing new.
  var isLeaving = false
  /// It has every label and type that the coordinator was told of: until it has, what comes may
  /// have been chosen for what it lacks.
  var isAdmitted = false
  /// Attempts that it was given and that have not ended.
  var attempts: Set<AttemptID> = []
  /// The serials of the templates that it was told, by number.
  var told: [Int32: UInt64] = [:]
  var ordersSent: UInt64 = 0
  var reportTaken: UInt64 = 0
  /// When the reports came that the machine does not know to be heard, oldest first.
  var reports = Deque<(number: UInt64, at: Instant)>()
  /// What it was last told.
  var acknowledged: UInt64 = 0
  /// The orders of this turn, without number.
  var orders: WorkerOrders

  init(_ hello: WorkerHello, at now: Instant) {
    name = hello.name
    session = hello.session
    capacity = hello.capacity
    labels = hello.labels
    types = hello.types
    free = hello.capacity
    lastHeard = now
    lastSpoken = now
    orders = Machine.noOrders
  }

  static let noOrders = WorkerOrders(
    conversation: Conversation(epoch: Epoch(0), session: WorkerSession(0), increment: 0),
    number: 0, acknowledged: 0)

  var conversation: Conversation {
    Conversation(epoch: Epoch(1), session: session, increment: increment)
  }

  /// Whether it takes new attempts.
  var isOpen: Bool { peer != nil && isAdmitted && !isLeaving && !isSuspect }

  /// What operations can have of it.
  var usable: Resources {
    var usable = capacity
    usable.take(withheld)
    return usable
  }

  /// What operations have of it.
  var taken: Resources {
    var taken = usable
    taken.take(free)
    return taken
  }

  /// Whether an operation that was chosen for this offer may run here.
  func has(_ offer: WorkerOffer) -> Bool {
    offer.labels.allSatisfy { labels.contains($0) } && offer.types.allSatisfy { types.contains($0) }
  }

  /// The newest report that the machine may take as heard: the coordinator has heard of the relay
  /// since it came. So a machine's lease ends no later than the relay's own (G16).
  mutating func hear(until contact: Instant?) {
    guard let contact else { return }
    while let first = reports.first, first.at <= contact {
      acknowledged = first.number
      reports.removeFirst()
    }
  }
}

/// The machines by number, connection, name and session. Numbers are used again.
struct MachineTable: Sendable {
  private var slots: [Machine?] = []
  private var freeSlots: [UInt32] = []
  private(set) var byPeer: [PeerID: UInt32] = [:]
  private(set) var byName: [String: UInt32] = [:]
  private(set) var bySession: [WorkerSession: UInt32] = [:]
  var rooms = RoomTree()
  private(set) var count = 0

  func contains(_ number: UInt32) -> Bool {
    Int(number) < slots.count && slots[Int(number)] != nil
  }

  /// A machine that exists; a bug otherwise.
  subscript(number: UInt32) -> Machine {
    _read {
      guard contains(number) else { preconditionFailure("no machine \(number)") }
      yield slots[Int(number)]!
    }
    _modify {
      guard contains(number) else { preconditionFailure("no machine \(number)") }
      yield &slots[Int(number)]!
    }
  }

  /// All numbers, ascending.
  var all: [UInt32] { slots.indices.compactMap { slots[$0] == nil ? nil : UInt32($0) } }

  mutating func add(_ machine: Machine) -> UInt32 {
    let number = freeSlots.popLast() ?? UInt32(slots.count)
    if Int(number) == slots.count { slots.append(machine) } else { slots[Int(number)] = machine }
    byName[machine.name] = number
    bySession[machine.session] = number
    count += 1
    renewRoom(of: number)
    return number
  }

  mutating func remove(_ number: UInt32) -> Machine {
    let machine = self[number]
    if let peer = machine.peer { byPeer[peer] = nil }
    byName[machine.name] = nil
    bySession[machine.session] = nil
    slots[Int(number)] = nil
    freeSlots.append(number)
    count -= 1
    rooms.set(RoomTree.closed, at: Int(number))
    return machine
  }

  mutating func connect(_ number: UInt32, _ peer: PeerID) {
    byPeer[peer] = number
    self[number].peer = peer
    renewRoom(of: number)
  }

  mutating func disconnect(_ peer: PeerID) {
    guard let number = byPeer.removeValue(forKey: peer) else { return }
    if self[number].peer == peer { self[number].peer = nil }
    renewRoom(of: number)
  }

  /// Notes what is free at a machine; nothing where it takes nothing new.
  mutating func renewRoom(of number: UInt32) {
    rooms.set(self[number].isOpen ? self[number].free : RoomTree.closed, at: Int(number))
  }
}
