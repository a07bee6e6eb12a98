// The coordinator's decisions: the state that results from facts, and every decision about it. A
// value without a clock, randomness or I/O, so that a test can hold and step it directly.
//
//   var turn = SchedulingTurn()
//   turn.begin(at: now, wall: wall)
//   scheduler.handle(input, into: &turn)     // as many as came
//   scheduler.close(&turn)                   // assigns, seals
//   // the body makes the turn durable, then speaks
//
// Read on in `TurnOrder` (the steps of a turn), `Commit` (the way of a fact into the state),
// `State` (the facts, and everything that follows from them; its `LifeCycle` has the phases,
// `OperationEnds` and `Readiness` show how operations unblock each other), `Assignment` (the choice
// of a worker for each operation), `Conversations` and `Reports` (workers), `Requests` and
// `OperationChanges` (clients).

import DequeModule
import HeapModule
public import OpClusterModel

public struct Scheduler: Sendable {
  /// The state that results from all facts. Read it through the properties below; `commit` changes
  /// it.
  var state: ClusterState

  // Not durable
  var timing: Timing
  /// One conversation for each of `workers`, under the same number.
  var conversations = WatchedRegistry<WorkerConversation>()
  var workerByPeer: [PeerID: WorkerID] = [:]
  /// Counts the conversations of this life: a lost session that returns must not get the number of
  /// an earlier conversation.
  var lastConversation: UInt32 = 0
  /// Counts the changes of a worker's capacity or withheld classes within a conversation.
  var capacityChanges: UInt32 = 0
  /// Workers with processes that KILL does not end; usually few.
  var unwellWorkers: Set<UInt32> = []
  /// The workers by what they can take and by their deadlines.
  var workerIndex = WorkerIndex()
  /// The same of the workers of each pool.
  var workerPools = WorkerPools()
  /// The workers by what they offer, and by the kinds of demand that they serve.
  var workerOffers = WorkerOffers()
  var kindServers = KindServers()
  /// The bits of kinds that are compared on demand: every worker has them.
  var blurredKindBits: UInt64 = 0
  /// The lines by what waits in them.
  var lineIndex = LineIndex()
  /// The workers that have changed since the others refused all that sleeps in the lines; at most
  /// `FreshWorkers.few`, else all count as changed.
  var freshWorkers = FreshWorkers()
  /// Which workers are looked at, because they hold what others could start.
  var surplusLooks = SurplusLooks()
  /// Queues with classes that no worker could ever run; some have none any more.
  var restingQueues: [UInt32] = []
  /// By demand class. Looked up, never iterated.
  var eligibleWorkers: [Int: EligibleWorkers] = [:]
  /// Workers whose welcome may wait for the disk.
  var welcomedWorkers: [UInt32] = []
  /// An earlier state without its graphs, while these are copied.
  var partialImage: ClusterImage?
  /// The workers that were told of each living graph.
  var toldWorkers = ToldWorkers()
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
  /// Questions of what would not be done again, the oldest first; at most `Limits.forecasts`.
  var forecasts: Deque<(asker: Asker, forecast: ReuseForecast)> = []
  /// While above 0, nothing is dispatched ahead of time: a cancellation waits for recalls.
  var aheadPauses = 0
  var aheadStops = AheadStops()
  /// The deferred requests of which parts are left; at most `Limits.requestsInParts`.
  var requestsInParts = 0
  let share: TurnShare
  /// Whether the last turn left ends to this one.
  var endsWerePending = false
  /// Members that failure policies have yet to end; while there are any, nothing is dispatched
  /// ahead.
  var lingering: [Lingering] = []
  /// What failure policies have yet to look at.
  var policies: Deque<PolicyProgress> = []
  /// Ready operations kept out of line until a later turn, because no worker with room may take
  /// them; those that have waited longest come first.
  var doubtful: Deque<OperationID> = []
  /// So many of them, up to the last for which no worker was looked for yet, are due at once.
  var doubtfulUntried = 0
  /// Which worker has which contents.
  var holders = HolderIndex()
  /// Operations kept out of line until somebody has what they need.
  var contentWaits = ContentWaits()
  var placedContents = PlacedContents()
  /// Until when a submitter counts as waiting for a worker to leave files with.
  package internal(set) var storesWantedUntil = Instant.distantPast
  /// Copies of contents that are to lie in several stores, or elsewhere than now.
  var contentCopies = ContentCopies()
  var drainingStores = DrainingStores()
  /// Contents on their way to workers that cannot fetch them.
  var contentDeliveries = ContentDeliveries()
  var largeContentReaders = LargeContentReaders()
  /// From so many bytes on, readers of a content are told of each new holder.
  package var largeContentBytes = Limits.largeContentBytes
  /// Those of them that need another way, decided at the end of the turn; empty between turns.
  var undecidedDeliveries: [ContentDeliveries.Want] = []
  var storeRotation = StoreRotation()
  /// The workers that were there when this life began; some have come back since, or have left.
  var unheardWorkers: [UInt32] = []
  var reuseDigests = ReuseDigests()
  /// What workers were told of in this turn, or have told of; empty between turns.
  var toldContents: Set<ToldContent> = []
  /// What workers have said in this turn that they have, in order; empty between turns.
  var reportedContents: [ToldContent] = []
  var rotation: UInt32 = 0
  var lastTick: Instant = .zero
  /// Until this moment exclusive operations unknown to the journal may still run; nil: there are
  /// none.
  var exclusivesFrom: Instant?
  /// Until this moment known workers may still return, with what they have.
  var resyncEnd: Instant = .zero
  /// The same, if there were any: then it is known again who has what.
  var copiesFrom: Instant = .zero
  /// True in a life whose workers may know facts that its journal lacks.
  var mayHaveGoneBack = false
  /// Scratch storage of `assign`; has no meaning between turns.
  var assignmentPass = AssignmentPass()
  /// The number of visited workers, of nodes of their index, and of their orders; for tests.
  var looks = 0
  /// The latest progress report of each running attempt.
  var progress: [OperationID: OperationRow.Progress] = [:]
  /// The targets that running attempts wait for (S141). Looked up, never iterated.
  var waits: [OperationID: WaitTarget] = [:]
  /// The address for clients; told to workers, for operations that submit others.
  public var clientEndpoint = ""
  /// The number of late reports from workers (S17).
  public internal(set) var lateReports: UInt64 = 0

  /// An empty cluster with the queue `default`.
  ///
  /// - Parameters:
  ///   - pageBits: The size of the pages in which states of operations are kept, as a power of two,
  ///     0 to 16; nil: the usual one. It changes costs, and no meaning.
  ///   - share: The size of the parts in which requests about many graphs are carried out, and
  ///     of those in which ends are followed.
  package init(
    timing: Timing = Timing(), pageBits: UInt32? = nil, share: TurnShare = TurnShare()
  ) {
    self.timing = timing
    self.share = share
    state = ClusterState(pageBits: min(pageBits ?? CellTable.usualPageBits, 16))
  }
}

// Read-only access to the state for the whole module.
extension Scheduler {
  var counters: Counters { state.counters }
  var graphs: Registry<Graph> { @inline(__always) _read { yield state.graphs } }
  var queues: WatchedRegistry<Queue> { @inline(__always) _read { yield state.queues } }
  var workers: WatchedRegistry<WorkerRecord> { @inline(__always) _read { yield state.workers } }
  var classes: DemandClasses { @inline(__always) _read { yield state.classes } }
  var ended: [GraphID: EndedGraph] { @inline(__always) _read { yield state.ended } }
  var keys: SubmissionKeys { @inline(__always) _read { yield state.keys } }
  var queueByName: [String: QueueID] { @inline(__always) _read { yield state.queueByName } }
  var workerByName: [String: WorkerID] { @inline(__always) _read { yield state.workerByName } }
  var workerBySession: [WorkerSession: WorkerID] { _read { yield state.workerBySession } }
  var timestamps: [OperationID: Timestamps] { @inline(__always) _read { yield state.timestamps } }
  /// The number of commits so far; the next turn with records is one higher.
  public var lastCommit: CommitIndex { state.lastCommit }
  /// Whether a request about operations is not decided yet: some may be held back for it.
  package var hasUndecidedRequests: Bool { !deferred.isEmpty }
}

/// The client that waits for an answer.
struct Asker: Hashable, Sendable {
  var peer: PeerID
  var request: RequestID
  var mayChange: SteeringBound
}
