// The messages between workers and the coordinator. One message per peer and turn, each in one
// frame (A4). Both directions are numbered inside a conversation, so that gaps and repeats are
// detected; a gap leads to a new hello.

/// A message from a worker.
public enum WorkerMessage: Hashable, Sendable {
  case hello(WorkerHello)
  case report(WorkerReport)
  /// The requested piece of a log.
  case logChunk(LogChunk)
  /// The worker stops in good order: it gives unstarted attempts back and has reported the others.
  /// `lastReport` is its last report in this conversation, so that a report that did not arrive is
  /// noticed; 0 if it made none, or does not say.
  case goodbye(lastReport: UInt64)
}

/// The first message of a conversation.
public struct WorkerHello: Hashable, Sendable {
  public var versions: ProtocolVersions
  public var build: String
  /// Matches `[A-Za-z0-9._:-]{1,128}`; for display and history.
  public var name: String
  public var session: WorkerSession
  public var capacity: Resources
  /// The most that one operation can have, for a relay, whose capacity is that of several machines;
  /// nil: the capacity.
  public var largest: Resources?
  public var labels: [Label]
  public var types: [OperationType]
  /// Attempts that it was given and has not started.
  public var assigned: [AttemptID]
  /// Attempts that are executing, and ended ones with an unacknowledged report.
  public var executing: [AttemptID]
  /// The session's position in the coordinator's log; nil before the first.
  public var known: HistoryMark?
  /// Where others read what its store has; nil: it has no store, and no way to others'.
  public var store: ContentSource?
  public init(
    versions: ProtocolVersions = .current, build: String = "", name: String,
    session: WorkerSession, capacity: Resources, labels: [Label] = [],
    types: [OperationType] = [], assigned: [AttemptID] = [], executing: [AttemptID] = []
  ) {
    self.versions = versions
    self.build = build
    self.name = name
    self.session = session
    self.capacity = capacity
    self.labels = labels
    self.types = types
    self.assigned = assigned
    self.executing = executing
  }
}

extension WorkerHello {
  /// Whether an operation with this demand could ever run there.
  package func isLargeEnough(for demand: Resources) -> Bool {
    capacity.covers(demand) && (largest.map { $0.covers(demand) } ?? true)
  }
}

/// The protocol versions that a peer speaks, from…through (G32).
public struct ProtocolVersions: Hashable, Sendable {
  public var lowest: UInt32
  public var highest: UInt32
  public init(lowest: UInt32, highest: UInt32) {
    self.lowest = lowest
    self.highest = highest
  }
  public static let current = ProtocolVersions(lowest: 1, highest: 1)
  /// The version that both speak; nil if there is none.
  public func common(with other: ProtocolVersions) -> UInt32? {
    let version = min(highest, other.highest)
    return version >= max(lowest, other.lowest) ? version : nil
  }
}

/// The events at a worker since its last report, in order. An empty report is a heartbeat. The
/// worker keeps it and repeats it until it is acknowledged (S115).
public struct WorkerReport: Hashable, Sendable {
  /// The conversation of the welcome.
  public var conversation: Conversation
  /// The position in this conversation, from 1.
  public var number: UInt64
  public var entries: [Entry]
  /// The highest `WorkerOrders.number` processed.
  public var ordersTaken: UInt64
  /// The worker leaves after its running operations: nothing new, take the rest back (S148).
  public var isLeaving = false
  /// Attempts with processes that KILL does not end, at present: the first `Limits.unkillableTold`.
  public var unkillable: [AttemptID] = []
  /// The resources of such processes of attempts that have ended: the worker gives them to nobody
  /// until the processes end.
  public var unkillableDemand = Resources.none
  /// What its store has since the last report; the first ones of a conversation list all of it.
  public var held: [StoredContent] = []
  /// What its store does not have any more.
  public var lost: [ContentDigest] = []
  /// What unstarted attempts wait for, and none of the holders can be reached from here.
  public var unreached: [UnreachedContent] = []
  /// Deliveries that were ordered and have failed.
  public var undelivered: [FailedDelivery] = []
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
    /// May come without `started` before it; then it implies that (S149).
    case finished(AttemptID, AttemptResult)
    /// The answer to a recall: the attempt will never start (S148).
    case recalled(AttemptID)
    /// The answer to a recall that came too late.
    case alreadyStarted(AttemptID)
    /// The worker has processed the cancellation of a running attempt (S92).
    case cancelTaken(AttemptID)
    /// The progress of a running attempt, 0…1, with a text; only the newest matters.
    case progress(AttemptID, fraction: Double, text: String)

    /// The attempt that the entry is about.
    package var attempt: AttemptID {
      switch self {
      case .started(let attempt), .finished(let attempt, _), .recalled(let attempt),
        .alreadyStarted(let attempt), .cancelTaken(let attempt), .progress(let attempt, _, _):
        attempt
      }
    }
  }
}

/// Identifies a conversation between two lives: orders of another conversation are ignored (section
/// 4.4 of Simulation.md, hole 1).
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

/// A message from the coordinator to a worker.
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
  /// Attempts of the hello that no longer belong to the worker: stop them, report nothing (S147).
  public var stale: [AttemptID]
  /// The address for clients, for operations that submit others; empty if not given.
  public var clientEndpoint: String
  /// The position in the log at this decision; nil if not given.
  public var known: HistoryMark?
  /// Whether outputs may name contents of the worker's store.
  public var takesContents = false
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

/// One turn's orders for one worker; empty orders are a heartbeat.
public struct WorkerOrders: Hashable, Sendable {
  public var conversation: Conversation
  /// The position in this conversation, from 1; a repeat is dropped, a gap leads to a new hello. 0:
  /// a heartbeat without content that overtakes orders waiting for the disk.
  public var number: UInt64
  /// Reports through this number are durable: drop them.
  public var acknowledged: UInt64
  /// Reports through this number have been heard; they need not be durable. This proves to the
  /// worker until when it was heard, the start of the leases of exclusive operations (G16).
  public var heard: UInt64 = 0
  /// Templates that are new to this conversation.
  public var templates: [TemplateAnnouncement]
  public var dispatches: [Dispatch]
  public var recalls: [AttemptID]
  public var cancels: [CancelOrder]
  /// Attempts whose late reports were dropped: stop and drop them (S147).
  public var stale: [AttemptID]
  /// Graphs whose templates no further order will name.
  public var forgottenGraphs: [GraphID]
  /// Take nothing new, finish running operations, then say goodbye.
  public var drain: Bool
  /// The newest durable commit at this decision, for the worker's next hello; 0: not given.
  public var commit = CommitIndex(0)
  /// Where contents of the dispatches' inputs are that the worker does not have.
  public var holders: [ContentHolders] = []
  /// Who may read what of its store.
  public var grants: [GrantOrder] = []
  /// What need not stay in its store any more.
  public var released: [ContentDigest] = []
  /// What has to stay in its store after all: something names it again.
  public var retained: [ContentDigest] = []
  /// What it is to have as well, in case that another store is lost; `holders` say where it is.
  public var copies: [StoredContent] = []
  /// Keys whose owners may read nothing of its store any more.
  public var revoked: [[UInt8]] = []
  /// What it is to leave in the stores of others, which cannot fetch it from here.
  public var deliveries: [ContentDelivery] = []
  /// What it said that it cannot reach, and will not get: who waits for it cannot start here.
  public var unobtainable: [ContentDigest] = []
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
      && stale.isEmpty && forgottenGraphs.isEmpty && !drain && holders.isEmpty
      && grants.isEmpty && released.isEmpty && retained.isEmpty && revoked.isEmpty
      && copies.isEmpty && deliveries.isEmpty && unobtainable.isEmpty
  }
}

/// A content that cannot be fetched.
public struct UnreachedContent: Hashable, Sendable {
  public var content: StoredContent
  /// Holders that were named and cannot be connected to, the last ones first; at most
  /// `Limits.holdersReported`.
  public var sources: [ContentSource]
  public init(_ content: StoredContent, from sources: [ContentSource]) {
    self.content = content
    self.sources = sources
  }
}

/// A delivery that has not taken place.
public struct FailedDelivery: Hashable, Sendable {
  public var delivery: ContentDelivery
  /// Whether the store cannot be connected to; else it has no room, or refuses it.
  public var isUnreached: Bool
  public init(_ delivery: ContentDelivery, isUnreached: Bool) {
    self.delivery = delivery
    self.isUnreached = isUnreached
  }
}

/// A content that its holder leaves in another store.
public struct ContentDelivery: Hashable, Sendable {
  public var content: StoredContent
  public var to: ContentSource
  public init(_ content: StoredContent, to store: ContentSource) {
    self.content = content
    to = store
  }
}

/// Where a content is.
public struct ContentHolders: Hashable, Sendable {
  public var digest: ContentDigest
  /// The best first; at most `Limits.holdersTold`. None, to who said that it reaches no holder:
  /// nobody has it any more.
  public var sources: [ContentSource]
  public init(digest: ContentDigest, sources: [ContentSource]) {
    self.digest = digest
    self.sources = sources
  }
}

/// Somebody may read a content, or leave one, for `GrantOrder.time` from when the order is taken.
public struct GrantOrder: Hashable, Sendable {
  public var digest: ContentDigest
  /// The reader's public key; empty where there are no keys.
  public var reader: [UInt8]
  /// Whether the content may be left here, and not read.
  public var mayWrite: Bool
  public init(digest: ContentDigest, reader: [UInt8], mayWrite: Bool = false) {
    self.digest = digest
    self.reader = reader
    self.mayWrite = mayWrite
  }

  /// How long a grant is valid: longer than any transfer takes that makes progress; a later
  /// dispatch grants anew.
  public static let time = Span.seconds(3600)
}

/// The part of a template that a worker needs to run its operations; sent once per conversation.
public struct TemplateAnnouncement: Hashable, Sendable {
  public var graph: GraphID
  public var graphName: String
  /// The position in the graph's templates.
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
  /// The shown name of the queue, for the operation's context (S146); announced again after a
  /// rename. A moved operation carries its own (`Dispatch.queueName`).
  public var queueName = ""
  /// `OperationTemplate.timeout`.
  public var timeout: Span?
  /// `OperationTemplate.grace`.
  public var grace: Span?
  /// `OperationTemplate.fillsInput`.
  public var fillsInput = false
  /// `OperationTemplate.isExclusive`.
  public var isExclusive = false
  /// The values of `OperationTemplate.secrets`, in that order.
  public var secrets: [String] = []
  /// `GraphSubmission.submitter`.
  public var submitter = ""
  /// `OperationTemplate.inputFiles`.
  public var inputFiles: [InputFile] = []
  /// `GraphSubmission.traceParent`.
  public var traceParent: TraceParent?
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
  /// The position in the graph's templates.
  public var template: UInt32
  /// The number of the run, from 1, as people count. Attempts recalled unstarted do not count, in
  /// contrast to the attempt's number, which is never reused (G14).
  public var run: UInt32 = 1
  /// The order inside the queue, repeated for the worker (S47).
  public var priority: Priority
  public var place: UInt64
  /// The queue of the order: levels and places compare only inside one queue (S50). Among queues
  /// the better service goes first, and equal ones take turns (S60).
  public var queue = QueueID.main
  public var service: QualityOfService = .default
  /// The queue's name after a later enqueue or a move; nil: the template's.
  public var queueName: String?
  /// The element's own argument; for a block operation also later blocks (S120).
  public var argument: [UInt8]
  /// The outputs of its finished dependencies, in the order of addition (S135).
  public var inputs: [DependencyInput]
  /// Dependencies that this worker holds and that must end first (S151).
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

/// The information of a dependent about one direct dependency (S135 to S139).
public struct DependencyInput: Hashable, Sendable {
  public var operation: OperationID
  public var name: String
  /// nil for a plain operation; the shown index of an array's element.
  public var index: UInt32?
  public var outcome: Outcome
  /// nil: no output, or it must not be passed on (S100, S138).
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

/// Stop a running attempt: ask, wait for the grace, then kill its process, if any.
public struct CancelOrder: Hashable, Sendable {
  public var attempt: AttemptID
  /// nil: the grace of the command, else the cluster's.
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

/// A client's request for a piece of a log, on its way to the worker that has the file.
public struct LogRequest: Hashable, Sendable {
  /// The coordinator's own number of the request.
  public var number: UInt64
  public var attempt: AttemptID
  public var stream: LogStream
  /// The first byte; negative: counted from the end.
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
  /// The offset of `bytes` in the file.
  public var offset: UInt64
  public var bytes: [UInt8]
  /// The present size of the file.
  public var size: UInt64
  /// Nothing more will be written.
  public var isComplete: Bool
  /// The reason for the lack of bytes: the attempt is unknown here, or the file is gone.
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
