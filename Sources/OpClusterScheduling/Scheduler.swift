// The coordinator's mind: the graphs, the queues, the workers, and every decision about them. A
// value without a clock, without chance and without I/O; a test holds it in its hand.
//
//   var turn = Turn()
//   turn.begin(at: now, wall: wall)
//   scheduler.handle(input, into: &turn)     // as many as came
//   scheduler.close(&turn)                   // assigns, seals
//   // the body makes the turn durable, then speaks
//
// Where to read on: `LifeCycle` (the phases), `Applying` (facts change state, and nothing else
// does), `Opening` and `Ending` (how operations unblock each other), `Assignment` (who runs what),
// `Conversations` and `Reports` (workers), `Requests` and `Steering` (clients).

import DequeModule
import HeapModule
public import OpClusterModel

public struct Scheduler: Sendable {
  // Durable: changed by `apply` alone
  var counters = Counters()
  var graphs = Registry<Graph>()
  var queues = Registry<Queue>()
  var workers = Registry<WorkerRecord>()
  /// Looked up, never iterated.
  var queueByName: [String: QueueID] = [:]
  var ended: [GraphID: EndedGraph] = [:]
  var endedOrder: Deque<GraphID> = []
  var keys = SubmissionKeys()
  /// Commits so far; the next turn with records is one higher.
  public internal(set) var lastCommit = CommitIndex(0)

  // Derived from the above
  var classes = DemandClasses()
  var outputAccounts = OutputAccounts()
  /// Graphs that have dependencies on others, ascending; some may have ended since.
  var citing: [UInt32] = []
  /// Graphs whose last operation ended in this turn.
  var justEnded: [GraphID] = []
  /// Graphs in which something failed in this turn.
  var failedGraphs: [GraphID] = []
  /// Queues whose count may have changed in this turn, each once.
  var dirtyQueues: [UInt32] = []

  // Not durable
  var timing: Timing
  /// One for each of `workers`, under the same number.
  var conversations = Registry<WorkerConversation>()
  var workerByPeer: [PeerID: WorkerID] = [:]
  /// The newest worker of a name.
  var workerByName: [String: WorkerID] = [:]
  var workerBySession: [WorkerSession: WorkerID] = [:]
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
  /// Every queue with somebody in line, ascending; in some of them nobody may be any more.
  var linedQueues: [UInt32] = []
  /// Queues whose lines are to be swept.
  var crowdedQueues: [UInt32] = []
  var rotation: UInt32 = 0
  var lastTick: Instant = .zero
  /// Before this moment exclusive operations may still run of which the journal knows nothing; nil:
  /// there are none.
  var exclusivesFrom: Instant?
  /// In this life: workers may know what its journal does not.
  var mayHaveGoneBack = false
  /// Scratch of `assign`; says nothing between turns.
  var assignmentPass = AssignmentPass()
  /// Of unfinished operations that became ready by themselves, or execute. Not durable.
  var moments: [OperationID: Moments] = [:]
  /// What running attempts last said of themselves.
  var progress: [OperationID: OperationRow.Progress] = [:]
  /// What running attempts wait for (S141). Looked up, never iterated.
  var waits: [OperationID: WaitTarget] = [:]
  /// Where clients connect to; told to workers, for operations that submit others.
  public var clientEndpoint = ""
  /// Late words from workers, counted (S17).
  public internal(set) var lateReports: UInt64 = 0

  struct Backoff: Comparable, Sendable {
    var until: Instant
    var operation: OperationID
    var attempt: UInt32
    static func < (a: Self, b: Self) -> Bool {
      (a.until, a.operation) < (b.until, b.operation)
    }
  }

  /// An empty cluster with the queue `default`.
  public init(timing: Timing = Timing()) {
    self.timing = timing
    addQueue(QueueID.main, QueueSettings(name: "default"), owner: nil)
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

  public var epoch: Epoch { counters.epoch }
  public var life: CoordinatorLife {
    counters.lives.last?.life ?? CoordinatorLife(counters.epoch)
  }
  public var lastEvent: UInt64 { counters.lastEvent }

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
    assign(into: &turn)
    commitTroubles(into: &turn)
    tellQueueCounts(into: &turn)
    endGraphs(into: &turn)
    turn.sealRecords()
    for at in turn.events.indices {
      turn.events[at].first.sequence = counters.lastEvent + 1
      counters.lastEvent += UInt64(turn.events[at].count)
    }
    if turn.isDurable { lastCommit = turn.commit }
    settleWelcomes(&turn)
    sendOrders(into: &turn)
  }

  /// Decides a fact: it takes effect and will be journaled.
  mutating func commit(_ record: Record, into turn: inout Turn) {
    apply(record, into: &turn)
    turn.note(record)
  }

  /// The same of one operation; neighbours with the same fact share a record.
  mutating func commit(_ fact: RunFact, _ id: OperationID, into turn: inout Turn) {
    apply(fact, to: id, into: &turn)
    turn.note(fact, id)
  }
}

/// Who waits for an answer.
struct Asker: Hashable, Sendable {
  var peer: PeerID
  var request: RequestID
  /// The submitter whose graphs alone it may change; nil: those of everybody.
  var onlyOf: String?
}
