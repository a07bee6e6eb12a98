// What the facts come to: graphs, queues, workers, and what follows from them. `apply` is its door
// (`Applying`): a fact goes in, the end of a turn draws what follows from its facts, and nothing
// else changes what is durable. Replaying the journal makes that again. `Marks` are the few notes
// that are no facts; a life of the coordinator begins without them.

import DequeModule
import OpClusterModel

struct ClusterState: Sendable {
  // Durable
  var counters = Counters()
  var graphs = Registry<Graph>()
  var queues = Registry<Queue>()
  var workers = Registry<WorkerRecord>()
  var ended: [GraphID: EndedGraph] = [:]
  var endedOrder: Deque<GraphID> = []
  var keys = SubmissionKeys()
  /// Commits so far; the next turn with records is one higher.
  var lastCommit = CommitIndex(0)

  // Derived from the above
  /// Looked up, never iterated.
  var queueByName: [String: QueueID] = [:]
  /// The newest worker of a name.
  var workerByName: [String: WorkerID] = [:]
  var workerBySession: [WorkerSession: WorkerID] = [:]
  var classes = DemandClasses()
  /// Kinds of demand that no living graph had before, since scheduling last looked.
  var newKinds: [Int] = []
  var outputAccounts = OutputAccounts()
  /// Graphs that have dependencies on others, ascending; some may have ended since.
  var citing: [UInt32] = []
  /// Graphs whose last operation ended in this turn.
  var justEnded: [GraphID] = []
  /// Graphs in which something failed in this turn.
  var failedGraphs: [GraphID] = []
  /// Queues whose count may have changed in this turn, each once.
  var dirtyQueues: [UInt32] = []
  /// Every queue with somebody in line, ascending; in some of them nobody may be any more.
  var linedQueues: [UInt32] = []
  /// Queues whose lines are to be swept.
  var crowdedQueues: [UInt32] = []

  // Of this life
  /// Of unfinished operations that became ready by themselves, or execute.
  var moments: [OperationID: Moments] = [:]

  /// An empty cluster with the queue `default`.
  init() {
    addQueue(QueueID.main, QueueSettings(name: "default"), owner: nil)
  }
}
