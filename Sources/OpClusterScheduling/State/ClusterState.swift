// The state that results from facts: graphs, queues, workers, and everything derived from them.
// `apply` is its only entry (`FactApplication`): it applies one fact, the end of a turn draws
// conclusions from the facts, and nothing else changes durable state. Replaying the journal
// rebuilds it.
// `Marks` are the few notes that are not facts; a life of the coordinator begins without them.

import DequeModule
import OpClusterModel
import OpClusterQueries

struct ClusterState: Sendable {
  // Durable
  var counters = Counters()
  var graphs = Registry<Graph>()
  var queues = WatchedRegistry<Queue>()
  var workers = WatchedRegistry<WorkerRecord>()
  var ended: [GraphID: EndedGraph] = [:]
  var endedOrder: Deque<GraphID> = []
  var keys = SubmissionKeys()
  /// The number of commits so far; the next turn with records is one higher.
  var lastCommit = CommitIndex(0)
  /// What has yet to follow from ends, since a turn had no room for more. Not in snapshots, which
  /// wait until it is empty.
  var pendingEnds = EndList()

  // Derived from the above
  /// The numbers of `graphs`, for questions that take them along.
  var livingNumbers = GraphBitmap()
  /// Looked up, never iterated.
  var queueByName: [String: QueueID] = [:]
  /// The newest worker of a name.
  var workerByName: [String: WorkerID] = [:]
  var workerBySession: [WorkerSession: WorkerID] = [:]
  var classes = DemandClasses()
  /// Kinds of demand that are new among the living graphs since the last call of `takeNewKinds`.
  var newKinds: [Int] = []
  var outputAccounts = OutputAccounts()
  /// The contents that outputs of living graphs name, and those that living graphs read of others.
  var pins = ContentPins()
  /// What operations left that others like them need not do again.
  var reusable = ReusableOutcomes()
  /// The graphs that run an operation of another one again, by that operation.
  var recomputations: [OperationID: GraphID] = [:]
  /// Those that have ended in this turn, by the operation that they ran.
  var endedRecomputations: [OperationID] = []
  /// The operations that edges of living graphs lead to from other graphs.
  var citations = Citations()
  /// The operations of all living graphs (`Limits.livingOperations`).
  var livingOperations: UInt64 = 0
  /// Graphs that have dependencies on others, ascending; some may have ended since.
  var citing: [UInt32] = []
  /// Graphs whose last operation ended in this turn.
  var justEnded: [GraphID] = []
  /// Graphs in which an operation failed in this turn.
  var failedGraphs: [GraphID] = []
  /// Queues whose count may have changed in this turn, each once.
  var dirtyQueues: [UInt32] = []
  var retired = RetiredParts()
  /// Queues whose lines must be swept.
  var crowdedQueues: [UInt32] = []

  // Of this life:
  /// When unfinished operations became ready individually, or execute.
  var timestamps: [OperationID: Timestamps] = [:]

  /// The size of the pages of cells (`CellTable`). Changes no meaning.
  let pageBits: UInt32

  /// An empty cluster with the queue `default`.
  init(pageBits: UInt32 = CellTable.usualPageBits) {
    self.pageBits = pageBits
    addQueue(QueueID.main, QueueSettings(name: "default"), owner: nil)
  }
}

extension ClusterState {
  mutating func addQueue(_ id: QueueID, _ settings: QueueSettings, owner: GraphID?) {
    queues.insert(Queue(id: id, settings: settings, owner: owner), number: id.number)
    queueByName[settings.name] = id
    counters.lastQueue = max(counters.lastQueue, id.number)
  }
}
