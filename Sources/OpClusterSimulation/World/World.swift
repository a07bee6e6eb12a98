// The world of one seed: one coordinator, workers, clients, a network and a disk on one virtual
// clock, with all that the oracles know. The state only: what happens to it is above, in the shells
// of the actors and in Happenings.swift.

import OpClusterModel
import OpClusterScheduling

final class World {
  let seed: UInt64
  var plan: Plan
  let mutant: Mutant?
  let tracer: Tracer
  var now = Instant(nanoseconds: 1_000_000_000)
  var agenda = Agenda<Happening>()
  let mishaps: [Mishap]
  /// The replayed script; nil: the seed decides.
  let script: WorldScript?
  let scripted: ScriptedVerdicts?
  /// The script that is being recorded.
  var recording: WorldScript?
  /// The numbers of messages to and from each owner, including lost ones.
  var said: [Connection.Owner: [Int]] = [:]
  var syncs = 0
  private var draws: Draws
  /// The requests of the script that are not sent yet.
  var asksLeft = 0
  let timing = Timing()
  let coordinator = Coordinator()
  var workers: [Worker] = []
  var clients: [Client] = []
  var connections: [Connection] = []
  /// Looked up, never iterated.
  var connectionByPeer: [PeerID: Int] = [:]
  var lastPeer: UInt64 = 0

  // Oracles:
  var ledger = ShadowLedger()
  /// The whole journal, replayed as it became durable, from the first turn on.
  var shadow: Scheduler
  /// When the coordinator last handled a message of each session.
  var heard: [WorkerSession: Instant] = [:]
  var deadSessions: Set<WorkerSession> = []
  /// The connection at which each session was last welcomed: its messages elsewhere are not heard.
  var welcomedAt: [WorkerSession: PeerID] = [:]
  /// The connection at which each session last said hello.
  var greetedAt: [WorkerSession: PeerID] = [:]
  /// Peers that the coordinator was told are gone.
  var gonePeers: Set<PeerID> = []
  /// When a message last really left for a worker welcomed there.
  var spokenTo: [PeerID: Instant] = [:]
  /// Sessions that got orders while they were suspects, which prolongs their assumed lease.
  var orderedInSilence: Set<WorkerSession> = []
  /// What the disks of dead machines had.
  var lostContents: Set<ContentDigest> = []
  var handovers = Handovers()
  /// The newest copy of the journal.
  var backup: Backup?
  var restores: [Restore] = []
  /// The newest commit that each session was told.
  var told: [WorkerSession: CommitIndex] = [:]
  /// Sessions that were told facts which the journal has lost since: only the graphs below this
  /// number are the same for both.
  var foreign: [WorkerSession: UInt32] = [:]
  /// The session that last said hello over each connection.
  var greetings: [PeerID: WorkerSession] = [:]
  /// Sessions that another process of the same name replaced while they were silent.
  var displaced: Set<WorkerSession> = []
  var sessionOf: [WorkerID: WorkerSession] = [:]
  /// The durable commit when each welcome was decided.
  var welcomes: [Conversation: CommitIndex] = [:]
  var acknowledged: [SubmissionKey: (graph: GraphID, submission: GraphSubmission)] = [:]
  var keys: [SubmissionKey] = []
  var violation: Violation?

  /// The size of the pages of operations' states: mostly small, so that few operations change
  /// together. The shadow has the usual ones, and must come to the same.
  var pageBits: UInt32 { UInt32(seed % 4) }
  /// Mostly so few that a cancellation, and what follows from an end, takes several turns.
  var share: TurnShare {
    TurnShare(
      graphs: Int(1 + seed % 5), operations: Int(3 + seed % 6),
      endSteps: seed % 3 == 0 ? Limits.endStepsPerTurn : UInt32(1 + seed % 11))
  }

  // Progress:
  var isHealed = false
  var healedAt = Instant.zero
  var durableTurns = 0
  var answers = 0
  var refusals: [String: Int] = [:]
  var steps = 0
  var faults = 0
  /// By name; nil if nobody asked for them.
  var effectCounts: [String: Int]?
  /// The step of the last comparison of the journal with the living state.
  var comparedAt = 0
  static let comparisonSteps = 50

  /// The world of a seed, or of a script.
  init(
    seed: UInt64, script: WorldScript? = nil, mutant: Mutant? = nil, isRecorded: Bool = false,
    tracer: Tracer
  ) {
    self.seed = script?.seed ?? seed
    draws = Draws(seed: self.seed)
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
    // Who waits for a content is passed over, too.
    ledger.hasUnableWorkers = plan.unablePercent > 0 || plan.contentPercent > 0
    for worker in workers { ledger.labelsByName[worker.name] = worker.machine.labels }
  }

  var wall: WallTime { WallTime(milliseconds: now.nanoseconds / 1_000_000) }

  func fail(_ rule: String, _ text: String) {
    guard violation == nil else { return }
    violation = Violation(rule: rule, text: text, at: now)
    trace("VIOLATION \(rule): \(text)")
  }

  func takeProblems() {
    guard let first = ledger.problems.first else { return }
    fail(first.rule, first.text)
    ledger.problems = []
  }

  func note(_ mark: Mark, _ first: UInt64, _ second: UInt64 = 0, _ text: () -> String) {
    tracer.note(mark, first, second, at: now, text)
  }
  func trace(_ text: @autoclosure () -> String) { tracer.say(at: now, text) }

  /// A draw that depends only on the seed and these names.
  func draw(_ place: Place, _ first: Int, _ second: Int = 0) -> Chance {
    draws.named(place, first, second)
  }

  /// The next draw of its kind.
  func draw(_ place: Place) -> Chance { draws.next(place) }
}
