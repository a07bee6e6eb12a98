// The facts in the journal. Replaying them from an empty state gives the live state (G4). A fact
// records a decision or an event, never a plan.

/// One fact of a turn. Consequences that follow from the rules alone (a dependent becomes ready or
/// skipped, a slot becomes free) are no facts: `apply` derives them.
public enum Record: Hashable, Sendable {
  /// The coordinator began this life.
  case started(CoordinatorLife)
  case submitted(GraphID, GraphSubmission, fingerprint: UInt64, at: WallTime)
  case enqueued([OperationID], QueueID)
  case queueCreated(QueueID, QueueSettings)
  case queueChanged(QueueID, QueueSettings)
  case queueRemoved(QueueID)
  case workerJoined(WorkerID, name: String, WorkerSession)
  /// The worker's lease ran out, or a new life of the worker did not know its attempts (S147).
  case workerLost(WorkerID)
  /// The worker left in good order; its held operations are not penalised.
  case workerLeft(WorkerID)
  /// The worker was asked to finish its running operations and to leave.
  case workerDraining(WorkerID)
  /// The worker gets no operations of a stage, or of no stage (nil), since it could not start what
  /// others could. Recorded for people: a restarted coordinator finds out again who can start what.
  case workerSetAside(WorkerID, StageName?, reason: String)
  /// The worker gets operations of the stage, or of all stages, again.
  case workerResumed(WorkerID, StageName?)
  /// Operations were handed to a worker, in ascending order; attempt numbers follow from the state.
  case dispatched(WorkerID, OperationRuns)
  /// Operations were given back unstarted (S148).
  case recalled(OperationRuns)
  case executing(OperationRuns)
  /// Plain successes of the running attempt, without output.
  case succeeded(OperationRuns)
  /// The end of an attempt that ends the operation.
  case finished(OperationID, AttemptResult)
  /// The end of an attempt after which the operation is tried again, and when it was taken in: the
  /// pause before the next attempt counts from that moment (S150).
  case attemptFailed(OperationID, AttemptResult, at: WallTime)
  /// Sets isCancelled on each operation, of one graph or several, before anything follows for any
  /// of them (S96).
  case cancelled([OperationRuns], CancelReason)
  case dependencyAdded(from: OperationID, to: OperationID, EdgePolicy)
  case dependencyRemoved(from: OperationID, to: OperationID)
  /// Unstarted operations got another priority, each with a new place, in this order (S52).
  case prioritySet(OperationRuns, Priority)
  case held(OperationRuns)
  case released(OperationRuns)
  /// Unstarted operations were moved to the end of this queue, in this order.
  case moved(OperationRuns, QueueID)
  /// Blocks were added to a block operation, encoded (S120).
  case blocksAdded(OperationID, [UInt8])
  case graphSuspended(GraphID, Bool)
  /// Part of a snapshot: the state of a live graph, after its `submitted`.
  case restoredGraph(GraphState)
  /// Part of a snapshot: the memory of an ended graph.
  case restoredEnding(EndedGraph)
  /// Part of a snapshot: the counters.
  case restoredCounters(Counters)
  /// Part of a snapshot: keys of ended graphs in order (G19); at most `Limits.keysPerFact`.
  case restoredKeys([KeptKey])
  /// An operation succeeded that need not be done again by others like it, which have this key.
  case madeReusable(OperationID, key: ContentDigest)
  /// Part of a snapshot, the oldest first.
  case restoredReusable([ReusableOutcome])
  /// An operation left something else when it ran again (S153): this is its output from now on.
  case recomputed(OperationID, output: [UInt8])
  /// Dates the keys of graphs that end in this turn, or ended without a recorded time (G19).
  case keysDated(WallTime)
  /// From now on one turn does at most this for the ends of operations; 0: no limit.
  case endStepsLimited(UInt32)
  /// The ends that earlier turns had no room for were followed further, as far as one turn goes.
  case endsContinued
  /// The records of these ended graphs are removed.
  case graphsRemoved([GraphID])
}

/// Operations of one graph as ascending, disjoint runs `first..<first+count`.
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
  /// Returns nil if the columns are malformed: unequal, with empty runs, or beyond 32 bits.
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
  /// Appends an operation; keeps the order and joins neighbours.
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
  /// Splits off all but the last `count` operations, at least 0: nil if there are no others.
  /// Expects ascending runs. Costs the runs.
  public mutating func splitOffAllBut(last count: Int) -> OperationRuns? {
    var others = OperationRuns(graph: graph)
    var kept = OperationRuns(graph: graph)
    var skipped = operationCount - count
    for at in 0..<runCount {
      let run = run(at)
      let low = min(max(skipped, 0), run.count)
      skipped -= run.count
      if low > 0 { others.append(first: run.lowerBound, count: UInt32(low)) }
      if low < run.count {
        kept.append(first: run.lowerBound + UInt32(low), count: UInt32(run.count - low))
      }
    }
    if others.isEmpty { return nil }
    self = kept
    return others
  }

  /// From the first to behind the last; nil if there are none. Expects ascending runs.
  public var range: Range<UInt32>? {
    guard let first = firsts.first else { return nil }
    return first..<run(runCount - 1).upperBound
  }

  /// Calls `body` with every index, in the order of appending.
  @inlinable public func forEach(_ body: (UInt32) -> Void) {
    for at in 0..<runCount { for index in run(at) { body(index) } }
  }
}

/// The durable state of a live graph, in columns by operation index.
public struct GraphState: Hashable, Sendable {
  public var graph: GraphID
  /// `Phase` raw values.
  public var phases: [UInt8] = []
  public var flags: [UInt8] = []
  public var outcomes: [UInt8] = []
  public var attempts: [UInt32] = []
  /// Begun runs in the upper 16 bits, then losses and failures in 8 bits each.
  public var losses: [UInt32] = []
  public var eventSequences: [UInt32] = []
  /// The worker that holds the operation; 0 for none.
  public var workers: [UInt32] = []
  public var isSuspended = false
  public var failures: UInt32 = 0
  public var allowedFailures: UInt32 = 0
  public var failurePolicyTookEffect = false
  /// The failures in each of the submission's failure scopes.
  public var scopeFailures: [UInt32] = []
  /// The place of index 0 in the order of the queues.
  public var basePlace: UInt64 = 0
  public var placeChanges: [PlaceChange] = []
  public var outputs: [OutputEntry] = []
  public var reasons: [ReasonEntry] = []
  public var addedEdges: [AddedEdge] = []
  public var removedEdges: [AddedEdge] = []
  public var enqueuedIn: [QueueEntry] = []
  /// The blocks that were added later, encoded.
  public var addedBlocks: [OutputEntry] = []
  public var submittedAt: WallTime = .unknown
  public var pauses: [PauseEntry] = []
  /// The keys of reusable operations that have succeeded, as bytes.
  public var reuseKeys: [OutputEntry] = []
  /// How often operations ran again because what they left was lost, as a few bytes each.
  public var recomputations: [OutputEntry] = []
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
  /// The pause of an operation between two attempts.
  public struct PauseEntry: Hashable, Sendable {
    public var index: UInt32
    public var since: WallTime
    public var length: Span
    public init(index: UInt32, since: WallTime, length: Span) {
      self.index = index
      self.since = since
      self.length = length
    }
  }
  public struct QueueEntry: Hashable, Sendable {
    public var index: UInt32
    public var queue: QueueID
    /// The operation's place for barriers.
    public var place: UInt64
    public init(index: UInt32, queue: QueueID, place: UInt64) {
      self.index = index
      self.queue = queue
      self.place = place
    }
  }
}

/// The memory of an ended graph, for edges of later submissions (S27).
public struct EndedGraph: Hashable, Sendable {
  public var graph: GraphID
  /// Used only in snapshots of earlier releases; keys have records of their own since.
  public var key: SubmissionKey
  public var fingerprint: UInt64
  public var outcome: GraphOutcome
  public var operationCount: UInt32
  /// One raw `Outcome` per operation, or one for all.
  public var outcomes: [UInt8]
  /// Outputs by index; empty ones are not kept.
  public var outputs: [GraphState.OutputEntry]
  /// In how many stores the contents of each output are to lie, 1 to `Limits.replicas`; empty if in
  /// one.
  public var outputReplicas: [UInt8] = []
  /// The outputs of all operations were dropped.
  public var outputsAreForgotten = false
  /// The submission's secrets, for a graph that runs it again; dropped with the outputs.
  public var secrets: [String] = []
  /// The submitter: only its own submissions get the secrets, and only it may remove the graph.
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

/// The key of an ended graph.
public struct KeptKey: Hashable, Sendable {
  public var key: SubmissionKey
  public var graph: GraphID
  public var fingerprint: UInt64
  public var operations: UInt32
  /// The time of the graph's end; unknown if it was not recorded.
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

/// Counters that never go back.
public struct Counters: Hashable, Sendable {
  public var epoch = Epoch(0)
  public var lastGraph: UInt32 = 0
  public var lastQueue: UInt32 = 0
  public var lastWorker: UInt32 = 0
  public var lastPlace: UInt64 = 0
  public var lastEvent: UInt64 = 0
  /// The most that one turn does for the ends of operations (`EndSteps`); 0: no limit.
  public var endStepsPerTurn: UInt32 = 0
  /// The newest lives, oldest first; at most `Limits.rememberedLives`.
  public var lives: [KnownLife] = []
  public init() {}
}

/// The start of a life of the coordinator: the commit and the event before it.
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

/// One line of the history of attempts: the end of an attempt. With attempt number 0, the end of
/// operations without one: cancelled or skipped before their first attempt, or between two.
public struct AttemptHistory: Hashable, Sendable {
  public var attempt: AttemptID
  /// Consecutive operations from `attempt.operation` on; above 1 only without an attempt.
  public var count: UInt32 = 1
  /// The number of the run, as people count (`Dispatch.run`).
  public var run: UInt32 = 1
  /// nil if the operation was tried again.
  public var outcome: Outcome?
  public var reason: CancelReason?
  public var workerName: String
  public var result: AttemptResult
  /// The moment when the operation stood clear before its first attempt, by the coordinator's wall
  /// clock. Unknown if that was before a restart of the coordinator, and without an attempt.
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

  /// Whether the line is the end of an attempt.
  public var isAttempt: Bool { attempt.attempt != 0 }

  /// The indices of its operations.
  public var members: Range<UInt32> {
    let first = attempt.operation.index
    return first..<(first + min(count, .max - first))
  }

  /// Returns the line of one of its operations.
  public func of(_ member: UInt32) -> AttemptHistory {
    var line = self
    line.attempt.operation.index = member
    line.count = 1
    return line
  }
}

/// What an operation left that others like it need not do again.
public struct ReusableOutcome: Hashable, Sendable {
  /// What it did: the digest of its work and of all that it read.
  public var key: ContentDigest
  public var operation: OperationID
  /// Its output, encoded; empty: none.
  public var output: [UInt8]
  public init(key: ContentDigest, operation: OperationID, output: [UInt8]) {
    self.key = key
    self.operation = operation
    self.output = output
  }
}
