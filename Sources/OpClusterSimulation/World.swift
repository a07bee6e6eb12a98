// The world of one seed: one coordinator, workers, clients, a network and a disk on one virtual
// clock. Everything that happens comes from the agenda, one thing after the other, on the thread
// that runs the seed.

import OpClusterModel
import OpClusterScheduling

final class World {
  let seed: UInt64
  var plan: Plan
  let mutant: Mutant?
  let tracer: Tracer
  var now = Instant(nanoseconds: 1_000_000_000)
  var agenda = Agenda()
  /// For the network and for faults.
  var chance: Chance
  let coordinator = Coordinator()
  var workers: [Worker] = []
  var clients: [Client] = []
  var connections: [Connection] = []
  /// Looked up, never iterated.
  var connectionByPeer: [PeerID: Int] = [:]
  var lastPeer: UInt64 = 0

  // Witnesses
  var book = Book()
  /// The whole journal replayed as it became durable, from the first turn on.
  var shadow: Scheduler
  /// When the coordinator last took a word of each session in.
  var heard: [WorkerSession: Instant] = [:]
  var deadSessions: Set<WorkerSession> = []
  /// Where each session was welcomed last: what it says elsewhere is not heard.
  var welcomedAt: [WorkerSession: PeerID] = [:]
  /// Sessions that were given orders while they were suspects, which prolongs what they take for
  /// their lease.
  var orderedInSilence: Set<WorkerSession> = []
  var sessionOf: [WorkerID: WorkerSession] = [:]
  /// What was durable when each welcome was decided.
  var welcomes: [Conversation: CommitIndex] = [:]
  var acknowledged: [SubmissionKey: (graph: GraphID, submission: GraphSubmission)] = [:]
  var keys: [SubmissionKey] = []
  var violation: Violation?

  // How it goes
  var isHealed = false
  var healedAt = Instant.zero
  var durableTurns = 0
  var answers = 0
  var refusals: [String: Int] = [:]
  var steps = 0
  var faults = Array(repeating: 0, count: Fault.allCases.count)

  init(seed: UInt64, mutant: Mutant? = nil, tracer: Tracer) {
    self.seed = seed
    self.mutant = mutant
    self.tracer = tracer
    plan = Plan(seed: seed)
    chance = Chance(seed, purpose: 2)
    shadow = Scheduler(timing: plan.timing)
    for (at, machine) in plan.workers.enumerated() {
      workers.append(Worker(name: "w\(at)", machine: machine))
    }
  }

  var wall: WallTime { WallTime(milliseconds: now.nanoseconds / 1_000_000) }

  /// Lives until everything has ended, something is wrong, or time is up.
  func run() {
    startCoordinator()
    for at in workers.indices {
      agenda.plan(.workerStarts(worker: at), at: now + chance.milliseconds(0, 300))
    }
    for at in 0..<plan.clients {
      let client = Client(
        connection: open(.client(at)), chance: Chance(seed, purpose: 100 + UInt64(at)),
        submissionsLeft: plan.graphs)
      clients.append(client)
      agenda.plan(.clientActs(client: at), at: now + chance.milliseconds(0, 500))
    }
    for fault in Fault.allCases { planFault(fault) }
    agenda.plan(.heal, at: now + plan.turmoil)
    while violation == nil, let (moment, what) = agenda.next() {
      now = moment
      steps += 1
      happen(what)
      if isHealed {
        if isQuiet { break }
        if now > healedAt + World.patience || steps > World.stepBound { stuck() }
      }
    }
    if violation == nil { expectQuiet() }
  }

  /// How long everything may take to end once nothing goes wrong any more.
  private static let patience = Span.seconds(900)
  private static let stepBound = 2_000_000

  private func happen(_ what: Happening) {
    switch what {
    case .arrival(let delivery): arrive(delivery)
    case .coordinatorTurn(let life): coordinatorTurn(life: life)
    case .syncEnds(let life): syncEnds(life: life)
    case .coordinatorStarts: startCoordinator()
    case .peerGone(let peer, let life):
      guard coordinator.isUp, coordinator.life == life else { return }
      coordinator.gonePeers.append(peer)
      planCoordinatorTurn(at: now)
    case .workerTurn(let worker, let life): workerTurn(worker, life: life)
    case .workerStarts(let worker): startWorker(worker)
    case .broken(let connection): noticeBroken(connection)
    case .processEnds(let worker, let life, let attempt):
      processEnds(attempt, worker, life: life)
    case .clientActs(let client): clientActs(client)
    case .clientRepeats(let client, let id): clientRepeats(client, id)
    case .fault(let fault): happen(fault)
    case .heal: heal()
    case .tidyUp: tidyUp()
    }
  }

  func fail(_ rule: String, _ text: String) {
    guard violation == nil else { return }
    violation = Violation(rule: rule, text: text, at: now)
    trace("VIOLATION \(rule): \(text)")
  }

  func takeProblems() {
    guard let first = book.problems.first else { return }
    fail(first.rule, first.text)
    book.problems = []
  }
}
