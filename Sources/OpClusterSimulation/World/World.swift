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
  let mishaps: [Mishap]
  /// What is replayed; nil: the seed decides.
  let script: WorldScript?
  let scripted: ScriptedVerdicts?
  /// What is being recorded.
  var recording: WorldScript?
  /// Messages that each owner was sent and has sent, also those that were lost.
  var said: [Connection.Owner: [Int]] = [:]
  var syncs = 0
  /// Draws so far, by place.
  var drawn = Array(repeating: 0, count: Place.allCases.count + 1)
  /// Of the script, not yet asked.
  var asksLeft = 0
  let timing = Timing()
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
  /// Where each session greeted last.
  var greetedAt: [WorkerSession: PeerID] = [:]
  /// The coordinator was told that they are gone.
  var gonePeers: Set<PeerID> = []
  /// When something last really left for whom was welcomed there.
  var spokenTo: [PeerID: Instant] = [:]
  /// Sessions that were given orders while they were suspects, which prolongs what they take for
  /// their lease.
  var orderedInSilence: Set<WorkerSession> = []
  /// The newest copy of the journal.
  var backup: Backup?
  var restores: [Restore] = []
  /// The newest commit of which each session was told.
  var told: [WorkerSession: CommitIndex] = [:]
  /// Sessions that were told what the journal has lost since: the graphs below this number are the
  /// same for both.
  var foreign: [WorkerSession: UInt32] = [:]
  /// Who last said hello over each connection.
  var greetings: [PeerID: WorkerSession] = [:]
  /// Sessions whose place another process of the same name took while they were not heard.
  var displaced: Set<WorkerSession> = []
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
  var faults = 0
  /// By name, where somebody wants to know.
  var effectCounts: [String: Int]?
  /// When the journal was last compared with the living state.
  var comparedAt = 0
  static let comparisonSteps = 50

  /// The world of a seed, or of a script.
  init(
    seed: UInt64, script: WorldScript? = nil, mutant: Mutant? = nil, isRecorded: Bool = false,
    tracer: Tracer
  ) {
    self.seed = script?.seed ?? seed
    self.script = script
    self.mutant = mutant
    self.tracer = tracer
    plan = script?.plan ?? Plan(seed: seed)
    asksLeft = script?.asks.count ?? 0
    scripted = script.map { ScriptedVerdicts($0) }
    mishaps = script?.mishaps ?? plan.mishaps(seed: seed, from: now)
    if isRecorded {
      recording = WorldScript(seed: self.seed, plan: plan, mishaps: mishaps)
    }
    shadow = Scheduler(timing: timing)
    for (at, machine) in plan.workers.enumerated() {
      workers.append(Worker(name: "w\(at)", machine: machine))
    }
    book.hasUnableWorkers = plan.unablePercent > 0
    for worker in workers { book.labelsByName[worker.name] = worker.machine.labels }
  }

  var wall: WallTime { WallTime(milliseconds: now.nanoseconds / 1_000_000) }

  /// Lives until everything has ended, something is wrong, or time is up.
  func run() {
    startCoordinator()
    for at in workers.indices {
      var chance = draw(.birth, at)
      agenda.plan(.workerStarts(worker: at), at: now + chance.milliseconds(0, 300))
    }
    for at in 0..<plan.clients {
      let client = Client(
        connection: open(.client(at)), chance: Chance(seed, purpose: 100 + UInt64(at)),
        submissionsLeft: script == nil ? plan.graphs : 0)
      clients.append(client)
      if script != nil { continue }
      agenda.plan(.clientActs(client: at), at: now + clients[at].chance.milliseconds(0, 500))
    }
    if let script {
      for at in script.asks.indices { agenda.plan(.clientAsks(at), at: script.asks[at].at) }
    }
    for at in mishaps.indices { agenda.plan(.mishap(at), at: mishaps[at].at) }
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
    case .guardLooks(let worker, let life): guardLooks(worker, life: life)
    case .clientActs(let client): clientActs(client)
    case .clientRepeats(let client, let id): clientRepeats(client, id)
    case .clientAsks(let at): clientAsks(at)
    case .mishap(let at): happen(mishaps[at])
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
