// A scheduler in the hand of a test: fake workers that obey orders literally, clients that keep
// their replies, a journal that can be replayed after any turn. No clock, no threads, no sockets.

import OpClusterModel

@testable import OpClusterScheduling

/// A worker as far as the scheduler can tell: it holds, starts and ends what a test tells it to.
struct FakeWorker {
  var name: String
  var session: WorkerSession
  var peer: PeerID
  var capacity = Resources(cpus: ResourceAmount(2), memoryBytes: 1 << 32)
  var types: [OperationType] = [OperationType(name: "noop"), OperationType(name: "sleep")]
  var labels: [Label] = []
  /// The most that one operation may have; nil: all.
  var largest: Resources?
  var conversation: Conversation?
  /// How far the coordinator's log was told to it.
  var known: HistoryMark?
  var assigned: [Dispatch] = []
  var executing: [AttemptID] = []
  var outbox: [WorkerReport.Entry] = []
  var reports: UInt64 = 0
  var ordersTaken: UInt64 = 0
  var started: [AttemptID] = []
  var refusals: [Refusal] = []
  var cancels: [AttemptID] = []
  var stale: [AttemptID] = []
  /// Answer recalls at once; a test that wants to answer itself sets it to false.
  var answersRecalls = true
  var recalls: [AttemptID] = []
  var wasToldToDrain = false
  /// It wants to leave by itself, and says so with each report.
  var isLeaving = false
  /// Where others read from its store; nil: it has none.
  var store: ContentSource?
  /// What its next report says of the store.
  var held: [StoredContent] = []
  var lost: [ContentDigest] = []
  var unreached: [UnreachedContent] = []
  var undelivered: [FailedDelivery] = []
  /// What it was told about contents.
  var holders: [ContentHolders] = []
  var grants: [GrantOrder] = []
  var released: [ContentDigest] = []
  var retained: [ContentDigest] = []
  var copies: [StoredContent] = []
  var deliveries: [ContentDelivery] = []
  var unobtainable: [ContentDigest] = []
}

/// When a world checks the invariants.
enum InvariantChecks {
  case never
  /// A check goes through all operations: after every turn in a small world, after some turns in a
  /// large one, so that turns cost more than checks; and when a test asks what is broken.
  case inProportion
  case afterEveryTurn
}

struct World {
  var scheduler: Scheduler
  var turn = SchedulingTurn()
  var now = Instant(nanoseconds: 1_000_000_000)
  /// How the wall clock was set, and how long the coordinator was away: not what `now` counts.
  var wallShift: Int64 = 0
  var workers: [FakeWorker] = []
  var replies: [UInt64: ClientReply] = [:]
  var journal: [(commit: CommitIndex, records: [Record])] = []
  var events: [Event] = []
  var history: [AttemptHistory] = []
  var endings: [GraphEnding] = []
  var lastRequest: UInt64 = 0
  var lives: UInt64 = 0
  var invariantChecks = InvariantChecks.inProportion
  private var firstBroken: String?
  private var uncheckedTurns = 0
  /// Every turn as it was closed, for those who tell about it; kept where it is not nil.
  var turns: [SchedulingTurn]?

  init(
    timing: Timing = Timing(), pageBits: UInt32? = nil, share: TurnShare = TurnShare()
  ) {
    scheduler = Scheduler(timing: timing, pageBits: pageBits, share: share)
    beginLife()
  }

  /// The coordinator begins a life, each with a number of its own.
  mutating func beginLife(mayHaveGoneBack: Bool = false) {
    lives += 1
    let number = lives
    step { scheduler, turn in
      scheduler.start(life: number, mayHaveGoneBack: mayHaveGoneBack, into: &turn)
    }
  }

  /// One turn with any inputs; effects are carried out as far as fakes do.
  mutating func step(_ body: (inout Scheduler, inout SchedulingTurn) -> Void) {
    turn.begin(at: now, wall: WallTime(milliseconds: now.nanoseconds / 1_000_000 + wallShift))
    body(&scheduler, &turn)
    scheduler.close(&turn)
    turns?.append(turn)
    if turn.isDurable { journal.append((turn.commit, turn.records)) }
    for run in turn.events { run.forEach { events.append($0) } }
    history += turn.history
    endings += turn.endings
    if isCheckDue() { check() }
    for effect in turn.atOnce + turn.afterDurable { carryOut(effect) }
  }

  private mutating func isCheckDue() -> Bool {
    uncheckedTurns += 1
    switch invariantChecks {
    case .never: return false
    case .afterEveryTurn: return true
    case .inProportion:
      // For so many operations a check costs less than a turn.
      let cheap = 8
      let graphs = scheduler.graphs
      return graphs.numbers.reduce(0) { $0 + Int(graphs[$1].operationCount) }
        <= cheap * uncheckedTurns
    }
  }

  private mutating func check() {
    uncheckedTurns = 0
    if firstBroken == nil { firstBroken = scheduler.brokenInvariant() }
  }

  /// What was found broken first. Turns that no check has followed are checked now.
  var brokenInvariant: String? {
    if firstBroken != nil || invariantChecks == .never || uncheckedTurns == 0 { return firstBroken }
    return scheduler.brokenInvariant()
  }

  mutating func input(_ input: Input) { step { $0.handle(input, into: &$1) } }

  mutating func tick(after span: Span, durable: CommitIndex = CommitIndex(.max)) {
    now = now + span
    input(.tick(durable: durable))
  }

  /// Turns at once until no ends are left to follow. Returns how many.
  @discardableResult
  mutating func followEnds() -> Int {
    var turns = 0
    while scheduler.hasPendingEnds, turns < 100_000 {
      guard let next = scheduler.nextDeadline(), next <= now else { break }
      tick(after: .zero)
      turns += 1
    }
    return turns
  }

  @discardableResult
  mutating func ask(_ request: ClientRequest) -> ClientReply? {
    lastRequest += 1
    let number = lastRequest
    input(.client(PeerID(1), RequestID(number), request))
    return replies[number]
  }

  private mutating func carryOut(_ effect: Effect) {
    switch effect {
    case .toClient(_, let request, let reply): replies[request.number] = reply
    case .close: break
    case .toWorker(let peer, let message):
      guard let at = workers.firstIndex(where: { $0.peer == peer }) else { return }
      workers[at].take(message)
    }
  }

  // MARK: - Workers

  @discardableResult
  mutating func join(
    _ name: String, cpus: Int64 = 2, types: [OperationType]? = nil
  ) -> Int {
    var worker = FakeWorker(
      name: name, session: WorkerSession(UInt64(workers.count + 1)),
      peer: PeerID(UInt64(100 + workers.count)))
    worker.capacity.cpus = ResourceAmount(cpus)
    if let types { worker.types = types }
    workers.append(worker)
    greet(workers.count - 1)
    return workers.count - 1
  }

  mutating func greet(_ at: Int) { input(hello(of: at)) }

  func hello(of at: Int) -> Input {
    let worker = workers[at]
    var hello = WorkerHello(
      name: worker.name, session: worker.session, capacity: worker.capacity,
      types: worker.types, assigned: worker.assigned.map(\.attempt),
      executing: worker.executing + worker.outbox.compactMap(\.endedAttempt))
    hello.known = worker.known
    hello.labels = worker.labels
    hello.largest = worker.largest
    hello.store = worker.store
    return .worker(worker.peer, .hello(hello))
  }

  /// Sends what a worker has to report.
  mutating func report(_ at: Int) {
    if let report = nextReport(of: at) { input(report) }
  }

  /// Empties the outbox; nil before the worker has been welcomed.
  mutating func nextReport(of at: Int) -> Input? {
    guard let conversation = workers[at].conversation else { return nil }
    workers[at].reports += 1
    var report = WorkerReport(
      conversation: conversation, number: workers[at].reports, entries: workers[at].outbox,
      ordersTaken: workers[at].ordersTaken)
    report.isLeaving = workers[at].isLeaving
    workers[at].outbox = []
    report.held = workers[at].held
    report.lost = workers[at].lost
    (workers[at].held, workers[at].lost) = ([], [])
    report.unreached = workers[at].unreached
    report.undelivered = workers[at].undelivered
    (workers[at].unreached, workers[at].undelivered) = ([], [])
    return .worker(workers[at].peer, .report(report))
  }

  /// Starts an assigned attempt, if its local dependencies allow; reported with the next report.
  mutating func start(_ at: Int, _ operation: OperationID) {
    guard let place = workers[at].assigned.firstIndex(where: { $0.attempt.operation == operation })
    else { return }
    let attempt = workers[at].assigned.remove(at: place).attempt
    workers[at].executing.append(attempt)
    workers[at].started.append(attempt)
    workers[at].outbox.append(.started(attempt))
  }

  mutating func end(_ at: Int, _ operation: OperationID, _ result: AttemptResult = .success) {
    guard let running = workers[at].executing.firstIndex(where: { $0.operation == operation })
    else { return }
    let attempt = workers[at].executing.remove(at: running)
    workers[at].outbox.append(.finished(attempt, result))
  }

  /// The worker that holds or runs an operation.
  func worker(of operation: OperationID) -> Int? {
    workers.firstIndex { worker in
      worker.assigned.contains { $0.attempt.operation == operation }
        || worker.executing.contains { $0.operation == operation }
    }
  }

  /// Starts and ends whatever is assigned, in the workers' own order, until nothing moves.
  mutating func runAll(
    result: (OperationID) -> AttemptResult = { _ in .success },
    starting: (OperationID) -> Void = { _ in }
  ) {
    var moved = true
    while moved {
      moved = false
      for at in workers.indices {
        for dispatch in workers[at].assigned where dispatch.awaits.isEmpty {
          starting(dispatch.attempt.operation)
          start(at, dispatch.attempt.operation)
        }
        for attempt in workers[at].executing {
          end(at, attempt.operation, result(attempt.operation))
        }
        if !workers[at].outbox.isEmpty {
          moved = true
          workers[at].clearAwaits()
          report(at)
        }
      }
    }
  }

  // MARK: - Looking

  func cell(_ graph: UInt32, _ index: UInt32) -> OperationCell? {
    scheduler.graphs.find(graph)?.cell(index)
  }

  func kinds(_ graph: UInt32, _ index: UInt32) -> [Event.Kind] {
    events.compactMap { event in
      if case .operation(let id, _) = event.subject, id.graph.number == graph, id.index == index {
        return event.kind
      }
      return nil
    }
  }

  /// Everything from the journal again, by a scheduler that has seen nothing.
  func replayed() -> Scheduler {
    var fresh = Scheduler()
    for turn in journal { fresh.replay(turn.records, commit: turn.commit) }
    return fresh
  }
}

extension WorkerReport.Entry {
  var endedAttempt: AttemptID? {
    if case .finished(let attempt, _) = self { return attempt }
    return nil
  }
}

extension FakeWorker {
  mutating func take(_ message: CoordinatorMessage) {
    switch message {
    case .welcome(let welcome):
      conversation = welcome.conversation
      known = welcome.known
      reports = 0
      ordersTaken = 0
      for attempt in welcome.stale { drop(attempt) }
    case .refused(let refusal): refusals.append(refusal)
    case .logRequest: break
    case .orders(let orders):
      guard orders.number > 0 else { return }
      ordersTaken = orders.number
      known?.commit = orders.commit
      if orders.drain { wasToldToDrain = true }
      assigned += orders.dispatches
      cancels += orders.cancels.map(\.attempt)
      holders += orders.holders
      grants += orders.grants
      released += orders.released
      retained += orders.retained
      copies += orders.copies
      deliveries += orders.deliveries
      unobtainable += orders.unobtainable
      for attempt in orders.stale { drop(attempt) }
      for attempt in orders.recalls {
        if answersRecalls { answerRecall(attempt) } else { recalls.append(attempt) }
      }
    }
  }

  mutating func answerRecall(_ attempt: AttemptID) {
    if assigned.contains(where: { $0.attempt == attempt }) {
      assigned.removeAll { $0.attempt == attempt }
      outbox.append(.recalled(attempt))
    } else {
      outbox.append(.alreadyStarted(attempt))
    }
  }

  private mutating func drop(_ attempt: AttemptID) {
    stale.append(attempt)
    assigned.removeAll { $0.attempt == attempt }
    executing.removeAll { $0 == attempt }
  }

  /// Local dependencies that ended here no longer hold back what awaits them (S151).
  mutating func clearAwaits() {
    for entry in outbox {
      guard case .finished(let attempt, let result) = entry else { continue }
      for at in assigned.indices {
        assigned[at].awaits.removeAll {
          $0.operation == attempt.operation
            && $0.policy.isSatisfied(by: result.isSuccess ? .succeeded : .failed)
        }
      }
    }
  }
}

/// A template of registered no-ops.
func noops(_ name: String, _ count: UInt32 = 1) -> OperationTemplate {
  OperationTemplate(name: name, count: count, work: .call(OperationType(name: "noop")))
}

/// A graph of single no-ops by name and of edges "b waits for a".
func graph(
  _ names: [String], _ edges: [(String, String)] = [], policy: EdgePolicy = .succeeded
) -> GraphSubmission {
  var submission = GraphSubmission(name: "test")
  submission.templates = names.map { noops($0) }
  submission.groupEdges = edges.map { from, to in
    GroupEdge(
      from: UInt32(names.firstIndex(of: from) ?? 0), to: UInt32(names.firstIndex(of: to) ?? 0),
      policy: policy)
  }
  return submission
}

func operation(_ graph: UInt32, _ index: UInt32) -> OperationID {
  OperationID(graph: GraphID(graph), index: index)
}

extension AttemptResult {
  static func failure(_ status: Int32 = 1) -> AttemptResult {
    var result = AttemptResult()
    result.cause = .failed
    result.exitStatus = status
    return result
  }
}
