// One case of hostile traffic, from a seed: a real scheduler, real worker brains and real client
// minds talk through the codec, and every message may be changed, repeated, delayed or made up on
// its way. After each one everything must still hold (G33, F49, F52). No sockets: those are for
// HostileTests of the coordinator.

import MessageGenerators
import OpClusterExecution
import OpClusterModel
import OpClusterPresentation
import OpClusterScheduling
import OpClusterWire

package struct FuzzCase {
  /// How many messages one case takes; then the world is made anew.
  package static let messagesPerCase = 500
  /// Beyond so many operations the checks of every turn would take all the time.
  private static let operationsPerCase: UInt32 = 2_000

  let seed: UInt64
  var generator: MessageGenerator
  var report = FuzzReport()
  var now = Instant(nanoseconds: 1_000_000_000)
  /// Its pages are small, those of the replica usual.
  var scheduler = Self.smallScheduler
  var turn = SchedulingTurn()
  var replica = FuzzReplica()
  var lastPeer: UInt64 = 0
  var workers: [FuzzWorker] = []
  var clients: [FuzzClient] = []
  /// Frames of this case as they were sent, for repeating them later and elsewhere.
  var recorded: [[[UInt8]]] = Array(repeating: [], count: FuzzHop.allCases.count)
  var isTooLarge = false
  /// Of a hundred messages so many are tampered with: in a world that is too bad nothing lives.
  let hostility: Int

  /// Runs one case to its end, or to the first thing that does not hold.
  package static func run(
    seed: UInt64, messages: Int = messagesPerCase, trace: ((String) -> Void)? = nil
  ) -> FuzzReport {
    var world = FuzzCase(seed: seed)
    world.trace = trace
    world.begin()
    let clock = ContinuousClock()
    while world.report.messages < messages, world.report.problem == nil, !world.isTooLarge {
      let before = clock.now
      world.step()
      let time = before.duration(to: clock.now)
      if time > world.report.slowest { world.report.slowest = time }
    }
    world.report.slowestSeed = seed
    if let problem = world.report.problem { world.report.problem = "seed \(seed): \(problem)" }
    return world.report
  }

  var trace: ((String) -> Void)?

  init(seed: UInt64) {
    self.seed = seed
    generator = MessageGenerator(seed: seed)
    hostility = generator.one(of: [2, 10, 30, 60])
  }

  // MARK: - The world

  private mutating func begin() {
    turn.begin(at: now, wall: wall)
    scheduler.start(into: &turn)
    endTurn()
    for number in 0..<3 {
      workers.append(FuzzWorker(number: number, chance: generator.bits(), at: now))
    }
    for number in 0..<2 {
      clients.append(FuzzClient(at: now, wall: wall, isNarrow: number == 0))
    }
    for at in clients.indices { openClient(at) }
  }

  var wall: WallTime { WallTime(milliseconds: now.nanoseconds / 1_000_000) }

  mutating func newPeer() -> PeerID {
    lastPeer += 1
    return PeerID(lastPeer)
  }

  mutating func step() {
    now = now + Span(nanoseconds: Int64(generator.below(40_000_000)))
    learnWhatIsKnown()
    switch generator.below(20) {
    case 0..<8: workerSpeaks(generator.below(workers.count))
    case 8..<14: clientSpeaks(generator.below(clients.count))
    case 14 where generator.below(100) < hostility: strangerSpeaks()
    case 15 where generator.below(100) < hostility:
      hostileWordToWorker(generator.below(workers.count))
    case 16 where generator.below(100) < hostility:
      hostileWordToClient(generator.below(clients.count))
    case 17: restartSometimes()
    default: timePasses()
    }
  }

  /// Most identifiers of made-up messages name something that lives.
  private mutating func learnWhatIsKnown() {
    generator.known.conversations = workers.compactMap { $0.core.conversation }
    if generator.known.names.isEmpty {
      generator.known.names = ["default", "q1", "q2", "w0", "w1", "t0", "t1", "key-1", "zone"]
    }
  }

  // MARK: - To the coordinator

  /// One message of a worker arrives: as it was said, changed, or another one.
  func changed(_ bytes: [UInt8], _ generator: inout MessageGenerator, _ hop: FuzzHop) -> [UInt8] {
    if generator.below(100) >= hostility { return bytes }
    return switch generator.below(6) {
    case 0: generator.mutated(bytes)
    case 1..<4: generator.mutatedFields(bytes)
    default: recorded[hop.rawValue].isEmpty ? bytes : generator.one(of: recorded[hop.rawValue])
    }
  }

  mutating func record(_ bytes: [UInt8], _ hop: FuzzHop) {
    guard bytes.count < 65_536 else { return }
    if recorded[hop.rawValue].count < 64 {
      recorded[hop.rawValue].append(bytes)
    } else {
      recorded[hop.rawValue][generator.below(64)] = bytes
    }
  }

  mutating func count(_ hop: FuzzHop, isRejected: Bool) {
    report.messages += 1
    report.delivered[hop.rawValue] += 1
    if isRejected { report.rejected[hop.rawValue] += 1 }
  }

  mutating func deliverToCoordinator(worker bytes: [UInt8], from peer: PeerID) {
    let message: WorkerMessage
    do {
      message = try Wire.decodeWorkerMessage(bytes)
      count(.workerToCoordinator, isRejected: false)
    } catch {
      count(.workerToCoordinator, isRejected: true)
      return lose(peer)
    }
    trace?("worker \(peer.number) says \(message)")
    take(.worker(peer, message))
  }

  mutating func deliverToCoordinator(client bytes: [UInt8], from peer: PeerID) {
    let message: ClientMessage
    do {
      message = try Wire.decodeClientMessage(bytes)
      count(.clientToCoordinator, isRejected: false)
    } catch {
      count(.clientToCoordinator, isRejected: true)
      return lose(peer)
    }
    guard case .request(let request, let what) = message else { return }
    trace?("client \(peer.number) asks \(what)")
    if case .submit(let submission) = what,
      submission.operationCount > Int(Self.operationsPerCase)
    {
      // Accepting it is tested at the limits; here it would take the time of all others.
      return
    }
    switch what {
    case .graphs, .operations, .structure, .explain, .submission, .queues, .workers, .ping:
      do throws(Refusal) {
        try answer(scheduler.answer(what, at: now), to: peer, request)
      } catch {
        answer(.refused(error), to: peer, request)
      }
    default: take(.client(peer, request, what))
    }
  }

  /// The sender's session is dropped, and nothing else.
  private mutating func lose(_ peer: PeerID) {
    if let at = workers.firstIndex(where: { $0.peer == peer }) {
      apply(.disconnected, to: at)
      workers[at].peer = nil
    }
    if let at = clients.firstIndex(where: { $0.peer == peer }) { openClient(at) }
    take(.gone(peer))
  }

  mutating func take(_ input: Input) {
    turn.begin(at: now, wall: wall)
    scheduler.handle(input, into: &turn)
    scheduler.close(&turn)
    endTurn()
  }

  /// What the body does with a turn: records, events and history encoded, effects sent.
  mutating func endTurn() {
    if let broken = scheduler.brokenInvariant() { return fail("scheduler: \(broken)") }
    if let broken = replica.take(turn, of: scheduler) { fail(broken) }
    do {
      _ = try Wire.decodeEventRuns(Wire.encode(eventRuns: turn.events))
      _ = try Wire.decodeHistory(Wire.encode(history: turn.history))
    } catch {
      fail("a turn's own words do not decode: \(error)")
    }
    for effect in turn.atOnce + turn.afterDurable { carryOut(effect) }
  }

  private mutating func carryOut(_ effect: Effect) {
    switch effect {
    case .close(let peer):
      if let at = workers.firstIndex(where: { $0.peer == peer }) { workers[at].peer = nil }
    case .toWorker(let peer, let message):
      let bytes = Wire.encode(message, wording: \.forShell)
      record(bytes, .coordinatorToWorker)
      guard let at = workers.firstIndex(where: { $0.peer == peer }) else { return }
      workers[at].inbox.append(bytes)
    case .toClient(let peer, let request, let reply): answer(reply, to: peer, request)
    }
  }

  private mutating func answer(_ reply: ClientReply, to peer: PeerID, _ request: RequestID) {
    if case .refused = reply { report.refused += 1 } else { report.accepted += 1 }
    if case .accepted(let graph, let operations, repeated: false) = reply, operations > 0 {
      generator.known.graphs.append((graph, operations))
      if generator.known.graphs.count > 12 { isTooLarge = true }
    }
    let bytes = Wire.encode(.reply(request, reply), wording: \.forShell)
    record(bytes, .coordinatorToClient)
    guard let at = clients.firstIndex(where: { $0.peer == peer }) else { return }
    deliverToClient(at, changed(bytes, &generator, .coordinatorToClient))
  }

  // MARK: - Time

  private mutating func timePasses() {
    if generator.below(4) == 0 { now = now + .seconds(Int64(generator.below(30))) }
    take(.tick())
    for at in workers.indices { apply(.timePassed, to: at) }
  }

  /// Small pages and small parts, so that few operations are many.
  private static var smallScheduler: Scheduler {
    Scheduler(pageBits: 1, share: TurnShare(graphs: 2, endSteps: 5))
  }

  /// The coordinator begins a new life from its snapshot: what is said to the old one is stale.
  private mutating func restartSometimes() {
    guard generator.below(6) == 0, !scheduler.hasPendingEnds else { return timePasses() }
    let state = scheduler.snapshot()
    do {
      let read = try Wire.decodeRecords(Wire.encode(records: state))
      let commit = scheduler.lastCommit
      if let broken = replica.difference(from: scheduler) { fail(broken) }
      scheduler = Self.smallScheduler
      scheduler.restore(read, commit: commit)
      replica.begin(from: read, commit: commit)
    } catch {
      return fail("a snapshot does not decode: \(error)")
    }
    trace?("the coordinator starts again")
    for at in workers.indices {
      workers[at].peer = nil
      apply(.disconnected, to: at)
    }
    for at in clients.indices { openClient(at) }
    turn.begin(at: now, wall: wall)
    scheduler.start(into: &turn)
    scheduler.close(&turn)
    endTurn()
  }

  mutating func fail(_ text: String) {
    if report.problem == nil { report.problem = text }
  }
}
