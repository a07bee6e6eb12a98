// Facts: what the journal holds. Replaying them from an empty state gives the live state (G4).
// A fact is never a plan: it says what has been decided or has happened.

/// One fact of a turn. Consequences that follow from the rules alone (a dependent becoming ready
/// or skipped, a slot freed) are not facts of their own: `apply` draws them.
public enum Record: Hashable, Sendable {
  /// The coordinator began this life.
  case started(CoordinatorLife)
  case submitted(GraphID, GraphSubmission, fingerprint: UInt64, at: WallTime)
  case enqueued([OperationID], QueueID)
  case queueCreated(QueueID, QueueSettings)
  case queueChanged(QueueID, QueueSettings)
  case queueRemoved(QueueID)
  case workerJoined(WorkerID, name: String, WorkerSession)
  /// Its lease ran out, or a new life of it did not know its attempts (S147).
  case workerLost(WorkerID)
  /// It left in good order; nothing counts against what it held.
  case workerLeft(WorkerID)
  /// Somebody asked it to finish what it runs and to leave.
  case workerDraining(WorkerID)
  /// It is given nothing of a stage, or nothing at all, since it could not start what others ran.
  /// Told and kept, but nothing follows from it: a coordinator that is started anew finds out
  /// again who can start what.
  case workerSetAside(WorkerID, StageName?, reason: String)
  /// It is given that again.
  case workerResumed(WorkerID, StageName?)
  /// Handed to a worker; ascending operations, attempt numbers follow from the state.
  case dispatched(WorkerID, OperationRuns)
  /// Given back unstarted (S148).
  case recalled(OperationRuns)
  case executing(OperationRuns)
  /// Plain successes of the running attempt, without output.
  case succeeded(OperationRuns)
  /// An attempt's end that ends the operation.
  case finished(OperationID, AttemptResult)
  /// An attempt's end after which the operation is tried again.
  case attemptFailed(OperationID, AttemptResult)
  /// isCancelled is set on each, in one commit (S96).
  case cancelled(OperationRuns, CancelReason)
  case dependencyAdded(from: OperationID, to: OperationID, EdgePolicy)
  case dependencyRemoved(from: OperationID, to: OperationID)
  case prioritySet(OperationID, Priority)
  case held(OperationRuns)
  case released(OperationRuns)
  /// Taken out of its queue, unstarted, and put at the end of this one.
  case moved(OperationID, QueueID)
  /// Further blocks of a block operation, encoded (S120).
  case blocksAdded(OperationID, [UInt8])
  case graphSuspended(GraphID, Bool)
  /// Part of a snapshot: the state of a graph that lives, after its `submitted`.
  case restoredGraph(GraphState)
  /// Part of a snapshot: what is remembered of a graph that ended.
  case restoredEnding(EndedGraph)
  /// Part of a snapshot: the counters.
  case restoredCounters(Counters)
  /// Part of a snapshot: keys of graphs that have ended, the first ended first (G19); at most
  /// `Limits.keysPerFact`.
  case restoredKeys([KeptKey])
  /// The time from which keys count whose graphs end in this turn, and those whose graphs ended
  /// before anything said when (G19).
  case keysDated(WallTime)
  /// Nothing is kept any more of these graphs, which have ended.
  case graphsRemoved([GraphID])
}

/// Operations of one graph as ascending, disjoint runs `first..<first+count`: a hundred thousand
/// neighbours cost what one costs.
public struct OperationRuns: Hashable, Sendable {
  public var graph: GraphID
  public private(set) var firsts: [UInt32] = []
  public private(set) var counts: [UInt32] = []
  public init(graph: GraphID) { self.graph = graph }
  public init(_ operation: OperationID) {
    graph = operation.graph
    firsts = [operation.index]
    counts = [1]
  }
  /// nil when the columns are malformed: unequal, empty runs, or beyond 32 bits.
  public init?(graph: GraphID, firsts: [UInt32], counts: [UInt32]) {
    guard firsts.count == counts.count else { return nil }
    for at in firsts.indices {
      let (_, overflow) = firsts[at].addingReportingOverflow(counts[at])
      if counts[at] == 0 || overflow { return nil }
    }
    self.graph = graph
    self.firsts = firsts
    self.counts = counts
  }
  /// Keeps the order of appending; neighbours are joined.
  public mutating func append(_ index: UInt32) { append(first: index, count: 1) }
  public mutating func append(first: UInt32, count: UInt32) {
    if let last = firsts.indices.last, firsts[last] &+ counts[last] == first {
      counts[last] += count
    } else {
      firsts.append(first)
      counts.append(count)
    }
  }
  public var isEmpty: Bool { firsts.isEmpty }
  public var runCount: Int { firsts.count }
  public var operationCount: Int { counts.reduce(0) { $0 + Int($1) } }
  public func run(_ at: Int) -> Range<UInt32> { firsts[at]..<(firsts[at] + counts[at]) }
  /// Calls `body` with every index, in order of appending.
  @inlinable public func forEach(_ body: (UInt32) -> Void) {
    for at in 0..<runCount { for index in run(at) { body(index) } }
  }
}

/// The durable state of a living graph, in columns by operation index.
public struct GraphState: Hashable, Sendable {
  public var graph: GraphID
  /// `Phase` raw values.
  public var phases: [UInt8] = []
  public var flags: [UInt8] = []
  public var outcomes: [UInt8] = []
  public var attempts: [UInt32] = []
  /// Runs that began, in the upper 16 bits; then losses, then failures, in 8 bits each.
  public var losses: [UInt32] = []
  public var eventSequences: [UInt32] = []
  /// Who holds it; 0 for nobody.
  public var workers: [UInt32] = []
  public var isSuspended = false
  public var failures: UInt32 = 0
  public var allowedFailures: UInt32 = 0
  public var failurePolicyTookEffect = false
  /// Failures in each of the submission's failure scopes.
  public var scopeFailures: [UInt32] = []
  /// Where the graph's operations stand in line: the place of index 0.
  public var basePlace: UInt64 = 0
  public var placeChanges: [PlaceChange] = []
  public var outputs: [OutputEntry] = []
  public var reasons: [ReasonEntry] = []
  public var addedEdges: [AddedEdge] = []
  public var removedEdges: [AddedEdge] = []
  public var enqueuedIn: [QueueEntry] = []
  /// Blocks that were added later, encoded.
  public var addedBlocks: [OutputEntry] = []
  public var submittedAt: WallTime = .unknown
  public init(graph: GraphID) { self.graph = graph }

  public struct PlaceChange: Hashable, Sendable {
    public var index: UInt32
    public var priority: Priority
    public var place: UInt64
    public init(index: UInt32, priority: Priority, place: UInt64) {
      self.index = index
      self.priority = priority
      self.place = place
    }
  }
  public struct OutputEntry: Hashable, Sendable {
    public var index: UInt32
    public var output: [UInt8]
    public init(index: UInt32, output: [UInt8]) {
      self.index = index
      self.output = output
    }
  }
  public struct ReasonEntry: Hashable, Sendable {
    public var index: UInt32
    public var reason: CancelReason
    public init(index: UInt32, reason: CancelReason) {
      self.index = index
      self.reason = reason
    }
  }
  public struct AddedEdge: Hashable, Sendable {
    public var from: OperationID
    public var to: UInt32
    public var policy: EdgePolicy
    public init(from: OperationID, to: UInt32, policy: EdgePolicy) {
      self.from = from
      self.to = to
      self.policy = policy
    }
  }
  public struct QueueEntry: Hashable, Sendable {
    public var index: UInt32
    public var queue: QueueID
    /// Where it stands for barriers.
    public var place: UInt64
    public init(index: UInt32, queue: QueueID, place: UInt64) {
      self.index = index
      self.queue = queue
      self.place = place
    }
  }
}

/// What is remembered of a graph that ended, for edges of later submissions (S27).
public struct EndedGraph: Hashable, Sendable {
  public var graph: GraphID
  /// In snapshots of earlier releases; keys are kept by themselves since.
  public var key: SubmissionKey
  public var fingerprint: UInt64
  public var outcome: GraphOutcome
  public var operationCount: UInt32
  /// One raw `Outcome` per operation, or one for all.
  public var outcomes: [UInt8]
  /// By index; an empty one is not kept.
  public var outputs: [GraphState.OutputEntry]
  /// None is kept any more, of whatever operation.
  public var outputsAreForgotten = false
  /// Of its submission, for one that does it again; forgotten with its outputs.
  public var secrets: [String] = []
  /// Who made it: nobody else's submission is given its secrets, and nobody else removes it.
  public var submitter = ""
  public init(
    graph: GraphID, key: SubmissionKey, fingerprint: UInt64, outcome: GraphOutcome,
    operationCount: UInt32, outcomes: [UInt8], outputs: [GraphState.OutputEntry]
  ) {
    self.graph = graph
    self.key = key
    self.fingerprint = fingerprint
    self.outcome = outcome
    self.operationCount = operationCount
    self.outcomes = outcomes
    self.outputs = outputs
  }
}

/// Under which key a graph was submitted that has ended.
public struct KeptKey: Hashable, Sendable {
  public var key: SubmissionKey
  public var graph: GraphID
  public var fingerprint: UInt64
  public var operations: UInt32
  /// When the graph ended; unknown where nothing says it.
  public var since: WallTime
  public init(
    key: SubmissionKey, graph: GraphID, fingerprint: UInt64, operations: UInt32, since: WallTime
  ) {
    self.key = key
    self.graph = graph
    self.fingerprint = fingerprint
    self.operations = operations
    self.since = since
  }
}

/// Numbers that go on for ever.
public struct Counters: Hashable, Sendable {
  public var epoch = Epoch(0)
  public var lastGraph: UInt32 = 0
  public var lastQueue: UInt32 = 0
  public var lastWorker: UInt32 = 0
  public var lastPlace: UInt64 = 0
  public var lastEvent: UInt64 = 0
  /// The newest lives, oldest first, at most `Limits.rememberedLives`.
  public var lives: [KnownLife] = []
  public init() {}
}

/// Where a life of the coordinator began: behind which commit and which event.
public struct KnownLife: Hashable, Sendable {
  public var life: CoordinatorLife
  public var commitsBefore: CommitIndex
  public var eventsBefore: UInt64
  public init(_ life: CoordinatorLife, after commit: CommitIndex, events: UInt64) {
    self.life = life
    commitsBefore = commit
    eventsBefore = events
  }
}

/// One line of the history of what ended: the end of an attempt as people ask for it later. Or,
/// with an attempt numbered 0, how operations ended that no attempt ended: cancelled or skipped
/// before one began, or between two.
public struct AttemptHistory: Hashable, Sendable {
  public var attempt: AttemptID
  /// So many neighbours from `attempt.operation` on ended alike; above 1 only where no attempt
  /// ended them.
  public var count: UInt32 = 1
  /// Which run it was, as people count (`Dispatch.run`).
  public var run: UInt32 = 1
  /// nil: the operation was tried again.
  public var outcome: Outcome?
  public var reason: CancelReason?
  public var workerName: String
  public var result: AttemptResult
  /// When the operation stood clear, before its first attempt, by the coordinator's wall clock;
  /// unknown where that was before a restart of the coordinator, and where no attempt ended it.
  public var readyAt = WallTime.unknown
  public init(
    attempt: AttemptID, outcome: Outcome?, reason: CancelReason?, workerName: String,
    result: AttemptResult
  ) {
    self.attempt = attempt
    self.outcome = outcome
    self.reason = reason
    self.workerName = workerName
    self.result = result
  }

  /// Whether it is the end of an attempt.
  public var isAttempt: Bool { attempt.attempt != 0 }

  /// The operations it speaks of, by index.
  public var members: Range<UInt32> {
    let first = attempt.operation.index
    return first..<(first + min(count, .max - first))
  }

  /// The same of one of its members.
  public func of(_ member: UInt32) -> AttemptHistory {
    var line = self
    line.attempt.operation.index = member
    line.count = 1
    return line
  }
}
