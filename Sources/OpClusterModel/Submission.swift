// A graph as it is submitted: what repeats is said once (templates), what differs by element
// stays in columns, and what runs is opaque to the coordinator.

/// What kind of thing runs when an operation's turn comes.
public enum Work: Hashable, Sendable {
  /// Nothing: a join point, finished inside the coordinator, no worker needed (S4).
  case nothing
  /// A process; the payload is an encoded `CommandSpecification`.
  case command
  /// A registered operation type (S125); the payload is the encoded argument.
  case call(OperationType)
  /// Several blocks side by side on one worker, one operation (S118 to S123); the payload is an
  /// encoded `[OperationBlock]`. These are the types that its blocks call, for placement.
  case blocks([OperationType])
}

/// What to do when an attempt did not succeed (S12).
public struct RetryPolicy: Hashable, Sendable {
  /// Further attempts after a failed one, 0…100.
  public var maximum: UInt32
  /// Which failures; empty means every one but those that are never retried (S129).
  public var reasons: [Reason]
  /// Wait before the first further attempt.
  public var backoff: Span
  /// Each wait is so many hundredths of the one before (200 = doubled).
  public var backoffPercent: UInt32
  public var maximumBackoff: Span
  /// A further attempt goes to a worker at which none has failed, where there is one.
  public var avoidsWorker: Bool
  public init(
    maximum: UInt32 = 0, reasons: [Reason] = [], backoff: Span = .zero,
    backoffPercent: UInt32 = 200, maximumBackoff: Span = .seconds(3600), avoidsWorker: Bool = false
  ) {
    self.maximum = maximum
    self.reasons = reasons
    self.backoff = backoff
    self.backoffPercent = backoffPercent
    self.maximumBackoff = maximumBackoff
    self.avoidsWorker = avoidsWorker
  }
  public enum Reason: Hashable, Sendable {
    case any, failed, timeout, outOfMemory, lost, anySignal
    case signal(Int32)
    /// Exit statuses from…through.
    case exit(UInt8, UInt8)
  }
  public static let never = RetryPolicy()
}

/// What repeats: one manifest operation, or one kind of operation of a program.
public struct OperationTemplate: Hashable, Sendable {
  public var name: String
  /// Elements: 1 for a plain operation, 0…`Limits.operationsPerGraph` for an array.
  public var count: UInt32
  /// Whether people see `12/name/3` rather than `12/name`.
  public var isArray: Bool
  /// The numbers that people see for the elements (`OP_INDEX`); empty means 1, 2, 3, …
  public var indexRuns: [IndexRun]
  public var work: Work
  /// Opaque to the coordinator; at most `Limits.payloadBytes`.
  public var payload: [UInt8]
  /// One entry per element, opaque (an item, matrix values); empty where the index is enough.
  public var elementArguments: ElementArguments
  /// Position in `GraphSubmission.queues`.
  public var queue: UInt32
  public var priority: Priority
  /// nil: the queue's (S55).
  public var qos: QualityOfService?
  public var demand: Resources
  public var requirements: [LabelRequirement]
  public var retry: RetryPolicy
  /// Losses of the worker before it ends as lost; 0 is `on_worker_lost: fail` (S12).
  public var maximumLosses: UInt32
  /// Elements running at once; 0 is no bound.
  public var maximumParallel: UInt32
  /// Exit statuses, besides success, whose failure does not count against the graph.
  public var allowedFailures: AllowedFailures
  /// `finally`: spared by the graph's failure policy and its cancellation by that policy.
  public var isFinal: Bool
  /// Acts as a barrier of its queue (S77).
  public var isBarrier: Bool
  /// Needs the outputs of its dependencies with the dispatch (S135).
  public var wantsInputs: Bool
  /// From the start of an attempt to being asked to stop; nil: what the command itself says, else
  /// as long as it takes (G21).
  public var timeout: Span?
  /// From being asked to stop to the kill; nil: what the command itself says, else the cluster's.
  public var grace: Span?
  /// Accepted with a closed hold gate: nothing of it starts before it is released (S44).
  public var isHeld: Bool
  /// Accepted with a closed hold gate that opens by itself at this moment (S150).
  public var notBefore: NotBefore?
  /// The payload of a call is an encoded `CallInput`: its places are filled in when an attempt
  /// starts.
  public var fillsInput: Bool
  /// Never two process trees of one operation at once, whatever becomes of its worker: it is killed
  /// there `Timing.fence` after the last contact, and goes elsewhere only after `Timing.lost`
  /// (G16).
  public var isExclusive: Bool
  public var labels: [Label]
  /// What its commands call secret 0, 1, 2, …: positions of `GraphSubmission.secrets`.
  public var secrets: [UInt32]

  public init(name: String, count: UInt32 = 1, work: Work) {
    self.name = name
    self.count = count
    self.isArray = count != 1
    self.indexRuns = []
    self.work = work
    self.payload = []
    self.elementArguments = ElementArguments()
    self.queue = 0
    self.priority = .normal
    self.qos = nil
    self.demand = Resources()
    self.requirements = []
    self.retry = .never
    self.maximumLosses = Limits.lossesBeforeGivingUp
    self.maximumParallel = 0
    self.allowedFailures = .none
    self.isFinal = false
    self.isBarrier = false
    self.wantsInputs = false
    self.timeout = nil
    self.grace = nil
    self.isHeld = false
    self.notBefore = nil
    self.fillsInput = false
    self.isExclusive = false
    self.labels = []
    self.secrets = []
  }
}

/// Part of an array's numbering: `count` numbers from `first` on, `step` apart.
public struct IndexRun: Hashable, Sendable {
  public var first: UInt32
  public var count: UInt32
  public var step: UInt32
  public init(first: UInt32, count: UInt32, step: UInt32 = 1) {
    self.first = first
    self.count = count
    self.step = step
  }
}

extension [IndexRun] {
  /// The number of an element of an array that is numbered so, counted from 0 over all runs; what
  /// no run numbers is counted from 1.
  public func number(ofElement element: UInt32) -> UInt32 {
    var rest = element
    for run in self {
      if rest < run.count { return run.first &+ rest &* run.step }
      rest -= run.count
    }
    return element &+ 1
  }
}

extension GraphSubmission {
  /// Index of the first operation of each template, and the number of operations at the end.
  public var firstIndices: [UInt32] {
    var firsts: [UInt32] = [0]
    firsts.reserveCapacity(templates.count + 1)
    for at in templates.indices { firsts.append(firsts[at].saturatingAdd(templates[at].count)) }
    return firsts
  }

  /// Queues that come with it.
  public var ownQueueCount: Int {
    queues.count { if case .own = $0 { true } else { false } }
  }
}

extension OperationTemplate {
  /// The number that people see for an element, counted from 0 inside the template.
  public func shownIndex(ofElement element: UInt32) -> UInt32 {
    indexRuns.number(ofElement: element)
  }

  /// The element that people mean by a number; nil when there is none.
  public func element(shownAs number: UInt32) -> UInt32? {
    if indexRuns.isEmpty { return number >= 1 && number <= count ? number - 1 : nil }
    var before: UInt32 = 0
    for run in indexRuns {
      let step = max(run.step, 1)
      if number >= run.first, (number - run.first) % step == 0,
        (number - run.first) / step < run.count
      {
        return before + (number - run.first) / step
      }
      before += run.count
    }
    return nil
  }
}

/// `allow_failure`.
public enum AllowedFailures: Hashable, Sendable {
  case none
  case all
  case exitStatuses([Int32])
}

/// Byte strings of the elements of an array, end to end.
public struct ElementArguments: Hashable, Sendable {
  /// All strings, one after the other.
  public private(set) var bytes: [UInt8]
  /// Where each string ends in `bytes`.
  public private(set) var ends: [UInt32]
  public init() {
    bytes = []
    ends = []
  }
  /// nil when the columns do not fit each other (a malformed message).
  public init?(bytes: [UInt8], ends: [UInt32]) {
    var last: UInt32 = 0
    for end in ends {
      if end < last { return nil }
      last = end
    }
    guard Int(last) == bytes.count else { return nil }
    self.bytes = bytes
    self.ends = ends
  }
  public mutating func append(_ argument: [UInt8]) {
    bytes.append(contentsOf: argument)
    ends.append(UInt32(bytes.count))
  }
  public var count: Int { ends.count }
  public var isEmpty: Bool { ends.isEmpty }
  public subscript(element: Int) -> [UInt8] { withBytes(of: element) { Array($0) } }

  /// The bytes of an element where they are.
  public func withBytes<Result>(of element: Int, _ body: (ArraySlice<UInt8>) -> Result) -> Result {
    body(bytes[(element == 0 ? 0 : Int(ends[element - 1]))..<Int(ends[element])])
  }
}

/// A dependency between templates: all elements, or element i on element i.
public struct GroupEdge: Hashable, Sendable {
  /// The template waited for.
  public var from: UInt32
  /// The template that waits.
  public var to: UInt32
  public var policy: EdgePolicy
  public var match: Match
  public enum Match: UInt8, Sendable {
    /// Every element of `to` waits for every element of `from`.
    case all = 0
    /// Element i waits for element i; both have the same count.
    case sameIndex = 1
  }
  public init(from: UInt32, to: UInt32, policy: EdgePolicy, match: Match = .all) {
    self.from = from
    self.to = to
    self.policy = policy
    self.match = match
  }
}

/// Dependencies between single operations of the graph, in columns of equal length; `policies`
/// has one entry for all, or one for each.
public struct ElementEdges: Hashable, Sendable {
  /// Index of the operation waited for.
  public var from: [UInt32]
  /// Index of the operation that waits.
  public var to: [UInt32]
  public var policies: [EdgePolicy]
  public init(from: [UInt32] = [], to: [UInt32] = [], policies: [EdgePolicy] = []) {
    self.from = from
    self.to = to
    self.policies = policies
  }
  public var count: Int { from.count }
  public func policy(_ edge: Int) -> EdgePolicy {
    policies.count == 1 ? policies[0] : policies[edge]
  }
}

/// A dependency on an operation of an earlier submission (S29).
public struct ExternalEdge: Hashable, Sendable {
  public var from: OperationID
  /// Index of the operation that waits, in this graph.
  public var to: UInt32
  public var policy: EdgePolicy
  public init(from: OperationID, to: UInt32, policy: EdgePolicy) {
    self.from = from
    self.to = to
    self.policy = policy
  }
}

/// A queue that a submission names.
public enum QueueReference: Hashable, Sendable {
  /// A queue of the cluster, by name; it must exist. `default` always does.
  case named(String)
  /// A queue of this graph only, seen as `GRAPH/name`; it goes when the graph has ended.
  case own(QueueSettings)
}

/// What can be set on a queue (S63 to S76).
public struct QueueSettings: Hashable, Sendable {
  public var name: String
  public var qos: QualityOfService
  /// nil is Apple's −1: as much as the workers can take (S64).
  public var maximumConcurrent: UInt32?
  public var isSuspended: Bool
  /// Labels that a worker must have, all of them, to be given an operation of the queue; none: any
  /// worker. Changes only while the queue is empty (S146).
  public var pool: [LabelRequirement]
  public init(
    name: String, qos: QualityOfService = .default, maximumConcurrent: UInt32? = nil,
    isSuspended: Bool = false, pool: [LabelRequirement] = []
  ) {
    self.name = name
    self.qos = qos
    self.maximumConcurrent = maximumConcurrent
    self.isSuspended = isSuspended
    self.pool = pool
  }
}

/// What a failure means for the rest of the graph.
public enum FailurePolicy: UInt8, Sendable, CaseIterable {
  /// Run what can still run.
  case `continue` = 0
  /// Start nothing new.
  case stop = 1
  /// Also cancel what runs.
  case cancel = 2
}

/// Neighbouring templates that stop together, whatever the graph's own policy: a group, an array.
public struct FailureScope: Hashable, Sendable {
  /// Position of the first template, and how many there are: at least one.
  public var first: UInt32
  public var count: UInt32
  /// One failure more (not an allowed one) stops them.
  public var maximumFailures: UInt32
  /// Stopping also cancels what runs.
  public var cancelsRunning: Bool
  public init(first: UInt32, count: UInt32, maximumFailures: UInt32, cancelsRunning: Bool) {
    self.first = first
    self.count = count
    self.maximumFailures = maximumFailures
    self.cancelsRunning = cancelsRunning
  }
  public func holds(_ template: Int) -> Bool {
    template >= Int(first) && template < Int(first) + Int(count)
  }
}

/// One submission: accepted as a whole or refused as a whole (S58, G2).
public struct GraphSubmission: Hashable, Sendable {
  public var key: SubmissionKey
  public var name: String
  public var templates: [OperationTemplate]
  public var groupEdges: [GroupEdge]
  public var elementEdges: ElementEdges
  public var externalEdges: [ExternalEdge]
  /// Queues by position; empty means: everything goes to `default`.
  public var queues: [QueueReference]
  public var failurePolicy: FailurePolicy
  /// Failures (not allowed ones) beyond which the graph is stopped; nil: the policy alone says.
  public var maximumFailures: UInt32?
  /// Parts of the graph that stop by themselves; at most `Limits.failureScopesPerGraph`.
  public var failureScopes: [FailureScope]
  /// Accepted, but nothing starts until the graph is resumed.
  public var isSuspended: Bool
  /// Known but in no queue until enqueued (S28).
  public var isDeclaredOnly: Bool
  /// Cycles are accepted and never run (S32).
  public var allowsCycles: Bool
  public var labels: [Label]
  /// Where it came from, for people: folder, command line. Opaque.
  public var origin: String
  /// The ended graph that this one does again, and what it takes over from it (S11).
  public var continued: ContinuedGraph?
  /// Values that workers are told and nobody else (G39). None, where templates name some, means
  /// those of the graph that this one does again.
  public var secrets: [String]

  public init(key: SubmissionKey = SubmissionKey(""), name: String) {
    self.key = key
    self.name = name
    templates = []
    groupEdges = []
    elementEdges = ElementEdges()
    externalEdges = []
    queues = []
    failurePolicy = .continue
    maximumFailures = nil
    failureScopes = []
    isSuspended = false
    isDeclaredOnly = false
    allowsCycles = false
    labels = []
    origin = ""
    continued = nil
    secrets = []
  }
  public var operationCount: Int {
    var count = 0
    for at in templates.indices { count += Int(templates[at].count) }
    return count
  }
}

/// A new life for a graph that has ended: the same templates and edges under a new number (S11).
public struct ContinuedGraph: Hashable, Sendable {
  public var graph: GraphID
  /// Operations that are not run again: each must have succeeded there. They begin finished, with
  /// the outputs that they left. The runs speak of `graph`; indices are the same in both.
  public var reused: OperationRuns
  public init(graph: GraphID, reused: OperationRuns) {
    self.graph = graph
    self.reused = reused
  }
}

extension GraphSubmission {
  /// As everybody but workers and the journal may see it (G39).
  public var withoutSecrets: GraphSubmission {
    if secrets.isEmpty { return self }
    var shown = self
    shown.secrets = []
    return shown
  }

  /// The label that says who made it: set by the coordinator alone, where clients have keys.
  public static let submitterLabel = "submitter"

  /// Empty: nobody is known.
  public var submitter: String {
    labels.last { $0.key == Self.submitterLabel }?.value ?? ""
  }
}
