// The oracle: records the durable facts, and the real starts and ends. It knows the rules of
// Simulation.md and none of the tested code; every durable fact, launch, end and answer passes
// here, and each violation becomes a problem. Owned by the world.

import OpClusterModel

struct ShadowLedger: Sendable {
  /// By graph number; position 0 is unused.
  var graphs: [GraphEntry?] = [nil]
  var graphByKey: [SubmissionKey: GraphID] = [:]
  /// The labels of the machines, by worker name.
  var labelsByName: [String: [Label]] = [:]
  /// By worker number.
  var workers: [UInt32: WorkerEntry] = [:]
  var queues: [UInt32: QueueEntry] = [0: QueueEntry(QueueSettings(name: "default"))]
  var queueByName: [String: UInt32] = ["default": 0]
  var lastQueue: UInt32 = 0
  var lastPlace: UInt64 = 0
  /// The number of operations of all graphs.
  var operationCount = 0
  /// Whether an undecided change of operations may hold some of them back.
  var isSteered = false
  /// Whether some workers are not given operations that they cannot start: the order is then not
  /// checked.
  var hasUnableWorkers = false
  /// Whether the journal was restored: exclusive operations may be overtaken for a while (G16).
  var isRestored = false
  /// The session that launched each attempt.
  var launched: [AttemptID: WorkerSession] = [:]
  var endings: [AttemptID: (session: WorkerSession, result: AttemptResult)] = [:]
  /// Attempts that no worker holds any more, with the commit and the reason.
  var closed: [AttemptID: Closing] = [:]
  var commit = CommitIndex(0)
  /// Workers that the present turn loses: attempts that they may have started count as started.
  var presumed: Set<UInt32> = []
  /// Workers that leave in the present turn: what must not run twice counts as started if a report
  /// of theirs is missing.
  var departed: Set<UInt32> = []
  var lastEvent: UInt64 = 0
  var problems: [Problem] = []

  struct WorkerEntry: Sendable {
    var session: WorkerSession
    var labels: [Label] = []
    var isLost = false
  }
  struct QueueEntry: Sendable {
    var settings: QueueSettings
    /// The limit from each commit on, oldest first.
    var limits: [(commit: CommitIndex, limit: UInt32)]
    /// Whether a suspension was answered and not resumed since.
    var isSealed = false
    var resumes = 0
    /// Every barrier that was ever in it.
    var barriers: [OperationID] = []
    init(_ settings: QueueSettings) {
      self.settings = settings
      limits = [(CommitIndex(0), settings.maximumConcurrent ?? .max)]
    }
  }
  struct Closing: Sendable {
    enum Reason: Sendable { case recalled, lost, ended }
    var commit: CommitIndex
    var reason: Reason
  }

  struct GraphEntry: Sendable {
    var submission: GraphSubmission
    var operations: [OperationEntry]
    /// The template of each operation.
    var templates: [Int]
    var isSuspended: Bool
    /// Whether a suspension was answered and not resumed since.
    var isSealed = false
    /// Whether a failure policy of the whole graph has taken effect.
    var isStopping = false
    var resumes = 0
    var hasEnded = false
    /// Of what runs again: what was unfinished then of the graph for which it does.
    var originUnfinished: Int?
  }
  struct OperationEntry: Sendable {
    /// The dependencies of the operation.
    var needs: [(on: OperationID, policy: EdgePolicy)] = []
    var queue: UInt32 = 0
    var priority = Priority.normal
    /// Its place in line, and its place among barriers.
    var place: UInt64 = 0
    var enqueuePlace: UInt64 = 0
    /// When it took a place that others had passed; 0: it went to the end.
    var returned = CommitIndex(0)
    /// False for declared operations that are not enqueued.
    var isQueued = true
    var isHeld = false
    /// The blocks that were added to it.
    var blocks: [UInt8] = []
    var attempt: UInt32 = 0
    /// The worker that holds the attempt; 0: none.
    var worker: UInt32 = 0
    var handedOver = CommitIndex(0)
    var losses: UInt32 = 0
    var isCancelled = false
    /// Whether a cancellation of it was answered: no start may follow (S91, S96).
    var isSealed = false
    var outcome: Outcome?
    var sequence: UInt32 = 0
    var wasCompleted = false
  }

  mutating func complain(_ rule: String, _ text: String) {
    problems.append(Problem(rule: rule, text: text))
  }

  // MARK: - Looking

  func contains(_ id: OperationID) -> Bool {
    Int(id.graph.number) < graphs.count
      && graphs[Int(id.graph.number)].map { id.index < $0.operations.count } ?? false
  }
  subscript(id: OperationID) -> OperationEntry {
    _read {
      guard contains(id) else { preconditionFailure("the ledger does not know \(id)") }
      yield graphs[Int(id.graph.number)]!.operations[Int(id.index)]
    }
    _modify {
      guard contains(id) else { preconditionFailure("the ledger does not know \(id)") }
      yield &graphs[Int(id.graph.number)]!.operations[Int(id.index)]
    }
  }
  func template(of id: OperationID) -> OperationTemplate? {
    guard contains(id), let graph = graphs[Int(id.graph.number)] else { return nil }
    return graph.submission.templates[graph.templates[Int(id.index)]]
  }
  func shown(_ id: OperationID) -> String { id.numbered }

  /// Whether a session holds an attempt, as far as is durable.
  func isCurrent(_ attempt: AttemptID, at session: WorkerSession) -> Bool {
    let entry = self[attempt.operation]
    guard entry.worker != 0, entry.attempt == attempt.attempt else { return false }
    return workers[entry.worker]?.session == session
  }

  var hasLiveGraphs: Bool { graphs.contains { $0.map { !$0.hasEnded } ?? false } }
  var liveGraphs: [GraphID] {
    graphs.indices.compactMap { number in
      graphs[number].flatMap { $0.hasEnded ? nil : GraphID(UInt32(number)) }
    }
  }
}
