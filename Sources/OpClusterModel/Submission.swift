// A graph as submitted. Templates hold everything that repeats, columns hold what differs by
// element, and the work is opaque to the coordinator.

/// The kind of work of an operation.
public enum Work: Hashable, Sendable {
  /// No work: a join point, finished inside the coordinator without a worker (S4).
  case nothing
  /// A process; the payload is an encoded `CommandSpecification`.
  case command
  /// A registered operation type (S125); the payload is the encoded argument.
  case call(OperationType)
  /// Several blocks of one operation, side by side on one worker (S118 to S123); the payload is an
  /// encoded `[OperationBlock]`. The types that the blocks call decide the placement.
  case blocks([OperationType])
}

/// The retries of an operation after unsuccessful attempts (S12).
public struct RetryPolicy: Hashable, Sendable {
  /// Maximum number of further attempts after a failed one, 0…100.
  public var maximum: UInt32
  /// The failures that are retried; empty means all except those that are never retried (S129).
  public var reasons: [Reason]
  /// The wait before the first further attempt.
  public var backoff: Span
  /// Each wait as a percentage of the one before (200 = doubled).
  public var backoffPercent: UInt32
  public var maximumBackoff: Span
  /// Further attempts prefer a worker at which none has failed.
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
    /// The exit statuses from…through.
    case exit(UInt8, UInt8)
  }
  public static let never = RetryPolicy()
}

/// The common part of operations: a manifest's operation, or a kind of operation of a program.
public struct OperationTemplate: Hashable, Sendable {
  public var name: String
  /// The number of elements: 1 for a plain operation, 0…`Limits.operationsPerGraph` for an array.
  public var count: UInt32
  /// Whether the shown path is `12/name/3` instead of `12/name`.
  public var isArray: Bool
  /// The shown numbers of the elements (`OP_INDEX`); empty means 1, 2, 3, …
  public var indexRuns: [IndexRun]
  public var work: Work
  /// Opaque to the coordinator; at most `Limits.payloadBytes`.
  public var payload: [UInt8]
  /// One opaque entry per element (an item, matrix values); empty if the index is enough.
  public var elementArguments: ElementArguments
  /// The position in `GraphSubmission.queues`.
  public var queue: UInt32
  public var priority: Priority
  /// nil means the queue's (S55).
  public var qos: QualityOfService?
  public var demand: Resources
  public var requirements: [LabelRequirement]
  public var retry: RetryPolicy
  /// Losses of the worker after which it ends as lost; 0 is `on_worker_lost: fail` (S12).
  public var maximumLosses: UInt32
  /// Maximum number of elements that run at once; 0: no limit.
  public var maximumParallel: UInt32
  /// Exit statuses besides success that do not count as failures of the graph.
  public var allowedFailures: AllowedFailures
  /// `finally`: the graph's failure policy neither stops nor cancels it.
  public var isFinal: Bool
  /// The operation is a barrier of its queue (S77).
  public var isBarrier: Bool
  /// The dispatch must carry the outputs of its dependencies (S135).
  public var wantsInputs: Bool
  /// Time limit of an attempt; nil: that of the command, else none (G21).
  public var timeout: Span?
  /// Time from the request to stop to the kill; nil: that of the command, else the cluster's.
  public var grace: Span?
  /// Accepted with a closed hold gate: nothing starts before a release (S44).
  public var isHeld: Bool
  /// Accepted with a closed hold gate that opens by itself at this moment (S150).
  public var notBefore: NotBefore?
  /// The payload of a call is an encoded `CallInput`, filled in when an attempt starts.
  public var fillsInput: Bool
  /// Two process trees of one operation never run at once, whatever becomes of the worker. The
  /// worker kills it `Timing.fence` after the last contact; it goes elsewhere only after
  /// `Timing.lost` (G16).
  public var isExclusive: Bool
  public var labels: [Label]
  /// The secrets of its commands, by position: indices into `GraphSubmission.secrets`.
  public var secrets: [UInt32]
  /// The files that it reads, at most `Limits.inputFilesPerOperation`.
  public var inputFiles: [InputFile] = []
  /// The submitter's files, each as an encoded output that names them: one entry for all elements,
  /// or one for each; empty: none. Read as the output of a dependency named `InputFile.submitter`.
  public var ownFiles = ElementArguments()
  /// Whether it ends at once, with the same output, if one like it has succeeded before.
  public var isReusable = false
  /// Whether it may run once more after it has succeeded, if what it left is lost (S153).
  public var isReproducible = true
  /// The stores of workers in which its files and large values are to lie, and the submitter's
  /// files that it reads: 1…`Limits.replicas`.
  public var replicas: UInt8 = 1

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

/// A part of an array's numbering: `count` numbers from `first` on, `step` apart.
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
  /// The shown number of an element, counted from 0 over all runs. Elements beyond the runs are
  /// numbered from 1 on.
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
  /// The index of the first operation of each template, and the number of operations at the end.
  public var firstIndices: [UInt32] {
    var firsts: [UInt32] = [0]
    firsts.reserveCapacity(templates.count + 1)
    for at in templates.indices { firsts.append(firsts[at].saturatingAdd(templates[at].count)) }
    return firsts
  }

  /// The number of the graph's own queues.
  public var ownQueueCount: Int {
    queues.count { if case .own = $0 { true } else { false } }
  }
}

extension OperationTemplate {
  /// The shown number of an element, counted from 0 inside the template.
  public func shownIndex(ofElement element: UInt32) -> UInt32 {
    indexRuns.number(ofElement: element)
  }

  /// The element with a shown number; nil if there is none.
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

/// The failures that do not count: `allow_failure`.
public enum AllowedFailures: Hashable, Sendable {
  case none
  case all
  case exitStatuses([Int32])
}

/// The byte strings of an array's elements, concatenated.
public struct ElementArguments: Hashable, Sendable {
  /// All strings, one after the other.
  public private(set) var bytes: [UInt8]
  /// The end of each string in `bytes`.
  public private(set) var ends: [UInt32]
  public init() {
    bytes = []
    ends = []
  }
  /// Returns nil if the columns contradict each other (a malformed message).
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

  /// Calls `body` with the bytes of an element, without a copy.
  public func withBytes<Result>(of element: Int, _ body: (ArraySlice<UInt8>) -> Result) -> Result {
    body(bytes[(element == 0 ? 0 : Int(ends[element - 1]))..<Int(ends[element])])
  }
}

extension OperationTemplate {
  /// Whether a dispatch carries anything that the operation reads.
  package var readsInputs: Bool { wantsInputs || !ownFiles.isEmpty }

  /// The submitter's files of an element, as an encoded output; empty: none.
  package func ownFiles(of element: Int) -> [UInt8] {
    switch ownFiles.count {
    case 0: []
    case 1: ownFiles[0]
    default: element < ownFiles.count ? ownFiles[element] : []
    }
  }
}

/// A dependency between templates: on all elements, or element i on element i.
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

/// Dependencies between single operations of the graph, in columns of equal length; `policies` has
/// one entry for all, or one for each.
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

/// A queue of a submission.
public enum QueueReference: Hashable, Sendable {
  /// A queue of the cluster, by name; it must exist. `default` always does.
  case named(String)
  /// A queue of this graph, shown as `GRAPH/name`; it ends with the graph.
  case own(QueueSettings)
}

/// The settings of a queue (S63 to S76).
public struct QueueSettings: Hashable, Sendable {
  public var name: String
  public var qos: QualityOfService
  /// nil is Apple's −1: as many as the workers can run (S64).
  public var maximumConcurrent: UInt32?
  public var isSuspended: Bool
  /// Labels that a worker must all have to get operations of the queue; empty: any worker. Changes
  /// only while the queue is empty (S146).
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

/// The consequence of a failure for the rest of the graph.
public enum FailurePolicy: UInt8, Sendable, CaseIterable {
  /// Run everything that can still run.
  case `continue` = 0
  /// Start nothing new.
  case stop = 1
  /// Start nothing new, and cancel running operations.
  case cancel = 2
}

/// Consecutive templates that stop apart from the rest of the graph: a group or an array.
public struct FailureScope: Hashable, Sendable {
  /// The position of the first template, and the number of templates, at least one.
  public var first: UInt32
  public var count: UInt32
  /// The number of failures that do not stop them; allowed failures do not count.
  public var maximumFailures: UInt32
  /// Stopping also cancels running operations.
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

/// One submission: accepted or refused as a whole (S58, G2).
public struct GraphSubmission: Hashable, Sendable {
  public var key: SubmissionKey
  public var name: String
  public var templates: [OperationTemplate]
  public var groupEdges: [GroupEdge]
  public var elementEdges: ElementEdges
  public var externalEdges: [ExternalEdge]
  /// Queues by position; empty: all operations go to `default`.
  public var queues: [QueueReference]
  public var failurePolicy: FailurePolicy
  /// Failures that do not stop the graph, without allowed ones; nil: the policy decides.
  public var maximumFailures: UInt32?
  /// Parts of the graph that stop separately; at most `Limits.failureScopesPerGraph`.
  public var failureScopes: [FailureScope]
  /// Accepted, but nothing starts before a resume.
  public var isSuspended: Bool
  /// The operations are in no queue until they are enqueued (S28).
  public var isDeclaredOnly: Bool
  /// Cycles are accepted and never run (S32).
  public var allowsCycles: Bool
  public var labels: [Label]
  /// The origin for people: folder, command line. Opaque.
  public var origin: String
  /// The ended graph that this one runs again, and the operations taken over from it (S11).
  public var continued: ContinuedGraph?
  /// Values that only workers receive (G39). If templates name secrets and this is empty, those of
  /// the continued graph apply.
  public var secrets: [String]
  /// The operation of another graph that the only operation of this one runs again, because what it
  /// left is lost (S153). Only the coordinator submits such a graph.
  public var recomputes: OperationID?

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

/// The continuation of an ended graph: the same templates and edges under a new number (S11).
public struct ContinuedGraph: Hashable, Sendable {
  public var graph: GraphID
  /// Operations that do not run again: each must have succeeded in `graph`. They begin as finished,
  /// with their outputs. The runs name `graph`; the indices are the same in both.
  public var reused: OperationRuns
  public init(graph: GraphID, reused: OperationRuns) {
    self.graph = graph
    self.reused = reused
  }
}

extension GraphSubmission {
  /// The submission for everyone except workers and the journal (G39).
  public var withoutSecrets: GraphSubmission {
    if secrets.isEmpty { return self }
    var shown = self
    shown.secrets = []
    return shown
  }

  /// The label of the submitter; only the coordinator sets it, if clients have keys.
  public static let submitterLabel = "submitter"

  /// Empty if unknown.
  public var submitter: String {
    labels.last { $0.key == Self.submitterLabel }?.value ?? ""
  }

  /// The label that says in which span it was submitted.
  public static let traceParentLabel = "traceparent"

  /// nil: none is known.
  public var traceParent: TraceParent? { labels.traceParent }
}

extension [Label] {
  /// Of a graph's labels.
  public var traceParent: TraceParent? {
    last { $0.key == GraphSubmission.traceParentLabel }.flatMap { TraceParent($0.value) }
  }
}
