// The coordinator's decisions alone, with machines that do as they are told: no disk, no socket, no
// clock but the one that measures. `CoreDimension` makes it large, `CoreEvent` happens in it.

import OpClusterModel
import OpClusterScheduling

struct CoreWorld {
  /// A worker as far as the scheduler can tell.
  struct Machine {
    var conversation: Conversation?
    var ordersTaken: UInt64 = 0
    var reports: UInt64 = 0
    /// Assigned attempts, the oldest first.
    var assigned: [AttemptID] = []
    var recalled: [AttemptID] = []
  }

  private(set) var scheduler = Scheduler()
  private var image: ClusterImage?
  // Made once and used for each turn, as in the coordinator, so that its arrays keep their memory.
  // A turn that keeps no records: who measures has no journal.
  private var turn = SchedulingTurn(keepsRecords: false)
  private var effects: [Effect] = []
  /// Moves only by `tick` and by the events, so that a run sees the same moments each time.
  private(set) var now = Instant(nanoseconds: 1_000_000_000)
  private(set) var machines: [UInt64: Machine] = [:]
  private var lastPeer: UInt64 = 1_000
  private var lastRequest: UInt64 = 0
  /// The reply of the latest request; nil: not answered yet.
  private(set) var lastReply: ClientReply?
  /// The time of all turns since it was set to zero.
  var spent = Duration.zero
  /// The longest turn since it was set to zero: so long does whoever else asks wait.
  var longestTurn = Duration.zero

  /// A machine that runs the operations of `CoreEvent` and nothing that makes the world large.
  static let probeType = OperationType(name: "probe")
  static let worldType = OperationType(name: "world")
  private(set) var probe: UInt64 = 0

  init() {
    step { scheduler, turn in scheduler.start(into: &turn) }
    probe = join(
      "probe", Resources(cpus: ResourceAmount(4), memoryBytes: 1 << 40), types: [Self.probeType],
      labels: [Label(key: "probe", value: "yes")])
  }

  /// Begins to take the state as a value, and has it until the next one, as the journal's thread
  /// does that writes it.
  mutating func beginSnapshot() {
    image = nil
    let start = ContinuousClock.now
    scheduler.beginImage()
    spent += ContinuousClock.now - start
  }

  /// What is left of the snapshot would add to the turns of other events.
  mutating func endSnapshot() { while image == nil { image = scheduler.continueImage() } }

  /// One turn, as the coordinator's loop makes it. Counts the turn alone: what the machines make of
  /// its effects is not the coordinator's cost.
  private mutating func step(_ body: (inout Scheduler, inout SchedulingTurn) -> Void) {
    // As the coordinator's loop does, which leaves it to another thread.
    _ = turn.takeLarge()
    let start = ContinuousClock.now
    turn.begin(
      at: now, wall: WallTime(milliseconds: 1_700_000_000_000 + now.nanoseconds / 1_000_000))
    body(&scheduler, &turn)
    scheduler.close(&turn)
    if let whole = scheduler.continueImage() { image = whole }
    let length = ContinuousClock.now - start
    spent += length
    longestTurn = max(longestTurn, length)
    turn.takeEffects(&effects)
    for effect in effects { carryOut(effect) }
    effects.removeAll(keepingCapacity: true)
  }

  /// Asks, and makes turns until the answer, which may need several.
  mutating func ask(_ request: ClientRequest) {
    lastRequest += 1
    lastReply = nil
    let number = RequestID(lastRequest)
    step { scheduler, turn in scheduler.handle(.client(PeerID(9), number, request), into: &turn) }
    while lastReply == nil {
      tick(after: .zero)
      // It may wait for what machines give back.
      for (peer, machine) in machines where !machine.recalled.isEmpty { run(peer, atMost: 0) }
    }
  }

  /// The longest part of the answer to a question: so long does whoever else asks wait.
  mutating func longestPart(_ question: ClientRequest) -> Duration {
    spent = .zero
    guard var search = LivingSearch(question) else {
      ask(question)
      return spent
    }
    var (longest, isEnded) = (Duration.zero, false)
    while !isEnded {
      let start = ContinuousClock.now
      isEnded = scheduler.goOn(with: &search, atMost: Self.looksAtOnce)
      if isEnded { _ = try? scheduler.answer(search, at: now) }
      longest = max(longest, ContinuousClock.now - start)
    }
    return longest
  }

  /// As many as the coordinator's loop.
  private static let looksAtOnce = 1_024

  /// Asks for a graph as the coordinator's loop does for a large one: what follows from the
  /// submission alone was made before, by another thread.
  mutating func takeIn(_ graph: GraphSubmission) {
    lastRequest += 1
    lastReply = nil
    let number = RequestID(lastRequest)
    var prepared = PreparedSubmission(graph, encoded: EncodedSubmission(whole: [], shown: []))
    step { scheduler, turn in
      scheduler.handle(&prepared, from: PeerID(9), number, into: &turn)
    }
  }

  /// The number of the graph that was accepted.
  mutating func submit(_ graph: GraphSubmission) -> GraphID {
    ask(.submit(graph))
    guard case .accepted(let id, _, _)? = lastReply else {
      fatalError("a graph of the benchmark was refused: \(String(describing: lastReply))")
    }
    return id
  }

  /// A turn without any message, for heartbeats and deadlines.
  mutating func tick(after span: Span) {
    now = now + span
    step { scheduler, turn in scheduler.handle(.tick(), into: &turn) }
  }

  /// Follows all that has ended, so that later turns pay for nothing of it.
  mutating func settle() {
    while scheduler.hasPendingEnds { tick(after: .zero) }
  }

  // MARK: - Machines

  /// A machine says hello. Returns its peer, by which it is known here.
  mutating func join(
    _ name: String, _ capacity: Resources, types: [OperationType], labels: [Label] = []
  ) -> UInt64 {
    lastPeer += 1
    let peer = lastPeer
    machines[peer] = Machine()
    let hello = WorkerHello(
      name: name, session: WorkerSession(peer), capacity: capacity, labels: labels, types: types)
    send(peer, .hello(hello))
    return peer
  }

  /// A machine stops in good order; what it was given goes elsewhere.
  mutating func leave(_ peer: UInt64) {
    send(peer, .goodbye(lastReport: machines[peer]?.reports ?? 0))
    machines[peer] = nil
  }

  /// A machine is silent until it counts as lost, while the others speak.
  mutating func lose(_ peer: UInt64) {
    machines[peer] = nil
    let lease = Timing().lost
    let end = now + lease + .seconds(1)
    while now < end {
      tick(after: .seconds(1))
      for other in machines.keys.sorted() { run(other, atMost: 0) }
    }
  }

  private mutating func send(_ peer: UInt64, _ message: WorkerMessage) {
    step { scheduler, turn in scheduler.handle(.worker(PeerID(peer), message), into: &turn) }
  }

  /// A machine runs the oldest operations that it has to their ends, and reports them in one
  /// message. Returns how many.
  ///
  /// - Parameter result: The result of each of them.
  @discardableResult
  mutating func run(
    _ peer: UInt64, atMost most: Int = .max, result: AttemptResult = .success
  ) -> Int {
    // Without a welcome there is no conversation, and nothing was given to it.
    guard var machine = machines[peer], let conversation = machine.conversation else { return 0 }
    let ended = machine.assigned.prefix(most)
    machine.assigned.removeFirst(ended.count)
    var entries = machine.recalled.map { WorkerReport.Entry.recalled($0) }
    machine.recalled = []
    for attempt in ended { entries += [.started(attempt), .finished(attempt, result)] }
    machine.reports += 1
    machines[peer] = machine
    let report = WorkerReport(
      conversation: conversation, number: machine.reports, entries: entries,
      ordersTaken: machine.ordersTaken)
    send(peer, .report(report))
    return ended.count
  }

  /// Obeys at once: what is recalled has not started, and is given back with the next report.
  private mutating func carryOut(_ effect: Effect) {
    switch effect {
    case .toClient(_, let number, let reply) where number == RequestID(lastRequest):
      lastReply = reply
    case .toClient, .close: break
    case .toWorker(let peer, .welcome(let welcome)):
      machines[peer.number]?.conversation = welcome.conversation
    case .toWorker(let peer, .orders(let orders)):
      guard var machine = machines[peer.number] else { return }
      if orders.number > 0 { machine.ordersTaken = orders.number }
      machine.assigned += orders.dispatches.map(\.attempt)
      if !orders.recalls.isEmpty {
        let recalled = Set(orders.recalls)
        machine.recalled += machine.assigned.filter { recalled.contains($0) }
        machine.assigned.removeAll { recalled.contains($0) }
      }
      machines[peer.number] = machine
    case .toWorker: break
    }
  }
}
