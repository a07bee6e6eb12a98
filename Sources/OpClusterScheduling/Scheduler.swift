// The coordinator's mind: the state that facts come to, and every decision about it. A value
// without a clock, without chance and without I/O; a test holds it in its hand.
//
//   var turn = Turn()
//   turn.begin(at: now, wall: wall)
//   scheduler.handle(input, into: &turn)     // as many as came
//   scheduler.close(&turn)                   // assigns, seals
//   // the body makes the turn durable, then speaks
//
// Where to read on: `LifeCycle` (the phases), `ClusterState` and `Applying` (facts change state,
// and nothing else does), `Consequences` (what follows beyond it), `Opening` and `Ending` (how
// operations unblock each other), `Assignment` (who runs what), `Conversations` and `Reports`
// (workers), `Requests` and `Steering` (clients).

import DequeModule
import HeapModule
public import OpClusterModel

public struct Scheduler: Sendable {
  /// What the facts come to. Read by the names below; `commit` changes it.
  var state = ClusterState()

  // Not durable
  var timing: Timing
  /// One for each of `workers`, under the same number.
  var conversations = Registry<WorkerConversation>()
  var workerByPeer: [PeerID: WorkerID] = [:]
  /// Counts the conversations of this life: a session that was lost and comes back must not find
  /// the number of an earlier one again.
  var lastConversation: UInt32 = 0
  /// Counts how often a worker could give more or less than before in the same conversation.
  var capacityChanges: UInt32 = 0
  /// Those with processes that KILL does not end, few among many.
  var unwellWorkers: Set<UInt32> = []
  var backoffs: Heap<Backoff> = []
  var alarms: Heap<Alarm> = []
  /// Of workers that could not start something; some are of rests that have ended otherwise.
  var abstentionEnds: Heap<AbstentionEnd> = []
  /// Of what others could not start; some are of attempts that have ended since.
  var startConfirmations: Heap<StartConfirmation> = []
  /// Those that were lost, and are not back.
  var downWorkers = DownWorkers()
  /// Graphs whose history the body has still to forget.
  var removed: [GraphID] = []
  /// Workers that are set aside with the turn, or are no longer.
  var troubleChanges: [Record] = []
  var deferred: [DeferredRequest] = []
  /// While above 0, nothing is dispatched ahead of time: a cancellation waits for recalls.
  var aheadPauses = 0
  /// What failure policies have yet to end; while there is any, nothing is dispatched ahead.
  var lingering: [Lingering] = []
  /// In line, but kept out of it until the next turn: no worker was there that may take them.
  var doubtful: [OperationID] = []
  var rotation: UInt32 = 0
  var lastTick: Instant = .zero
  /// Before this moment exclusive operations may still run of which the journal knows nothing; nil:
  /// there are none.
  var exclusivesFrom: Instant?
  /// In this life: workers may know what its journal does not.
  var mayHaveGoneBack = false
  /// Scratch of `assign`; says nothing between turns.
  var assignmentPass = AssignmentPass()
  /// What running attempts last said of themselves.
  var progress: [OperationID: OperationRow.Progress] = [:]
  /// What running attempts wait for (S141). Looked up, never iterated.
  var waits: [OperationID: WaitTarget] = [:]
  /// Where clients connect to; told to workers, for operations that submit others.
  public var clientEndpoint = ""
  /// Late words from workers, counted (S17).
  public internal(set) var lateReports: UInt64 = 0

  /// An empty cluster with the queue `default`.
  public init(timing: Timing = Timing()) {
    self.timing = timing
  }

  /// The beginning of a new life of the coordinator, after everything was replayed: workers that
  /// were known get `Timing.resync` to come back (S150).
  ///
  /// - Parameters:
  ///   - number: Random, the life's own (`CoordinatorLife.number`); 0: it cannot be told from
  ///     another of the same epoch.
  ///   - mayHaveGoneBack: The journal may be older than what workers were told, so that exclusive
  ///     operations may run of which it knows nothing: none begins before `Timing.lost` (G16).
  public mutating func start(
    life number: UInt64 = 0, mayHaveGoneBack: Bool = false, into turn: inout Turn
  ) {
    if SchedulingBug.sameEpoch.isPlanted, counters.epoch.number > 0 { return }
    turn.commit = CommitIndex(lastCommit.number + 1)
    let life = CoordinatorLife(Epoch(counters.epoch.number + 1), number: number)
    commit(.started(life), into: &turn)
    self.mayHaveGoneBack = mayHaveGoneBack
    // Of a journal in which nothing says when graphs ended: their keys count from now on.
    if keys.hasUntimed { commit(.keysDated(turn.wall), into: &turn) }
    exclusivesFrom = mayHaveGoneBack ? turn.now + timing.lost : nil
    lastTick = turn.now
    alarms = []
    for number in graphs.numbers { setAlarms(GraphID(number), at: turn.now, wall: turn.wall) }
    for number in workers.numbers {
      conversations[number].lastHeard = turn.now + timing.resync - timing.lost
    }
    resumeFailurePolicies(into: &turn)
  }

  /// Takes one input in. Nothing leaves before `close`.
  public mutating func handle(_ input: Input, into turn: inout Turn) {
    turn.commit = CommitIndex(lastCommit.number + 1)
    switch input {
    case .worker(let peer, let message): handleWorker(peer, message, into: &turn)
    case .client(let peer, let request, let what, let onlyOf):
      handleClient(Asker(peer: peer, request: request, onlyOf: onlyOf), what, into: &turn)
    case .gone(let peer): forgetPeer(peer)
    case .tick(let durable): handleTick(durable, into: &turn)
    }
  }

  /// Ends a turn: decides who runs what, seals records, events and orders.
  public mutating func close(_ turn: inout Turn) {
    turn.commit = CommitIndex(lastCommit.number + 1)
    applyFailurePolicies(into: &turn)
    settleDeferred(into: &turn)
    assign(into: &turn)
    commitTroubles(into: &turn)
    state.tellQueueCounts(into: &turn)
    // When graphs with keys ended is a fact of its own: their keys live so long from then on.
    if state.endsKeys { commit(.keysDated(turn.wall), into: &turn) }
    forgetAtWorkers(state.endGraphs(into: &turn), into: &turn)
    turn.sealRecords()
    state.close(&turn)
    settleWelcomes(&turn)
    sendOrders(into: &turn)
  }

  /// Decides a fact: it takes effect and will be journaled.
  mutating func commit(_ record: Record, into turn: inout Turn) {
    state.apply(record, into: &turn)
    follow(record, into: &turn)
    takeConsequences(of: &turn)
    turn.note(record)
  }

  /// The same of one operation; neighbours with the same fact share a record.
  mutating func commit(_ fact: RunFact, _ id: OperationID, into turn: inout Turn) {
    state.apply(fact, to: id, into: &turn)
    takeConsequences(of: &turn)
    turn.note(fact, id)
  }
}

// What everybody here may read, and nobody assign.
extension Scheduler {
  var counters: Counters { state.counters }
  var graphs: Registry<Graph> { _read { yield state.graphs } }
  var queues: Registry<Queue> { _read { yield state.queues } }
  var workers: Registry<WorkerRecord> { _read { yield state.workers } }
  var classes: DemandClasses { _read { yield state.classes } }
  var ended: [GraphID: EndedGraph] { _read { yield state.ended } }
  var keys: SubmissionKeys { _read { yield state.keys } }
  var queueByName: [String: QueueID] { _read { yield state.queueByName } }
  var workerByName: [String: WorkerID] { _read { yield state.workerByName } }
  var workerBySession: [WorkerSession: WorkerID] { _read { yield state.workerBySession } }
  var linedQueues: [UInt32] { _read { yield state.linedQueues } }
  var moments: [OperationID: Moments] { _read { yield state.moments } }
  /// Commits so far; the next turn with records is one higher.
  public var lastCommit: CommitIndex { state.lastCommit }
}

/// Who waits for an answer.
struct Asker: Hashable, Sendable {
  var peer: PeerID
  var request: RequestID
  /// The submitter whose graphs alone it may change; nil: those of everybody.
  var onlyOf: String?
}
