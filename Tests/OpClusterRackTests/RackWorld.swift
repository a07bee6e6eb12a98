// A small world on one thread: a real coordinator's brain, a real relay's brain, real workers'
// brains as its machines, and connections between them that are slow and break. Nothing is lost on
// an open connection, and nothing of a closed one arrives. From a seed; no clock.

import OpClusterExecution
import OpClusterModel
import OpClusterScheduling
import Testing

@testable import OpClusterRack

struct Seeded: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
  mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
  mutating func percent(_ chance: Int) -> Bool { below(100) < chance }
}

/// One direction of a connection: messages in order, each with the moment of its arrival.
struct Wire<Message> {
  private(set) var messages: [(at: Instant, message: Message)] = []
  var next: Instant? { messages.first?.at }

  mutating func send(_ message: Message, at now: Instant, _ chance: inout Seeded) {
    let earliest: Instant = max(now, messages.last?.at ?? now)
    let delay = Span(nanoseconds: Int64(50 + chance.below(4_000)) * 1_000)
    messages.append((earliest + delay, message))
  }
  mutating func take(until now: Instant) -> Message? {
    guard let first = messages.first, first.at <= now else { return nil }
    messages.removeFirst()
    return first.message
  }
}

/// The two directions between a worker's brain and the side that it serves.
struct Line {
  var peer: PeerID
  var up = Wire<WorkerMessage>()
  var down = Wire<CoordinatorMessage>()
}

/// A machine: the brain of a worker, and what runs there.
struct Node {
  var core: ExecutionCore
  let name: String
  /// Whether it is a worker of the coordinator, and no machine of the relay.
  let isDirect: Bool
  var isUp = true
  /// Whether it can reach the relay.
  var isCutOff = false
  var line: Line?
  /// Running attempts with the moments at which they end.
  var running: [AttemptID: Instant] = [:]
  var templates: [TemplateNumber: TemplateAnnouncement] = [:]
  var effects: [ExecutionEffect] = []
}

final class RackWorld {
  var chance: Seeded
  var now = Instant(nanoseconds: 1_000_000_000)
  private var scheduler: Scheduler
  private var turn = SchedulingTurn(keepsRecords: false)
  private var lastTick = Instant.zero
  private var lastPeer: UInt64 = 0
  private var lastRequest: UInt64 = 0
  private(set) var rack: RackCore
  private var rackEffects: [RackEffect] = []
  /// Whether the relay can reach the coordinator.
  var isRelayCutOff = false
  private var isRelayPaused = false
  /// What has happened to it meanwhile.
  private var missedEvents: [RackEvent] = []
  /// Of a hundred attempts so many fail.
  var failures = 3
  var longestRun = Span.seconds(3)
  private var upLine: Line?
  private(set) var nodes: [Node] = []
  private(set) var replies: [ClientReply] = []
  /// Starts at each node.
  private(set) var startsAt: [Int: Int] = [:]
  /// The operations in the order of their starts.
  private(set) var order: [OperationID] = []
  /// Starts of each operation, anywhere.
  private(set) var starts: [OperationID: Int] = [:]
  private(set) var problems: [String] = []

  /// The type of all operations: what has none of its own ends at the coordinator.
  static let type = OperationType(name: "run")

  init(seed: UInt64, timing: Timing = Timing()) {
    chance = Seeded(state: seed)
    scheduler = Scheduler(timing: timing)
    rack = Self.newRack(&chance, now)
    coordinate { scheduler, turn in scheduler.start(into: &turn) }
  }

  private static func newRack(_ chance: inout Seeded, _ now: Instant) -> RackCore {
    RackCore(
      identity: WorkerHello(
        name: "rack", session: WorkerSession(chance.next()), capacity: .none),
      jitterSeed: chance.next(), at: now)
  }

  // MARK: - Parts

  func addNode(cpus: Int64, isDirect: Bool = false, resources: [String] = []) {
    nodes.append(newNode("m\(nodes.count)", cpus, isDirect, resources))
  }

  private func newNode(
    _ name: String, _ cpus: Int64, _ isDirect: Bool, _ resources: [String] = []
  ) -> Node {
    let labels = [Label(key: "rack", value: "1")]
    let hello = WorkerHello(
      name: name, session: WorkerSession(chance.next()),
      capacity: Resources(
        cpus: ResourceAmount(cpus), memoryBytes: 1 << 30,
        custom: resources.map {
          Resources.NamedAmount(name: $0, amount: ResourceAmount(1))
        }),
      labels: labels + [Label(key: "host", value: name)], types: [Self.type])
    return Node(
      core: ExecutionCore(identity: hello, jitterSeed: chance.next(), at: now), name: name,
      isDirect: isDirect)
  }

  /// A machine dies with all that runs there, and another life of it begins.
  func restartNode(_ at: Int) {
    breakLine(ofNode: at)
    let capacity = nodes[at].core.identity.capacity
    nodes[at] = newNode(
      nodes[at].name, capacity.cpus.tenThousandths / 10_000, nodes[at].isDirect)
  }

  func stopNode(_ at: Int) {
    breakLine(ofNode: at)
    nodes[at].isUp = false
    nodes[at].running = [:]
  }

  func setCutOff(_ isCutOff: Bool, ofNode at: Int) { nodes[at].isCutOff = isCutOff }

  func leaveNode(_ at: Int) { applyNode(at, .leave) }

  /// The relay dies; another one begins with nothing. What runs on machines goes on.
  func restartRelay() {
    breakUpLine()
    for at in nodes.indices where !nodes[at].isDirect { breakLine(ofNode: at) }
    rack = Self.newRack(&chance, now)
  }

  /// The relay stands still while everybody else goes on.
  func pauseRelay(for span: Span) {
    isRelayPaused = true
    run(for: span)
    isRelayPaused = false
    let missed = missedEvents
    missedEvents = []
    for event in missed { applyRack(event) }
  }

  func breakUpLine() {
    guard let line = upLine else { return }
    upLine = nil
    coordinate { scheduler, turn in scheduler.handle(.gone(line.peer), into: &turn) }
    applyRack(.coordinator(.disconnected))
  }

  func breakLine(ofNode at: Int) {
    guard let line = nodes[at].line else { return }
    nodes[at].line = nil
    tellServer(ofNode: at, gone: line.peer)
    if nodes[at].isUp { applyNode(at, .disconnected) }
  }

  private func tellServer(ofNode at: Int, gone peer: PeerID) {
    if nodes[at].isDirect {
      coordinate { scheduler, turn in scheduler.handle(.gone(peer), into: &turn) }
    } else {
      applyRack(.machineGone(peer))
    }
  }

  // MARK: - Coordinator

  private func coordinate(_ body: (inout Scheduler, inout SchedulingTurn) -> Void) {
    turn.begin(
      at: now, wall: WallTime(milliseconds: 1_700_000_000_000 + now.nanoseconds / 1_000_000))
    body(&scheduler, &turn)
    scheduler.close(&turn)
    var effects: [Effect] = []
    turn.takeEffects(&effects)
    for effect in effects {
      switch effect {
      case .toClient(_, _, let reply): replies.append(reply)
      case .toWorker(let peer, let message):
        if upLine?.peer == peer { upLine?.down.send(message, at: now, &chance) }
        if let at = node(of: peer) { nodes[at].line?.down.send(message, at: now, &chance) }
      case .close(let peer):
        if upLine?.peer == peer { upLine = nil }
        if let at = node(of: peer) { nodes[at].line = nil }
      }
    }
  }

  @discardableResult
  func ask(_ request: ClientRequest) -> ClientReply? {
    lastRequest += 1
    let before = replies.count
    let number = RequestID(lastRequest)
    coordinate { scheduler, turn in
      scheduler.handle(.client(PeerID(.max), number, request), into: &turn)
    }
    return replies.count > before ? replies.last : nil
  }

  func submit(_ submission: GraphSubmission) -> GraphID? {
    if case .accepted(let id, _, _)? = ask(.submit(submission)) { return id }
    return nil
  }

  /// The living graphs.
  var living: Int { scheduler.livingGraphs(Selection(graphs: .all)).count }
  var workerRows: [WorkerRow] { scheduler.workers(at: now) }

  // MARK: - Relay

  func applyRack(_ event: RackEvent) {
    if isRelayPaused { return missedEvents.append(event) }
    rack.apply(event, at: now, into: &rackEffects)
    settleRack()
  }

  /// A further machine says hello to the relay; returns its refusal.
  @discardableResult
  func greet(_ number: UInt64) -> Refusal? {
    let hello = WorkerHello(
      name: "x\(number)", session: WorkerSession(number + 1_000_000_000), capacity: Resources(),
      types: [Self.type])
    let peer = newPeer()
    rack.apply(.machine(peer, .hello(hello)), at: now, into: &rackEffects)
    defer { rackEffects = [] }
    for case .toMachine(peer, .refused(let refusal)) in rackEffects { return refusal }
    return nil
  }

  private func settleRack() {
    rack.settle(at: now, into: &rackEffects)
    carryOutRack()
    while let message = rack.takeMessage(at: now) { upLine?.up.send(message, at: now, &chance) }
    problems += rack.checkInvariants() + rack.worker.checkInvariants()
  }

  private func carryOutRack() {
    let effects = rackEffects
    rackEffects = []
    for effect in effects {
      switch effect {
      case .renewConversation:
        if let line = upLine {
          upLine = nil
          coordinate { scheduler, turn in scheduler.handle(.gone(line.peer), into: &turn) }
        }
        if isRelayCutOff {
          rack.apply(.coordinator(.disconnected), at: now, into: &rackEffects)
        } else {
          upLine = Line(peer: newPeer())
        }
      case .learn: break
      case .toMachine(let peer, let message):
        if let at = node(of: peer) { nodes[at].line?.down.send(message, at: now, &chance) }
      case .closeMachine(let peer):
        if let at = node(of: peer) {
          nodes[at].line = nil
          applyNode(at, .disconnected)
        }
      case .toCoordinator(let chunk): upLine?.up.send(.logChunk(chunk), at: now, &chance)
      }
    }
    if !rackEffects.isEmpty { carryOutRack() }
  }

  private func newPeer() -> PeerID {
    lastPeer += 1
    return PeerID(lastPeer)
  }

  private func node(of peer: PeerID) -> Int? { nodes.firstIndex { $0.line?.peer == peer } }

  // MARK: - Machines

  func applyNode(_ at: Int, _ event: ExecutionEvent) {
    var effects: [ExecutionEffect] = []
    nodes[at].core.apply(event, at: now, into: &effects)
    nodes[at].effects += effects
    settleNode(at)
  }

  private func settleNode(_ at: Int) {
    while true {
      carryOutNode(at)
      var effects: [ExecutionEffect] = []
      if nodes[at].core.startReady(atMost: 64, at: now, into: &effects) == 0 { break }
      nodes[at].effects += effects
    }
    while let message = nodes[at].core.takeMessage(at: now) {
      nodes[at].line?.up.send(message, at: now, &chance)
    }
    problems += nodes[at].core.checkInvariants()
    if nodes[at].core.exit != nil { stopNode(at) }
  }

  private func carryOutNode(_ at: Int) {
    while !nodes[at].effects.isEmpty {
      let effects = nodes[at].effects
      nodes[at].effects = []
      for effect in effects { carryOut(effect, ofNode: at) }
    }
  }

  private func carryOut(_ effect: ExecutionEffect, ofNode at: Int) {
    switch effect {
    case .renewConversation:
      if let line = nodes[at].line {
        nodes[at].line = nil
        tellServer(ofNode: at, gone: line.peer)
      }
      if nodes[at].isCutOff {
        var effects: [ExecutionEffect] = []
        nodes[at].core.apply(.disconnected, at: now, into: &effects)
        nodes[at].effects += effects
      } else {
        nodes[at].line = Line(peer: newPeer())
      }
    case .learn(let number, let announcement): nodes[at].templates[number] = announcement
    case .forget(let number): nodes[at].templates[number] = nil
    case .forgetGraph: break
    // It has no store, and is told of no content.
    case .fetch, .dropFetch, .deliver, .grant, .revoke, .keep, .letGo: break
    case .launch(let launch):
      launched(launch, at)
    case .stop(let attempt):
      // Some obey at once, some need the kill.
      if chance.percent(70), nodes[at].running[attempt] != nil { nodes[at].running[attempt] = now }
    case .kill(let attempt):
      if nodes[at].running[attempt] != nil { nodes[at].running[attempt] = now }
    }
  }

  private func launched(_ launch: Launch, _ at: Int) {
    let operation = launch.attempt.operation
    starts[operation, default: 0] += 1
    order.append(operation)
    startsAt[at, default: 0] += 1
    if nodes[at].templates[launch.template]?.isExclusive == true {
      for other in nodes.indices
      where nodes[other].running.keys.contains(where: { $0.operation == operation }) {
        problems.append("\(operation) runs twice at once, on m\(other) and m\(at)")
      }
    }
    let length = longestRun.nanoseconds / 1_000_000
    nodes[at].running[launch.attempt] = now + .milliseconds(1 + Int64(chance.below(Int(length))))
  }

  // MARK: - Time

  /// Moves to the next thing that happens. The relay and the machines see their deadlines, the
  /// coordinator ticks.
  func step() {
    var next = lastTick + .milliseconds(250)
    func consider(_ moment: Instant?) { if let moment { next = min(next, moment) } }
    consider(upLine?.up.next)
    if !isRelayPaused {
      consider(upLine?.down.next)
      consider(rack.nextDeadline)
    }
    for node in nodes where node.isUp {
      if !isRelayPaused || node.isDirect { consider(node.line?.up.next) }
      consider(node.line?.down.next)
      consider(node.core.nextDeadline)
      consider(node.running.values.min())
    }
    now = max(now, next)
    if now - lastTick >= .milliseconds(250) {
      lastTick = now
      coordinate { scheduler, turn in scheduler.handle(.tick(), into: &turn) }
    }
    deliver()
    for at in nodes.indices where nodes[at].isUp { passTime(ofNode: at) }
    if !isRelayPaused, let deadline = rack.nextDeadline, now >= deadline {
      applyRack(.timePassed)
    }
  }

  private func deliver() {
    while let line = upLine, let message = upLine?.up.take(until: now) {
      coordinate { scheduler, turn in
        scheduler.handle(.worker(line.peer, message), into: &turn)
      }
    }
    while !isRelayPaused, let message = upLine?.down.take(until: now) {
      applyRack(.coordinator(.message(message)))
    }
    for at in nodes.indices where nodes[at].isUp {
      let isHeard = !isRelayPaused || nodes[at].isDirect
      while isHeard, let peer = nodes[at].line?.peer,
        let message = nodes[at].line?.up.take(until: now)
      {
        if nodes[at].isDirect {
          coordinate { scheduler, turn in
            scheduler.handle(.worker(peer, message), into: &turn)
          }
        } else {
          applyRack(.machine(peer, message))
        }
      }
      while nodes[at].isUp, let message = nodes[at].line?.down.take(until: now) {
        applyNode(at, .message(message))
      }
    }
  }

  private func passTime(ofNode at: Int) {
    let ended = nodes[at].running.filter { $0.value <= now }.keys.sorted()
    for attempt in ended {
      nodes[at].running[attempt] = nil
      var result = AttemptResult()
      if chance.percent(failures) { (result.cause, result.exitStatus) = (.failed, 1) }
      applyNode(at, .ended(attempt, result))
    }
    if let deadline = nodes[at].core.nextDeadline, now >= deadline { applyNode(at, .timePassed) }
  }

  /// Steps for a while, or until a condition holds.
  func run(for span: Span, until isDone: (RackWorld) -> Bool = { _ in false }) {
    let end = now + span
    while now < end, !isDone(self) { step() }
  }
}
