// What workers and the coordinator say to each other. One message per peer and turn; each is one
// frame (A4). Both directions are numbered inside a conversation: a gap or a repeat is seen, and
// a gap is answered by a new hello.

/// From a worker.
public enum WorkerMessage: Hashable, Sendable {
  case hello(WorkerHello)
  case report(WorkerReport)
  /// The piece of a log that somebody asked for.
  case logChunk(LogChunk)
  /// It stops in good order; what it holds unstarted comes back, what it ran is reported.
  case goodbye
}

/// The first message of a conversation.
public struct WorkerHello: Hashable, Sendable {
  public var versions: ProtocolVersions
  public var build: String
  /// Matches `[A-Za-z0-9._:-]{1,128}`; display and history.
  public var name: String
  public var session: WorkerSession
  public var capacity: Resources
  public var labels: [Label]
  public var types: [OperationType]
  /// Attempts it holds unstarted.
  public var held: [AttemptID]
  /// Attempts it is executing, and those that ended and whose report is not yet acknowledged.
  public var executing: [AttemptID]
  /// How far this session knows the coordinator's log; nil: nothing was told yet.
  public var known: HistoryMark?
  public init(
    versions: ProtocolVersions = .current, build: String = "", name: String,
    session: WorkerSession, capacity: Resources, labels: [Label] = [],
    types: [OperationType] = [], held: [AttemptID] = [], executing: [AttemptID] = []
  ) {
    self.versions = versions
    self.build = build
    self.name = name
    self.session = session
    self.capacity = capacity
    self.labels = labels
    self.types = types
    self.held = held
    self.executing = executing
  }
}

/// Protocol versions a peer can speak, from…through (G32).
public struct ProtocolVersions: Hashable, Sendable {
  public var lowest: UInt32
  public var highest: UInt32
  public init(lowest: UInt32, highest: UInt32) {
    self.lowest = lowest
    self.highest = highest
  }
  public static let current = ProtocolVersions(lowest: 1, highest: 1)
  /// The version both speak; nil when they cannot understand each other.
  public func common(with other: ProtocolVersions) -> UInt32? {
    let version = min(highest, other.highest)
    return version >= max(lowest, other.lowest) ? version : nil
  }
}

/// What happened at a worker since its last report, in the order in which it happened. An empty
/// one is a heartbeat. Kept by the worker and sent again until acknowledged (S115).
public struct WorkerReport: Hashable, Sendable {
  /// Conversation that it answers to (the welcome's).
  public var conversation: Conversation
  /// Position in this conversation, from 1.
  public var number: UInt64
  public var entries: [Entry]
  /// Highest `WorkerOrders.number` taken in.
  public var ordersTaken: UInt64
  /// It wants to leave once what runs has ended: give it nothing new, take the rest back (S148).
  public var isLeaving = false
  /// Attempts of which processes live that KILL does not end, as of now: the first
  /// `Limits.unkillableTold` of them.
  public var unkillable: [AttemptID] = []
  /// What such processes take of attempts that have ended otherwise: the worker gives it to nobody
  /// before they have ended as well.
  public var unkillableDemand = Resources.none
  public init(
    conversation: Conversation, number: UInt64, entries: [Entry] = [], ordersTaken: UInt64 = 0
  ) {
    self.conversation = conversation
    self.number = number
    self.entries = entries
    self.ordersTaken = ordersTaken
  }

  public enum Entry: Hashable, Sendable {
    case started(AttemptID)
    /// May come without `started` before it: then it implies it (S149).
    case finished(AttemptID, AttemptResult)
    /// Answer to a recall: it will never start (S148).
    case recalled(AttemptID)
    /// Answer to a recall that came too late.
    case alreadyStarted(AttemptID)
    /// The cancellation of a running attempt has been taken in (S92).
    case cancelTaken(AttemptID)
    /// Progress of a running attempt, 0…1, with a text; only the newest matters.
    case progress(AttemptID, fraction: Double, text: String)
  }
}

/// Names a conversation between two lives: orders of another one are not obeyed (section 4.4 of
/// Simulation.md, hole 1).
public struct Conversation: Hashable, Sendable {
  public var epoch: Epoch
  public var session: WorkerSession
  /// Counts the welcomes of this session, from 1.
  public var increment: UInt32
  public init(epoch: Epoch, session: WorkerSession, increment: UInt32) {
    self.epoch = epoch
    self.session = session
    self.increment = increment
  }
}

/// From the coordinator to a worker.
public enum CoordinatorMessage: Hashable, Sendable {
  case welcome(Welcome)
  case refused(Refusal)
  case orders(WorkerOrders)
  case logRequest(LogRequest)
}

/// The answer to an accepted hello.
public struct Welcome: Hashable, Sendable {
  public var conversation: Conversation
  public var version: UInt32
  public var worker: WorkerID
  public var timing: Timing
  /// Attempts of the hello that are no longer its own: stop them, report nothing (S147).
  public var stale: [AttemptID]
  /// Where clients connect to, for operations that submit others; empty: not told.
  public var clientEndpoint: String
  /// How far the log was when this was decided, and in which life; nil: not told.
  public var known: HistoryMark?
  public init(
    conversation: Conversation, version: UInt32, worker: WorkerID, timing: Timing,
    stale: [AttemptID] = [], clientEndpoint: String = ""
  ) {
    self.conversation = conversation
    self.version = version
    self.worker = worker
    self.timing = timing
    self.stale = stale
    self.clientEndpoint = clientEndpoint
  }
}

/// One turn's orders for one worker; an empty one is a heartbeat.
public struct WorkerOrders: Hashable, Sendable {
  public var conversation: Conversation
  /// Position in this conversation, from 1; a repeat is dropped, a gap leads to a new hello.
  /// 0: a heartbeat that overtakes what waits for the disk; it carries nothing.
  public var number: UInt64
  /// Reports through this number are durable: forget them.
  public var acknowledged: UInt64
  /// Reports through this number have been heard; they need not be durable. It proves to the worker
  /// until when it was heard, which is what leases of exclusive operations are counted from (G16).
  public var heard: UInt64 = 0
  /// Templates this conversation has not been told yet.
  public var templates: [TemplateAnnouncement]
  public var dispatches: [Dispatch]
  public var recalls: [AttemptID]
  public var cancels: [CancelOrder]
  /// Late words about these were dropped: stop them, forget them (S147).
  public var stale: [AttemptID]
  /// Templates that no coming order will name.
  public var forgottenGraphs: [GraphID]
  /// Take nothing new, finish what runs, then say goodbye.
  public var drain: Bool
  /// The newest commit when this was decided, durable since: the worker names it when it comes
  /// back. 0: not told.
  public var commit = CommitIndex(0)
  public init(conversation: Conversation, number: UInt64, acknowledged: UInt64) {
    self.conversation = conversation
    self.number = number
    self.acknowledged = acknowledged
    templates = []
    dispatches = []
    recalls = []
    cancels = []
    stale = []
    forgottenGraphs = []
    drain = false
  }
  public var isHeartbeat: Bool {
    templates.isEmpty && dispatches.isEmpty && recalls.isEmpty && cancels.isEmpty
      && stale.isEmpty && forgottenGraphs.isEmpty && !drain
  }
}

/// What a worker must know of a template to run its operations; sent once a conversation.
public struct TemplateAnnouncement: Hashable, Sendable {
  public var graph: GraphID
  public var graphName: String
  /// Position in the graph's templates.
  public var template: UInt32
  /// The operation index of its first element.
  public var firstIndex: UInt32
  public var name: String
  public var isArray: Bool
  public var indexRuns: [IndexRun]
  public var work: Work
  public var payload: [UInt8]
  public var demand: Resources
  public var qos: QualityOfService
  /// The queue's name as people see it, for the operation's context (S146); announced again when
  /// it is called otherwise. An operation that was moved says its own (`Dispatch.queueName`).
  public var queueName = ""
  /// `OperationTemplate.timeout`.
  public var timeout: Span?
  /// `OperationTemplate.grace`.
  public var grace: Span?
  /// `OperationTemplate.fillsInput`.
  public var fillsInput = false
  /// `OperationTemplate.isExclusive`.
  public var isExclusive = false
  /// The values that `OperationTemplate.secrets` names, in that order.
  public var secrets: [String] = []
  /// `GraphSubmission.submitter`.
  public var submitter = ""
  public init(
    graph: GraphID, graphName: String, template: UInt32, firstIndex: UInt32, name: String,
    isArray: Bool, indexRuns: [IndexRun], work: Work, payload: [UInt8], demand: Resources,
    qos: QualityOfService
  ) {
    self.graph = graph
    self.graphName = graphName
    self.template = template
    self.firstIndex = firstIndex
    self.name = name
    self.isArray = isArray
    self.indexRuns = indexRuns
    self.work = work
    self.payload = payload
    self.demand = demand
    self.qos = qos
  }
}

/// One attempt for one worker.
public struct Dispatch: Hashable, Sendable {
  public var attempt: AttemptID
  /// Position in the graph's templates.
  public var template: UInt32
  /// Which run of the operation this is, from 1, as people count: what was recalled unstarted does
  /// not count, unlike in the attempt's own number, which is never reused (G14).
  public var run: UInt32 = 1
  /// The queue's own rule of order, once more at the worker (S47).
  public var priority: Priority
  public var place: UInt64
  /// Whose order that is: levels and places compare only inside one queue (S50); among queues the
  /// better service goes first, and equals take turns (S60).
  public var queue = QueueID.main
  public var service: QualityOfService = .default
  /// What that queue is called, where it is not the template's: the operation was enqueued later,
  /// or moved; nil: as its template says.
  public var queueName: String?
  /// The element's own argument; of a block operation also the blocks that were added later (S120).
  public var argument: [UInt8]
  /// What its finished dependencies left, in order of addition (S135).
  public var inputs: [DependencyInput]
  /// Dependencies that this very worker holds and that must end first (S151).
  public var awaits: [LocalDependency]
  public init(
    attempt: AttemptID, template: UInt32, priority: Priority = .normal, place: UInt64 = 0,
    argument: [UInt8] = [], inputs: [DependencyInput] = [], awaits: [LocalDependency] = []
  ) {
    self.attempt = attempt
    self.template = template
    self.priority = priority
    self.place = place
    self.argument = argument
    self.inputs = inputs
    self.awaits = awaits
  }
}

public struct LocalDependency: Hashable, Sendable {
  public var operation: OperationID
  public var policy: EdgePolicy
  public init(operation: OperationID, policy: EdgePolicy) {
    self.operation = operation
    self.policy = policy
  }
}

/// What a dependent may know of one direct dependency (S135 to S139).
public struct DependencyInput: Hashable, Sendable {
  public var operation: OperationID
  public var name: String
  /// nil for a plain operation; the shown index of an array's element.
  public var index: UInt32?
  public var outcome: Outcome
  /// nil: no output, or not to be passed on (S100, S138).
  public var output: [UInt8]?
  public init(
    operation: OperationID, name: String, index: UInt32?, outcome: Outcome, output: [UInt8]?
  ) {
    self.operation = operation
    self.name = name
    self.index = index
    self.outcome = outcome
    self.output = output
  }
}

/// Stop a running attempt: ask, wait for the grace, then kill where it is a process.
public struct CancelOrder: Hashable, Sendable {
  public var attempt: AttemptID
  /// nil: what the command itself says, else the cluster's.
  public var grace: Span?
  public init(attempt: AttemptID, grace: Span? = nil) {
    self.attempt = attempt
    self.grace = grace
  }
}

public enum LogStream: UInt8, Sendable, CaseIterable {
  case standardOutput = 0
  case standardError = 1
}

/// A client's wish for a piece of a log, on its way to the worker that has the file.
public struct LogRequest: Hashable, Sendable {
  /// The coordinator's own number for it.
  public var number: UInt64
  public var attempt: AttemptID
  public var stream: LogStream
  /// From this byte on; negative: so many bytes before the end.
  public var offset: Int64
  public var maximumBytes: UInt32
  public init(
    number: UInt64, attempt: AttemptID, stream: LogStream, offset: Int64, maximumBytes: UInt32
  ) {
    self.number = number
    self.attempt = attempt
    self.stream = stream
    self.offset = offset
    self.maximumBytes = maximumBytes
  }
}

public struct LogChunk: Hashable, Sendable {
  public var number: UInt64
  /// Where `bytes` begin in the file.
  public var offset: UInt64
  public var bytes: [UInt8]
  /// Size of the file now.
  public var size: UInt64
  /// Nothing more will be written.
  public var isComplete: Bool
  /// Why there is nothing: no such attempt here, the file is gone.
  public var problem: String
  public init(
    number: UInt64, offset: UInt64, bytes: [UInt8], size: UInt64, isComplete: Bool,
    problem: String = ""
  ) {
    self.number = number
    self.offset = offset
    self.bytes = bytes
    self.size = size
    self.isComplete = isComplete
    self.problem = problem
  }
}
