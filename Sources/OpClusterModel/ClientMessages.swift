// The messages between clients and the coordinator.

/// A message from a client.
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
  // Steering: each request is one commit, answered when the commit is durable (S1, S3).
  case submit(GraphSubmission)
  /// Which operations of a graph would end without an attempt, because they were done before, if it
  /// were submitted now. Submits nothing.
  case reusable(GraphSubmission)
  case enqueue([OperationID], queue: String)
  case cancel(OperationTarget, reason: String, grace: Span?)
  /// Cancels every operation that is now in the queue (S95).
  case cancelQueue(String, reason: String)
  case suspendGraphs(Selection, Bool)
  case createQueue(QueueSettings)
  case changeQueue(String, QueueChange)
  /// Removes a queue; it must be empty (S5).
  case removeQueue(String)
  /// - Parameter allowsCycle: Accepts an edge that closes a cycle. No operation of the cycle
  ///   becomes ready until the cycle is broken (S32).
  case addDependency(
    from: OperationID, to: OperationID, EdgePolicy, allowsCycle: Bool = false)
  case removeDependency(from: OperationID, to: OperationID)
  case setPriority(OperationTarget, Priority)
  /// Closes (true) or opens the hold gate of unstarted operations (S44).
  case hold(OperationTarget, Bool)
  /// Moves unstarted operations to the end of another queue.
  case setQueue(OperationTarget, queue: String)
  /// Adds blocks, an encoded `[OperationBlock]`, to an undispatched block operation (S120).
  case addBlocks(OperationID, [UInt8])
  /// An executing operation is about to wait. Refused if the wait could never end (S142).
  case beginWait(OperationID, WaitTarget)
  case endWait(OperationID)
  case drainWorker(String)
  /// Ends the rest of a worker that was set aside: it gets work at once.
  case resumeWorker(String)
  /// Removes a worker that is down from the list.
  case forgetWorker(String)
  /// Removes the records of ended graphs from the journal; at most `Limits.graphsPerRemoval`.
  case removeGraphs([GraphID])
  /// Where contents are that outputs name, at most `Limits.rowsPerReply`; their holders let the
  /// asker read them.
  ///
  /// - Parameter reader: The coordinator sets it; of a client only a local one's key counts.
  case locate([ContentDigest], reader: ContentAsker)
  /// Where a content is that the asker reaches, as a reply to `locate`: another store gets a copy
  /// if only the workers named have it. Without sources until it has; ask again.
  ///
  /// - Parameters:
  ///   - unreached: The names of workers whose stores the asker could not connect to.
  ///   - reader: The coordinator sets it; of a client only a local one's key counts.
  case bring(StoredContent, unreached: [String], reader: ContentAsker)
  /// Where contents can be left that nobody has, at most `Limits.rowsPerReply`; the asker may write
  /// them there.
  ///
  /// - Parameters:
  ///   - avoided: The names of workers that did not take them.
  ///   - writer: The coordinator sets it; of a client only a local one's key counts.
  case place([StoredContent], avoided: [String], writer: ContentAsker)

  // Reading
  case graphs(Selection, after: GraphID?, limit: UInt32)
  /// `after` is the last operation of the previous page.
  case operations(Selection, after: OperationID?, limit: UInt32)
  /// Returns templates, edges and counts of one graph.
  case structure(Selection)
  case explain(Selection)
  /// Returns a graph as submitted, with the outcomes of its operations, to run it again.
  case submission(GraphID)
  /// Returns the named queue, or all if empty; `after` is the last of the previous page.
  case queues(named: String = "", after: QueueID? = nil, limit: UInt32 = 0)
  case workers
  case configuration
  case ping
  /// Adds a key of the holder of an invitation; an invitation allows nothing else.
  case enrol(name: String, publicKey: [UInt8])
  case log(AttemptSelection, LogStream, offset: Int64, maximumBytes: UInt32)

  // Following
  case subscribe(EventSubscription)
  /// The subscriber has read `events` more events.
  case grantCredit(subscription: UInt64, events: UInt32)
  case unsubscribe(subscription: UInt64)
}

/// The operations of a steering request.
public enum OperationTarget: Hashable, Sendable {
  case selection(Selection)
  /// An explicit set, as atomic as any other target (S97); at most `Limits.operationsPerTarget`.
  case operations([OperationID])
  /// All unfinished direct and indirect dependents of the operation, without itself.
  case dependents(of: OperationID)
}

/// The target of a wait of an executing operation (S141).
public enum WaitTarget: Hashable, Sendable {
  /// At most `Limits.operationsPerTarget`.
  case operations([OperationID])
  /// Waits until the queue is empty, including operations that are added meanwhile.
  case queue(String)
}

/// One attempt of one operation.
public struct AttemptSelection: Hashable, Sendable {
  public var operation: OperationID
  /// The run, as people count (`Dispatch.run`); nil means the newest.
  public var attempt: UInt32?
  public init(operation: OperationID, attempt: UInt32? = nil) {
    self.operation = operation
    self.attempt = attempt
  }
}

/// A change of a queue; nil leaves a value unchanged.
public struct QueueChange: Hashable, Sendable {
  public var newName: String?
  public var qos: QualityOfService?
  public var limit: Limit?
  public var isSuspended: Bool?
  /// Allowed only while the queue is empty (S146).
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

/// A message from the coordinator to a client.
public enum ClientAnswer: Hashable, Sendable {
  case welcome(version: UInt32, build: String, CoordinatorLife)
  case reply(RequestID, ClientReply)
  case events(EventBatch)
  /// A sign of life after a silence. `diskWait` is the time for which decisions, and so answers,
  /// have waited for the disk; zero if hardly at all.
  case heartbeat(diskWait: Span)
}

public enum ClientReply: Hashable, Sendable {
  case refused(Refusal)
  /// `repeated`: the key was known, and this repeats the first answer (G19).
  case accepted(GraphID, operations: UInt32, repeated: Bool)
  case done(CommitIndex)
  /// The verdicts of the first members, at most `Limits.rowsPerReply`, and how many of all members
  /// got each.
  case cancelled([CancelVerdict], VerdictCounts)
  /// The operations that were executing when the suspension took effect (S72).
  case suspended(executing: [OperationID])
  /// false: the request came too late and changed nothing (S35, S52, S62).
  case effect(Bool)
  /// The number of changed operations, and of those for which it was too late.
  case changed(UInt32, unchanged: UInt32)
  /// `outcomes`: one raw `Outcome` per operation, 0 if unfinished.
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
  /// The key was added under this name, and the invitation is used up.
  case enrolled(name: String, role: Role)
  /// Who has the contents that were asked for; without those that nobody has now.
  case located([ContentHolders])
  /// Where to leave contents, one place for each; without those that somebody has.
  case placed([ContentHolders])
  /// The operations that would end with what was left before, and those that would be skipped; in
  /// ascending order, of a graph without a number.
  case reusable(OperationRuns, skipped: OperationRuns)
}

/// The number of operations per state. Without memory of its own: a graph may have 200,000 stages.
public struct StateCounts: Hashable, Sendable {
  /// By the position of the state; those beyond the last state stay 0.
  private var lanes = SIMD16<UInt32>()
  public init() {}
  public subscript(word: StateWord) -> UInt32 {
    get { lanes[word.position] }
    set { lanes[word.position] = newValue }
  }
  /// In the order of `StateWord.allCases`.
  public var counts: [UInt32] { StateWord.allCases.map { self[$0] } }
  public mutating func add(_ other: StateCounts) {
    let sum = lanes &+ other.lanes
    lanes = sum.replacing(with: .max, where: sum .< lanes)
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
  /// The number of failures that the manifest allows.
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

    /// Whether a list restricted to some states shows the graph; no states means all.
    public func isMeant(by states: [StateWord]) -> Bool {
      states.isEmpty
        || states.contains { $0.rawValue == rawValue || ($0 == .executing && self == .running) }
    }
  }
}

extension GraphRow {
  /// The name of the submitter's key; empty if clients have no keys.
  public var submitter: String {
    labels.last { $0.key == GraphSubmission.submitterLabel }?.value ?? ""
  }
}

/// One operation as far as it is known: live state and attempts.
public struct OperationRow: Hashable, Sendable {
  public var id: OperationID
  public var name: String
  /// The shown index; nil for a plain operation.
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
  /// The newest run, as people count (`Dispatch.run`); 0 before the first.
  public var attempt: UInt32 = 0
  /// Obstacles other than dependencies: the barrier ahead, or the operations that a barrier waits
  /// for; at most 100 (S39, S86). Only for single operations.
  public var blockedBy: [OperationID] = []
  /// The last progress of a running attempt.
  public var progress: Progress?
  /// The moment when its hold opens by itself; nil if it does not, or is open (S150).
  public var notBefore: WallTime?
  /// The dependencies; at most 100.
  public var needs: [Need] = []
  public var result: AttemptResult?
  public var submittedAt: WallTime = .unknown
  /// The moment when nothing stood before the operation: no dependency, no barrier, no hold.
  /// Unknown while something does; for operations that ended without a start, or that reported only
  /// a plain success; and for moments before a restart of the coordinator.
  public var readyAt: WallTime = .unknown
  public var startedAt: WallTime = .unknown
  public var finishedAt: WallTime = .unknown
  /// The results of earlier attempts, oldest first; only for single operations.
  public var attempts: [AttemptHistory] = []
  /// The encoded `CommandSpecification` and the element's values (`ElementValues`). Only for single
  /// command operations, as long as the submission is known.
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

/// A graph's shape and state by template.
public struct GraphStructure: Hashable, Sendable {
  public var row: GraphRow
  public var stages: [Stage]
  public var groupEdges: [GroupEdge]
  /// Edges between single operations, at most 10,000; `elementEdgeCount` is their total.
  public var elementEdges: ElementEdges
  public var elementEdgeCount: UInt32
  /// The newest event in the counts: a follower ignores events up to it (S116).
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
    /// What each of its operations needs of a worker.
    public var demand = Resources.none
    public var requirements: [LabelRequirement] = []
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

/// The reasons for an operation's state.
public struct Explanation: Hashable, Sendable {
  public var operation: OperationID
  /// `12/align/3`.
  public var shown: String
  public var state: StateWord
  /// The most decisive first.
  public var lines: [Line]
  public init(operation: OperationID, shown: String, state: StateWord, lines: [Line]) {
    self.operation = operation
    self.shown = shown
    self.state = state
    self.lines = lines
  }

  /// A sentence, and what it advises.
  public struct Line: Hashable, Sendable, ExpressibleByStringInterpolation {
    public var text: String
    /// The remedy; may be empty.
    public var hint: Advice
    public var meaning: Meaning
    public init(_ text: String, hint: Advice = "", meaning: Meaning = .reason) {
      self.text = text
      self.hint = hint
      self.meaning = meaning
    }
    public init(stringLiteral text: String) { self.init(text) }
  }

  /// What a line is to a program that need not read it.
  public enum Meaning: Hashable, Sendable, CaseIterable {
    /// A reason like any other.
    case reason
    /// No connected worker can run it; the lines that follow say what is missing.
    case unplaceable
    /// It has ended, and the line says no more than that.
    case ended
  }
}

public struct QueueRow: Hashable, Sendable {
  public var queue: QueueID
  public var settings: QueueSettings
  /// Queued and executing operations; barriers do not count (S81).
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
  /// The time since the last message; nil: none since the coordinator's start.
  public var lastHeard: Span?
  /// The number of operations with processes that KILL does not end: the machine has a problem.
  public var unkillable: UInt32 = 0
  /// Work that it failed to start, unlike others, and does not get for a while; may be empty.
  public var trouble = ""
  /// The worker gets no work at all for a while.
  public var isSetAside = false
  /// The time and the reason of the loss of a worker that is down.
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

/// The coordinator's configuration, for `config show` and tests.
public struct ConfigurationValues: Hashable, Sendable {
  public var timing: Timing
  public var clientEndpoint: String
  public var workerEndpoint: String
  public var stateFolder: String
  /// The coordinator's wall clock; for display only (G31).
  public var wall = WallTime.unknown
  /// Free bytes on the journal's disk at the last check; nil if unknown.
  public var diskFreeBytes: UInt64?
  /// Submissions are refused while fewer bytes are free (G8).
  public var diskReserveBytes: UInt64 = 0
  /// The damage to the history, and the remedy; nil: no damage is known.
  public var historyProblem: String?
  /// Somebody waits for a worker to leave files with; nothing that was submitted says so.
  public var storesAreWanted = false
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
  /// The time between standing clear and the first run: the wait for a slot and a turn. Uses the
  /// clocks of two machines, so it is for people. nil if unknown, and if the row holds only a later
  /// attempt: request the operation alone.
  public var waited: Span? {
    let first = attempts.first { $0.run == 1 && $0.result.startedAt != .unknown }
    let began = first?.result.startedAt ?? (attempt == 1 ? startedAt : .unknown)
    guard readyAt != .unknown, began != .unknown else { return nil }
    return max(.zero, began - readyAt)
  }
}
