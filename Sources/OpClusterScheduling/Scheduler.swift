// The coordinator's decisions: the state that results from facts, and every decision about it. A
// value without a clock, randomness or I/O, so that a test can hold and step it directly.
//
//   var turn = Turn()
//   turn.begin(at: now, wall: wall)
//   scheduler.handle(input, into: &turn)     // as many as came
//   scheduler.close(&turn)                   // assigns, seals
//   // the body makes the turn durable, then speaks
//
// Where to read on: `LifeCycle` (the phases), `ClusterState` and `FactApplication` (only facts
// change state), `Consequences` (effects beyond the state), `Readiness` and `OperationEnds` (how
// operations unblock each other), `Assignment` (the choice of a worker for each operation),
// `Conversations` and `Reports` (workers), `Requests` and `OperationChanges` (clients).

import DequeModule
import HeapModule
public import OpClusterModel

public struct Scheduler: Sendable {
  /// The state that results from all facts. Read it through the properties below; `commit` changes
  /// it.
  var state = ClusterState()

  // Not durable
  var timing: Timing
  /// One conversation for each of `workers`, under the same number.
  var conversations = Registry<WorkerConversation>()
  var workerByPeer: [PeerID: WorkerID] = [:]
  /// Counts the conversations of this life: a lost session that returns must not get the number of
  /// an earlier conversation.
  var lastConversation: UInt32 = 0
  /// Counts the changes of a worker's capacity or withheld classes within a conversation.
  var capacityChanges: UInt32 = 0
  /// Workers with processes that KILL does not end; usually few.
  var unwellWorkers: Set<UInt32> = []
  var backoffs: Heap<Backoff> = []
  var alarms: Heap<Alarm> = []
  /// The ends of rests and tries of workers after failed starts; some entries are obsolete, since
  /// the rest ended for another reason.
  var abstentionEnds: Heap<AbstentionEnd> = []
  /// The moments at which awaited starts count as certain; some attempts have ended since.
  var startConfirmations: Heap<StartConfirmation> = []
  /// Lost workers that have not returned.
  var downWorkers = DownWorkers()
  /// Removed graphs whose history the body must still delete.
  var removed: [GraphID] = []
  /// Workers that this turn sets aside or takes back into service.
  var troubleChanges: [Record] = []
  var deferred: [DeferredRequest] = []
  /// While above 0, nothing is dispatched ahead of time: a cancellation waits for recalls.
  var aheadPauses = 0
  /// Members that failure policies have yet to end; while there are any, nothing is dispatched
  /// ahead.
  var lingering: [Lingering] = []
  /// Ready operations kept out of line until the next turn, because no present worker may take
  /// them.
  var doubtful: [OperationID] = []
  var rotation: UInt32 = 0
  var lastTick: Instant = .zero
  /// Until this moment exclusive operations unknown to the journal may still run; nil: there are
  /// none.
  var exclusivesFrom: Instant?
  /// True in a life whose workers may know facts that its journal lacks.
  var mayHaveGoneBack = false
  /// Scratch storage of `assign`; has no meaning between turns.
  var assignmentPass = AssignmentPass()
  /// The latest progress report of each running attempt.
  var progress: [OperationID: OperationRow.Progress] = [:]
  /// The targets that running attempts wait for (S141). Looked up, never iterated.
  var waits: [OperationID: WaitTarget] = [:]
  /// The address for clients; told to workers, for operations that submit others.
  public var clientEndpoint = ""
  /// The number of late reports from workers (S17).
  public internal(set) var lateReports: UInt64 = 0

  /// An empty cluster with the queue `default`.
  public init(timing: Timing = Timing()) {
    self.timing = timing
  }

  /// Begins a new life of the coordinator, after the replay: known workers get `Timing.resync` to
  /// return (S150).
  ///
  /// - Parameters:
  ///   - number: The random number of this life (`CoordinatorLife.number`); 0: the life cannot be
  ///     distinguished from another of the same epoch.
  ///   - mayHaveGoneBack: The journal may be older than the orders that workers received, so
  ///     exclusive operations unknown to it may run: none begins before `Timing.lost` has passed
  ///     (G16).
  public mutating func start(
    life number: UInt64 = 0, mayHaveGoneBack: Bool = false, into turn: inout Turn
  ) {
    if SchedulingBug.sameEpoch.isPlanted, counters.epoch.number > 0 { return }
    turn.commit = CommitIndex(lastCommit.number + 1)
    let life = CoordinatorLife(Epoch(counters.epoch.number + 1), number: number)
    commit(.started(life), into: &turn)
    self.mayHaveGoneBack = mayHaveGoneBack
    // The journal does not date the end of some graphs with keys: their keys count from now on.
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

  /// Handles one input. Effects leave only after `close`.
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

  /// Ends a turn: assigns operations to workers, then seals records, events and orders.
  public mutating func close(_ turn: inout Turn) {
    turn.commit = CommitIndex(lastCommit.number + 1)
    applyFailurePolicies(into: &turn)
    settleDeferred(into: &turn)
    assign(into: &turn)
    commitTroubles(into: &turn)
    state.tellQueueCounts(into: &turn)
    // The end of graphs with keys is dated by a fact of its own: the life of their keys counts from
    // it.
    if state.endsKeys { commit(.keysDated(turn.wall), into: &turn) }
    forgetAtWorkers(state.endGraphs(into: &turn), into: &turn)
    turn.sealRecords()
    state.close(&turn)
    settleWelcomes(&turn)
    sendOrders(into: &turn)
  }

  /// Commits a fact: it takes effect and will be journaled.
  mutating func commit(_ record: Record, into turn: inout Turn) {
    state.apply(record, into: &turn)
    follow(record, into: &turn)
    takeConsequences(of: &turn)
    turn.note(record)
  }

  /// Commits a fact about one operation; neighbours with the same fact share a record.
  mutating func commit(_ fact: RunFact, _ id: OperationID, into turn: inout Turn) {
    state.apply(fact, to: id, into: &turn)
    takeConsequences(of: &turn)
    turn.note(fact, id)
  }
}

// Read-only access to the state for the whole module.
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
  /// The number of commits so far; the next turn with records is one higher.
  public var lastCommit: CommitIndex { state.lastCommit }
}

/// The client that waits for an answer.
struct Asker: Hashable, Sendable {
  var peer: PeerID
  var request: RequestID
  /// The only submitter whose graphs the client may change; nil: the graphs of all submitters.
  var onlyOf: String?
}
