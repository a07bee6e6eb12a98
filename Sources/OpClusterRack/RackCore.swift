// A relay's brain: a worker to the coordinator and a coordinator to its machines. Towards the
// coordinator it is an `ExecutionCore`, which keeps the line, the dependencies that end here, and
// the reports; what that launches goes to a machine, under the coordinator's own number of the
// attempt. It has no journal and no authority: what a relay knew is lost with it, as what a worker
// ran is.
//
//   rack.apply(event, at: now, into: &effects)      // as many as came
//   rack.settle(at: now, into: &effects)            // places, sends, hears who is silent
//   // the body carries the effects out, then sends what `takeMessage` gives
//
// Read on in `Placement` (an attempt's way to a machine and back), `MachineConversations` (hello,
// silence), `MachineReports`, `RackOffer` (what the machines have together), `LogQuestions`.

import DequeModule
import HeapModule
public import OpClusterExecution
public import OpClusterModel

/// An event for the relay's brain.
public enum RackEvent: Sendable {
  /// What a worker's brain is told: messages of the coordinator, the loss of the connection,
  /// orders to leave, times of templates.
  case coordinator(ExecutionEvent)
  case machine(PeerID, WorkerMessage)
  /// The connection of a machine has ended.
  case machineGone(PeerID)
  case timePassed
}

/// An action for the body; carry them out in order.
public enum RackEffect: Sendable {
  /// Close the socket to the coordinator, open a fresh one.
  case renewConversation
  /// Answer with `.prepared`, if the template has a grace of its own; its time limit is the
  /// machine's affair.
  case learn(TemplateNumber, TemplateAnnouncement)
  case toMachine(PeerID, CoordinatorMessage)
  /// Forget the connection: the machine comes back on another one.
  case closeMachine(PeerID)
  /// A piece of a log that the coordinator asked for.
  case toCoordinator(LogChunk)
}

/// The relay's brain. No clock, no I/O, no randomness of its own.
public struct RackCore: Sendable {
  /// The face to the coordinator.
  public internal(set) var worker: ExecutionCore
  var machines = MachineTable()
  /// Attempts that a machine was given and that have not ended.
  var placements: [AttemptID: Placement] = [:]
  /// Attempts that no machine has room for, the oldest first.
  var waiting = Deque<WaitingAttempt>()
  /// The machine that is kept for the oldest that waits; nil if nothing waits, or none would do.
  var kept: UInt32?
  /// Attempts among the waiting ones that were stopped. Their entries are passed over.
  var withdrawn: Set<AttemptID> = []
  /// Attempts at machines that were asked to stop, with the time that they were given.
  var stopped: [AttemptID: Span] = [:]
  /// By `TemplateNumber`.
  var templates: [RackTemplate?] = []
  /// The machines that were told of each graph.
  var toldMachines: [GraphID: Set<UInt32>] = [:]
  /// Numbers the templates, so that a machine's memory of an earlier one counts for nothing.
  var lastSerial: UInt64 = 0
  /// Numbers the dispatches: machines begin in this order.
  var lastPlace: UInt64 = 0
  /// Counts the conversations with machines.
  var lastIncrement: UInt32 = 0
  /// Machines with orders that this turn sends.
  var addressed: Set<UInt32> = []
  /// The moments at which a machine is due for a heartbeat, or for a judgement of its silence.
  var beats: Heap<Beat> = []
  /// Whether a machine has got room since the waiting ones were last looked at.
  var hasNewRoom = false
  var offering = Offering()
  /// Machines whose hellos wait for a word of the coordinator.
  var pending: [PendingHello] = []
  /// When the coordinator was last asked for one.
  var lastAsked = Instant.distantPast
  var logs = LogQuestions()
  /// The address for clients, told to machines for operations that submit others.
  var clientEndpoint = ""
  /// The address that machines were told.
  private var toldEndpoint = ""
  /// When the relay was last awake; a longer pause of its own is no machine's silence.
  var lastTurn: Instant
  /// The times that machines were told, those of the coordinator.
  var timing = Timing()
  /// The decisions of `worker` that are being carried out.
  var decided: [ExecutionEffect] = []

  /// - Parameters:
  ///   - identity: The relay's hello; what it offers comes with its machines.
  ///   - jitterSeed: Random; spreads the tries to connect.
  public init(identity: WorkerHello, jitterSeed: UInt64, at now: Instant) {
    var settings = ExecutionSettings()
    settings.isRelay = true
    // A hello names what runs and as much that has ended and is not acknowledged.
    settings.maximumRunning = Limits.entriesPerMessage / 2
    var identity = identity
    identity.capacity = .none
    lastTurn = now
    worker = ExecutionCore(
      identity: identity, jitterSeed: jitterSeed, settings: settings, at: now)
  }

  public mutating func apply(
    _ event: RackEvent, at now: Instant, into effects: inout [RackEffect]
  ) {
    excusePause(at: now)
    switch event {
    case .coordinator(let event): applyOwn(event, at: now, into: &effects)
    case .machine(let peer, let message): take(message, from: peer, at: now, into: &effects)
    case .machineGone(let peer):
      pending.removeAll { $0.peer == peer }
      guard let machine = machines.byPeer[peer] else { return }
      machines.disconnect(peer)
      forgetAsks(of: machine, into: &effects)
    case .timePassed:
      if let deadline = worker.nextDeadline, now >= deadline {
        applyOwn(.timePassed, at: now, into: &effects)
      }
    }
  }

  /// Ends a turn: starts what fits, sends orders and heartbeats, judges silence.
  public mutating func settle(at now: Instant, into effects: inout [RackEffect]) {
    excusePause(at: now)
    judgeSilence(at: now, into: &effects)
    answerPending(at: now, into: &effects)
    renewOfferIfDue(at: now)
    // Ends: each round starts something, or looks at room that a machine got.
    while true {
      // First of all: what has waited longest has the first choice.
      if hasNewRoom { placeWaiting(at: now, into: &effects) }
      carryOut(at: now, into: &effects)
      let started = worker.startReady(atMost: Self.startsAtOnce, at: now, into: &decided)
      carryOut(at: now, into: &effects)
      if started == 0, !hasNewRoom { break }
    }
    sendOrders(at: now, into: &effects)
  }

  private static let startsAtOnce = 1_024

  /// The next message to the coordinator; nil if there is none now.
  public mutating func takeMessage(at now: Instant) -> WorkerMessage? {
    worker.takeMessage(at: now)
  }

  /// The moment of the next `.timePassed`; nil: none.
  public var nextDeadline: Instant? {
    [worker.nextDeadline, beats.min?.at, offering.due].compactMap { $0 }.min()
  }

  /// The number of machines, connected or silent, that are not lost.
  public var machineCount: Int { machines.count }

  // MARK: - The face to the coordinator

  /// Applies an event to the face to the coordinator and carries its decisions out.
  mutating func applyOwn(
    _ event: ExecutionEvent, at now: Instant, into effects: inout [RackEffect]
  ) {
    if case .message(.logRequest(let request)) = event { ask(request, into: &effects) }
    if case .message(.welcome(let welcome)) = event { clientEndpoint = welcome.clientEndpoint }
    let welcomes = worker.counts.conversations
    worker.apply(event, at: now, into: &decided)
    carryOut(at: now, into: &effects)
    if welcomes != worker.counts.conversations { takeTimes(into: &effects) }
    answerPending(at: now, into: &effects)
  }

  /// Other times or another address reach the machines with their next welcome.
  private mutating func takeTimes(into effects: inout [RackEffect]) {
    guard timing != worker.timing || clientEndpoint != toldEndpoint else { return }
    timing = worker.timing
    toldEndpoint = clientEndpoint
    for machine in machines.all {
      guard let peer = machines[machine].peer else { continue }
      effects.append(.closeMachine(peer))
      machines.disconnect(peer)
      forgetAsks(of: machine, into: &effects)
    }
  }

  /// Carries the decisions out; they may append further ones. The switch has no default: a new
  /// effect of the brain has to be thought of here.
  mutating func carryOut(at now: Instant, into effects: inout [RackEffect]) {
    var next = 0
    while next < decided.count {
      let effect = decided[next]
      next += 1
      switch effect {
      case .renewConversation: effects.append(.renewConversation)
      case .learn(let number, let announcement):
        learn(number, announcement)
        effects.append(.learn(number, announcement))
      case .forget(let number): templates[Int(number.position)] = nil
      case .forgetGraph(let graph): forget(graph)
      // A relay has no store, and is told of no content.
      case .fetch, .dropFetch, .deliver, .grant, .revoke, .keep, .letGo: break
      case .launch(let launch): place(WaitingAttempt(launch), at: now, into: &effects)
      case .stop(let attempt): stop(attempt, grace: Self.longGrace, at: now)
      case .kill(let attempt): stop(attempt, grace: .zero, at: now)
      }
    }
    decided.removeAll(keepingCapacity: true)
  }

  /// The relay counts the grace, and ends it by another order. A machine that hears of neither is
  /// told that the attempt is not its own, once it finds a relay again.
  private static let longGrace = Span.seconds(24 * 3_600)

  private mutating func learn(_ number: TemplateNumber, _ announcement: TemplateAnnouncement) {
    while templates.count <= Int(number.position) { templates.append(nil) }
    lastSerial += 1
    templates[Int(number.position)] = RackTemplate(announcement: announcement, serial: lastSerial)
  }

  private mutating func forget(_ graph: GraphID) {
    for machine in (toldMachines.removeValue(forKey: graph) ?? []).sorted()
    where machines.contains(machine) {
      machines[machine].orders.forgottenGraphs.append(graph)
      addressed.insert(machine)
    }
  }
}

/// A template that the coordinator has announced.
struct RackTemplate: Sendable {
  var announcement: TemplateAnnouncement
  var serial: UInt64
}

/// A moment at which a machine is looked at. Each machine has one.
struct Beat: Comparable, Sendable {
  var at: Instant
  var machine: UInt32
  /// A machine with the same number and another session has a moment of its own.
  var session: WorkerSession
  static func < (a: Self, b: Self) -> Bool { (a.at, a.machine) < (b.at, b.machine) }
}
