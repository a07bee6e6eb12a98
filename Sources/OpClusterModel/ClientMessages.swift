// What clients and the coordinator say to each other.

/// From a client.
public enum ClientMessage: Hashable, Sendable {
  case hello(ClientHello)
  case request(RequestID, ClientRequest)
}

public struct ClientHello: Hashable, Sendable {
  public var versions: ProtocolVersions
  public var build: String
  public init(versions: ProtocolVersions = .current, build: String = "") {
    self.versions = versions
    self.build = build
  }
}

public enum ClientRequest: Hashable, Sendable {
  // Steering: each is one commit, answered when it is durable (S1, S3).
  case submit(GraphSubmission)
  case enqueue([OperationID], queue: String)
  case cancel(OperationTarget, reason: String, grace: Span?)
  /// Every operation now in the queue (S95).
  case cancelQueue(String, reason: String)
  case suspendGraphs(Selection, Bool)
  case createQueue(QueueSettings)
  case changeQueue(String, QueueChange)
  /// Only an empty one (S5).
  case removeQueue(String)
  /// - Parameter allowsCycle: One that closes a circle is taken as well: nobody in it becomes ready
  ///   until it is broken (S32).
  case addDependency(
    from: OperationID, to: OperationID, EdgePolicy, allowsCycle: Bool = false)
  case removeDependency(from: OperationID, to: OperationID)
  case setPriority(OperationTarget, Priority)
  /// Closes (true) or opens the hold gate of what has not started (S44).
  case hold(OperationTarget, Bool)
  /// Takes what has not started out of its queue and puts it at the end of another.
  case setQueue(OperationTarget, queue: String)
  /// Further blocks, an encoded `[OperationBlock]`, for a block operation that has not been
  /// dispatched (S120).
  case addBlocks(OperationID, [UInt8])
  /// An executing operation is about to wait; refused if that could never end (S142).
  case beginWait(OperationID, WaitTarget)
  case endWait(OperationID)
  case drainWorker(String)
  /// Gives work to a worker that was set aside, at once.
  case resumeWorker(String)
  /// Lists a worker that is down no more.
  case forgetWorker(String)
  /// Takes what is kept of graphs that have ended out of the journal; at most
  /// `Limits.graphsPerRemoval`.
  case removeGraphs([GraphID])

  // Reading
  case graphs(Selection, after: GraphID?, limit: UInt32)
  /// `after` is the last operation of the page before.
  case operations(Selection, after: OperationID?, limit: UInt32)
  /// Templates, edges and counts of one graph.
  case structure(Selection)
  case explain(Selection)
  /// A graph as it was submitted, and how its operations ended; to run it again.
  case submission(GraphID)
  /// One queue by its name, or with an empty one all by their numbers; `after` is the last of the
  /// page before.
  case queues(named: String = "", after: QueueID? = nil, limit: UInt32 = 0)
  case workers
  case configuration
  case ping
  /// The holder of an invitation adds a key of its own; all that an invitation is good for.
  case enrol(name: String, publicKey: [UInt8])
  case log(AttemptSelection, LogStream, offset: Int64, maximumBytes: UInt32)

  // Following
  case subscribe(EventSubscription)
  /// The subscriber has read so many more events.
  case grantCredit(subscription: UInt64, events: UInt32)
  case unsubscribe(subscription: UInt64)
}

/// Which operations a steering request means.
public enum OperationTarget: Hashable, Sendable {
  case selection(Selection)
  /// An explicit set, as atomic as any other (S97); at most `Limits.operationsPerTarget`.
  case operations([OperationID])
  /// All that depends on it, directly or through others, and has not finished; not itself.
  case dependents(of: OperationID)
}

/// What an executing operation wants to wait for (S141).
public enum WaitTarget: Hashable, Sendable {
  /// At most `Limits.operationsPerTarget`.
  case operations([OperationID])
  /// Until the queue of this name is empty, with what is added meanwhile.
  case queue(String)
}

/// One operation, and which attempt of it.
public struct AttemptSelection: Hashable, Sendable {
  public var operation: OperationID
  /// Which run, as people count (`Dispatch.run`); nil: the newest.
  public var attempt: UInt32?
  public init(operation: OperationID, attempt: UInt32? = nil) {
    self.operation = operation
    self.attempt = attempt
  }
}

/// What to change of a queue; nil leaves as it is.
public struct QueueChange: Hashable, Sendable {
  public var newName: String?
  public var qos: QualityOfService?
  public var limit: Limit?
  public var isSuspended: Bool?
  /// Only while the queue is empty (S146).
  public var pool: [LabelRequirement]?
  public init(
    newName: String? = nil, qos: QualityOfService? = nil, limit: Limit? = nil,
    isSuspended: Bool? = nil, pool: [LabelRequirement]? = nil
  ) {
    self.newName = newName
    self.qos = qos
    self.limit = limit
    self.isSuspended = isSuspended
    self.pool = pool
  }
  public enum Limit: Hashable, Sendable {
    case unlimited
    case atMost(UInt32)
  }
}

/// Which events, from where on.
public struct EventSubscription: Hashable, Sendable {
  /// The client's number for it.
  public var number: UInt64
  public var selection: Selection
  /// Events after this sequence; nil: from now on.
  public var since: UInt64?
  /// The newest event that the subscriber knows, and whose: it is refused by a log that does not
  /// have it (`otherHistory`). nil: nobody knows where `since` comes from.
  public var known: EventMark?
  /// Only events of graphs (submitted, finished…), not of their operations.
  public var graphsOnly: Bool
  /// Stop after the backlog.
  public var backlogOnly: Bool
  /// Besides `selection`: every graph that is submitted over this connection from now on, and all
  /// events of queues. What a program needs that follows its own operations.
  public var includesOwn: Bool
  public var credit: UInt32
  public init(
    number: UInt64, selection: Selection, since: UInt64? = nil, graphsOnly: Bool = false,
    backlogOnly: Bool = false, includesOwn: Bool = false, credit: UInt32 = Limits.eventCredit
  ) {
    self.number = number
    self.selection = selection
    self.since = since
    self.graphsOnly = graphsOnly
    self.backlogOnly = backlogOnly
    self.includesOwn = includesOwn
    self.credit = credit
  }
}

/// From the coordinator to a client.
public enum ClientAnswer: Hashable, Sendable {
  case welcome(version: UInt32, build: String, CoordinatorLife)
  case reply(RequestID, ClientReply)
  case events(EventBatch)
  /// Nobody speaks for a while: the coordinator is there. For so long what it decided has waited
  /// for the disk, and whoever waits for an answer waits for that; zero: hardly at all.
  case heartbeat(diskWait: Span)
}

/// Events of one subscription, in order. `first` counts what this subscription was sent before,
/// so that a client sees a loss.
public struct EventBatch: Hashable, Sendable {
  public var subscription: UInt64
  public var first: UInt64
  public var events: [Event]
  /// After these, the backlog is told and live events follow.
  public var caughtUp: Bool
  /// The newest sequence of the cluster when this left: where to resume.
  public var resumeAt: UInt64
  public init(
    subscription: UInt64, first: UInt64, events: [Event], caughtUp: Bool, resumeAt: UInt64
  ) {
    self.subscription = subscription
    self.first = first
    self.events = events
    self.caughtUp = caughtUp
    self.resumeAt = resumeAt
  }
}

public enum ClientReply: Hashable, Sendable {
  case refused(Refusal)
  /// `repeated`: the key was known, this is the first answer again (G19).
  case accepted(GraphID, operations: UInt32, repeated: Bool)
  case done(CommitIndex)
  case cancelled([CancelVerdict], total: UInt32)
  /// What was executing when the suspension took effect (S72).
  case suspended(executing: [OperationID])
  /// false: it came too late and changed nothing (S35, S52, S62).
  case effect(Bool)
  /// How many of the operations meant were changed, and for how many it came too late.
  case changed(UInt32, unchanged: UInt32)
  /// `outcomes`: one raw `Outcome` per operation, 0 for what has not finished.
  case submission(GraphSubmission, outcomes: [UInt8])
  case graphs([GraphRow], more: Bool)
  case operations([OperationRow], more: Bool)
  case structure(GraphStructure)
  case explanations([Explanation], more: Bool)
  case queues([QueueRow], more: Bool = false)
  case workers([WorkerRow])
  case configuration(ConfigurationValues)
  case pong(commit: CommitIndex, epoch: Epoch, lastEvent: UInt64)
  case log(LogChunk)
  case subscribed(since: UInt64)
  /// The key is in the list, under this name, and the invitation is spent.
  case enrolled(name: String, role: Role)
}

public struct CancelVerdict: Hashable, Sendable {
  public var operation: OperationID
  public var verdict: Verdict
  public init(operation: OperationID, verdict: Verdict) {
    self.operation = operation
    self.verdict = verdict
  }
  public enum Verdict: UInt8, Sendable, CaseIterable {
    case cancelled = 1
    case alreadyFinished, alreadyCancelled, executing
  }
}

/// Operations in each state, by the order of `StateWord.allCases`.
public struct StateCounts: Hashable, Sendable {
  public private(set) var counts: [UInt32]
  public init() { counts = Array(repeating: 0, count: StateWord.allCases.count) }
  public subscript(word: StateWord) -> UInt32 {
    get { counts[word.position] }
    set { counts[word.position] = newValue }
  }
  public mutating func add(_ other: StateCounts) {
    for at in counts.indices { counts[at] = counts[at].saturatingAdd(other.counts[at]) }
  }
  public var total: UInt32 { counts.reduce(0) { $0.saturatingAdd($1) } }
  public var finished: UInt32 {
    Outcome.allCases.reduce(0) { $0.saturatingAdd(self[StateWord($1)]) }
  }
}

extension StateWord {
  /// Position in `allCases`.
  public var position: Int {
    switch self {
    case .declared: 0
    case .waiting: 1
    case .held: 2
    case .ready: 3
    case .dispatched: 4
    case .executing: 5
    case .stopping: 6
    case .succeeded: 7
    case .failed: 8
    case .timedOut: 9
    case .cancelled: 10
    case .skipped: 11
    case .lost: 12
    }
  }
}

public struct GraphRow: Hashable, Sendable {
  public var graph: GraphID
  public var name: String
  public var state: State
  public var counts: StateCounts
  public var submittedAt: WallTime
  public var finishedAt: WallTime
  public var labels: [Label]
  /// Failures that the manifest allows.
  public var allowedFailures: UInt32
  public init(
    graph: GraphID, name: String, state: State, counts: StateCounts, submittedAt: WallTime,
    finishedAt: WallTime, labels: [Label], allowedFailures: UInt32
  ) {
    self.graph = graph
    self.name = name
    self.state = state
    self.counts = counts
    self.submittedAt = submittedAt
    self.finishedAt = finishedAt
    self.labels = labels
    self.allowedFailures = allowedFailures
  }
  public enum State: String, Sendable, CaseIterable {
    case running, suspended, succeeded, failed, cancelled

    /// Whether a list restricted to some states shows it; none means all.
    public func isMeant(by states: [StateWord]) -> Bool {
      states.isEmpty
        || states.contains { $0.rawValue == rawValue || ($0 == .executing && self == .running) }
    }
  }
}

extension GraphRow {
  /// The name of the key that it was submitted with; empty where nobody has one.
  public var submitter: String {
    labels.last { $0.key == GraphSubmission.submitterLabel }?.value ?? ""
  }
}

/// One operation in full, as far as it is known: live state, and the history of its attempts.
public struct OperationRow: Hashable, Sendable {
  public var id: OperationID
  public var name: String
  /// nil for a plain operation; else the shown index.
  public var index: UInt32?
  public var state: StateWord
  public var isReady = false
  public var isExecuting = false
  public var isFinished = false
  public var isCancelled = false
  public var outcome: Outcome?
  public var reason: CancelReason?
  public var queue: String = ""
  public var priority: Priority = .normal
  public var qos: QualityOfService = .default
  public var workerName: String = ""
  /// The newest run, as people count (`Dispatch.run`); 0: none has begun.
  public var attempt: UInt32 = 0
  /// What stands in its way besides dependencies: the barrier ahead, or what a barrier itself
  /// waits for; at most 100 (S39, S86). Filled for single operations only.
  public var blockedBy: [OperationID] = []
  /// What a running attempt last said of itself.
  public var progress: Progress?
  /// When its hold opens by itself; nil: it does not, or is open (S150).
  public var notBefore: WallTime?
  /// At most 100 of its dependencies.
  public var needs: [Need] = []
  public var result: AttemptResult?
  public var submittedAt: WallTime = .unknown
  /// When it stood clear: nothing it waits for, no barrier, no hold before it. Unknown while
  /// something stands there, of what ended without having started, of what said nothing of itself
  /// but that it succeeded, and where it was before a restart of the coordinator.
  public var readyAt: WallTime = .unknown
  public var startedAt: WallTime = .unknown
  public var finishedAt: WallTime = .unknown
  /// What earlier attempts came to, oldest first; filled for single operations only.
  public var attempts: [AttemptHistory] = []
  /// The encoded `CommandSpecification` and the element's values (`ElementValues`); filled for
  /// single command operations only, as long as the submission is known.
  public var command: [UInt8] = []
  public var commandArgument: [UInt8] = []
  public init(id: OperationID, name: String, index: UInt32?, state: StateWord) {
    self.id = id
    self.name = name
    self.index = index
    self.state = state
  }
  public struct Progress: Hashable, Sendable {
    /// 0…1
    public var fraction: Double
    public var text: String
    public init(fraction: Double, text: String) {
      self.fraction = fraction
      self.text = text
    }
  }
  public struct Need: Hashable, Sendable {
    public var id: OperationID
    /// `12/align/3`.
    public var shown: String
    public var policy: EdgePolicy
    public init(id: OperationID, shown: String, policy: EdgePolicy) {
      self.id = id
      self.shown = shown
      self.policy = policy
    }
  }
}

/// A graph's shape and where it stands, by template.
public struct GraphStructure: Hashable, Sendable {
  public var row: GraphRow
  public var stages: [Stage]
  public var groupEdges: [GroupEdge]
  /// Edges between single operations; at most 10,000 of them, `elementEdgeCount` says how many
  /// there are.
  public var elementEdges: ElementEdges
  public var elementEdgeCount: UInt32
  /// The newest event that the counts contain: a follower ignores events up to it (S116).
  public var lastEvent: UInt64 = 0
  public init(
    row: GraphRow, stages: [Stage], groupEdges: [GroupEdge], elementEdges: ElementEdges,
    elementEdgeCount: UInt32
  ) {
    self.row = row
    self.stages = stages
    self.groupEdges = groupEdges
    self.elementEdges = elementEdges
    self.elementEdgeCount = elementEdgeCount
  }
  public struct Stage: Hashable, Sendable {
    public var name: String
    public var count: UInt32
    public var firstIndex: UInt32
    public var isArray: Bool
    public var indexRuns: [IndexRun]
    public var queue: String
    public var work: String
    public var counts: StateCounts
    public init(
      name: String, count: UInt32, firstIndex: UInt32, isArray: Bool, indexRuns: [IndexRun],
      queue: String, work: String, counts: StateCounts
    ) {
      self.name = name
      self.count = count
      self.firstIndex = firstIndex
      self.isArray = isArray
      self.indexRuns = indexRuns
      self.queue = queue
      self.work = work
      self.counts = counts
    }
  }
}

/// Why an operation is where it is.
public struct Explanation: Hashable, Sendable {
  public var operation: OperationID
  /// `12/align/3`.
  public var shown: String
  public var state: StateWord
  /// Sentences, the most decisive first.
  public var lines: [String]
  public init(operation: OperationID, shown: String, state: StateWord, lines: [String]) {
    self.operation = operation
    self.shown = shown
    self.state = state
    self.lines = lines
  }
}

public struct QueueRow: Hashable, Sendable {
  public var queue: QueueID
  public var settings: QueueSettings
  /// Queued and executing; barriers are not counted (S81).
  public var operationCount: UInt32
  public var executing: UInt32
  public var dispatched: UInt32
  public var barriers: UInt32
  public init(
    queue: QueueID, settings: QueueSettings, operationCount: UInt32, executing: UInt32,
    dispatched: UInt32, barriers: UInt32
  ) {
    self.queue = queue
    self.settings = settings
    self.operationCount = operationCount
    self.executing = executing
    self.dispatched = dispatched
    self.barriers = barriers
  }
}

public struct WorkerRow: Hashable, Sendable {
  public var worker: WorkerID
  public var name: String
  public var state: State
  public var capacity: Resources
  public var free: Resources
  public var executing: UInt32
  public var held: UInt32
  public var labels: [Label]
  public var types: [OperationType]
  /// So long ago; nil: not since the coordinator was started.
  public var lastHeard: Span?
  /// Operations of which processes live that KILL does not end: the machine is not well.
  public var unkillable: UInt32 = 0
  /// What it could not start and others could, and is given nothing of for a while; empty: none.
  public var trouble = ""
  /// It is given nothing at all for a while.
  public var isSetAside = false
  /// When one that is down was lost, and why.
  public var downSince = WallTime.unknown
  public var downReason = ""
  public init(
    worker: WorkerID, name: String, state: State, capacity: Resources, free: Resources,
    executing: UInt32, held: UInt32, labels: [Label], types: [OperationType], lastHeard: Span?
  ) {
    self.worker = worker
    self.name = name
    self.state = state
    self.capacity = capacity
    self.free = free
    self.executing = executing
    self.held = held
    self.labels = labels
    self.types = types
    self.lastHeard = lastHeard
  }
  public enum State: String, Sendable, CaseIterable {
    case connected, suspect, away, draining
    /// Lost, and not back since.
    case down
  }
}

/// What the coordinator goes by, for `config show` and for tests.
public struct ConfigurationValues: Hashable, Sendable {
  public var timing: Timing
  public var clientEndpoint: String
  public var workerEndpoint: String
  public var stateFolder: String
  /// The coordinator's wall clock; for display, nothing goes by it (G31).
  public var wall = WallTime.unknown
  /// Room on the journal's disk when it was looked at last; nil: not known.
  public var diskFreeBytes: UInt64?
  /// Submissions are refused while there is less room than this (G8).
  public var diskReserveBytes: UInt64 = 0
  /// What does not hold of the history, with what helps; nil: nothing is known to be wrong.
  public var historyProblem: String?
  public init(
    timing: Timing, clientEndpoint: String, workerEndpoint: String, stateFolder: String
  ) {
    self.timing = timing
    self.clientEndpoint = clientEndpoint
    self.workerEndpoint = workerEndpoint
    self.stateFolder = stateFolder
  }
}

extension OperationRow {
  /// How long it stood clear before its first run began: for a slot, and for its turn. By two
  /// machines' clocks, so for people. nil while it is not known, and where only a later attempt is
  /// at hand: ask for the operation alone.
  public var waited: Span? {
    let first = attempts.first { $0.run == 1 && $0.result.startedAt != .unknown }
    let began = first?.result.startedAt ?? (attempt == 1 ? startedAt : .unknown)
    guard readyAt != .unknown, began != .unknown else { return nil }
    return max(.zero, began - readyAt)
  }
}
