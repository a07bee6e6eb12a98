// The witness: what is durable, and what really started and ended. It knows the rules of
// Simulation.md and none of the brains' code; everything that becomes durable, is launched,
// ends or is answered passes here, and whatever may not be is a problem. Owned by the world.

import OpClusterModel

struct Problem: Hashable, Sendable {
  /// The invariant or rule: I4, S91…
  var rule: String
  var text: String
}

struct Book: Sendable {
  /// By graph number; nothing at 0.
  var graphs: [GraphEntry?] = [nil]
  var graphByKey: [SubmissionKey: GraphID] = [:]
  /// What the machines have, by their workers' names.
  var labelsByName: [String: [Label]] = [:]
  /// By worker number.
  var seats: [UInt32: SeatEntry] = [:]
  var queues: [UInt32: QueueEntry] = [0: QueueEntry(QueueSettings(name: "default"))]
  var queueByName: [String: UInt32] = ["default": 0]
  var lastQueue: UInt32 = 0
  var lastPlace: UInt64 = 0
  /// Of all graphs.
  var operationCount = 0
  /// Somebody's change of operations is being decided, which may keep some of them back.
  var isSteered = false
  /// Some workers cannot start what others can, and are not given it: that is no rule of order.
  var hasUnableWorkers = false
  /// The journal was restored: exclusive operations may be passed over for a while (G16).
  var isRestored = false
  /// Who launched what.
  var launched: [AttemptID: WorkerSession] = [:]
  var endings: [AttemptID: (session: WorkerSession, result: AttemptResult)] = [:]
  /// Attempts that are nobody's any more: since which commit, and why.
  var closed: [AttemptID: Closing] = [:]
  var commit = CommitIndex(0)
  /// Workers that the turn being taken in loses: what they may have started counts as started.
  var presumed: Set<UInt32> = []
  var lastEvent: UInt64 = 0
  var problems: [Problem] = []

  struct SeatEntry: Sendable {
    var session: WorkerSession
    var labels: [Label] = []
    var isLost = false
  }
  struct QueueEntry: Sendable {
    var settings: QueueSettings
    /// The limit from each commit on, oldest first.
    var limits: [(commit: CommitIndex, limit: UInt32)]
    /// A suspension was answered, and nothing resumed it since.
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
    /// Template of each operation.
    var templates: [Int]
    var isSuspended: Bool
    /// A suspension was answered, and nothing resumed it since.
    var isSealed = false
    var resumes = 0
    var hasEnded = false
  }
  struct OperationEntry: Sendable {
    /// What it waits for.
    var needs: [(on: OperationID, policy: EdgePolicy)] = []
    var queue: UInt32 = 0
    var priority = Priority.normal
    /// Where it stands in line, and where for barriers.
    var place: UInt64 = 0
    var enqueuePlace: UInt64 = 0
    /// Declared ones are in no queue before they are enqueued.
    var isQueued = true
    var isHeld = false
    /// Blocks that were added to it.
    var blocks: [UInt8] = []
    var attempt: UInt32 = 0
    /// Who holds the attempt; 0: nobody.
    var worker: UInt32 = 0
    var handedOver = CommitIndex(0)
    var losses: UInt32 = 0
    var isCancelled = false
    /// A cancellation of it was answered: no start may follow (S91, S96).
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
      guard contains(id) else { preconditionFailure("the book does not know \(id)") }
      yield graphs[Int(id.graph.number)]!.operations[Int(id.index)]
    }
    _modify {
      guard contains(id) else { preconditionFailure("the book does not know \(id)") }
      yield &graphs[Int(id.graph.number)]!.operations[Int(id.index)]
    }
  }
  func template(of id: OperationID) -> OperationTemplate? {
    guard contains(id), let graph = graphs[Int(id.graph.number)] else { return nil }
    return graph.submission.templates[graph.templates[Int(id.index)]]
  }
  func shown(_ id: OperationID) -> String { id.numbered }

  /// Whether an attempt is held by this session, as far as is durable.
  func isCurrent(_ attempt: AttemptID, at session: WorkerSession) -> Bool {
    let entry = self[attempt.operation]
    guard entry.worker != 0, entry.attempt == attempt.attempt else { return false }
    return seats[entry.worker]?.session == session
  }

  var hasLiveGraphs: Bool { graphs.contains { $0.map { !$0.hasEnded } ?? false } }
  var liveGraphs: [GraphID] {
    graphs.indices.compactMap { number in
      graphs[number].flatMap { $0.hasEnded ? nil : GraphID(UInt32(number)) }
    }
  }
}
