// The settings of an operation before it is added: order, resources, retries, times.

public import OpClusterModel

/// The settings of an operation. All have defaults; they are fixed when the operation is added,
/// except where a call of `ClusterOperation` says otherwise.
public struct OperationSettings: Hashable, Sendable {
  /// For people, and for dependents that read outputs by name; need not be unique (S2).
  public var name: String?
  /// Order among the ready operations of one queue (S47).
  public var queuePriority: Priority = .normal
  /// nil: the queue's (S55).
  public var qualityOfService: QualityOfService?
  /// The free resources that a worker must have; one cpu by default.
  public var resources = Resources()
  /// Labels that a worker must have.
  public var requirements: [LabelRequirement] = []
  /// Further attempts after failures; none by default (S12).
  public var retry: RetryPolicy = .never
  /// Losses of a worker before the operation ends as lost; 0 is Apple's "main runs at most once":
  /// not again after an orderly stop of its worker, either (S12).
  public var maximumLosses: UInt32 = Limits.lossesBeforeGivingUp
  /// Never two process trees of it at once, even if its worker fails (G16). A registered operation
  /// then runs in a child process of its worker, independent of its type.
  public var isExclusive = false
  /// The time from the start of an attempt until it is asked to stop; nil: unlimited.
  public var timeout: Duration?
  /// The time from being asked to stop to the kill, if it can be killed (S92); nil: the cluster's.
  public var cancelGrace: Duration?
  /// Starts held: it does not run before `release()` (S44).
  public var isHeld = false
  /// The earliest moment of its start: it is held, and its gate opens by itself (S150). `release()`
  /// opens it earlier, cancelling opens it at once. A delay counts from the addition of the
  /// operation.
  public var notBefore: NotBefore?
  /// The files of dependencies that it reads: names of files, by the name of the dependency. A
  /// command finds them as `$OP_INPUTS/DEPENDENCY/FILE`, a registered operation by
  /// `context.inputFile("DEPENDENCY/FILE")`. Files that are parts of
  /// a value come without being named; where some are named, these alone come.
  public var inputFiles: [String: [String]] = [:]
  /// Free labels for finding and cancelling operations (S97).
  public var labels: [String: String] = [:]
  /// Informative only, as in Foundation (S130).
  public var isAsynchronous = false

  public init() {}
}

extension OperationSettings {
  /// Whether it will be held for a while, as far as this program knows.
  var isDelayed: Bool {
    switch notBefore {
    case nil: false
    case .after(let span): span > .zero
    case .at: true
    }
  }

  /// The part of a template that is the same for all kinds of work.
  func fill(_ template: inout OperationTemplate) {
    template.priority = queuePriority
    template.qos = qualityOfService
    template.demand = resources
    template.requirements = requirements
    template.retry = retry
    template.maximumLosses = maximumLosses
    template.isExclusive = isExclusive
    template.timeout = timeout.map(Span.init)
    template.grace = cancelGrace.map(Span.init)
    template.isHeld = isHeld
    template.notBefore = notBefore
    template.wantsInputs = true
    template.inputFiles = inputFiles.sorted { $0.key < $1.key }.flatMap { dependency, names in
      names.map {
        InputFile(operation: dependency, file: $0, folder: dependency, isByIndex: false)
      }
    }
    if labels.isEmpty { return }
    template.labels = labels.sorted { $0.key < $1.key }.map { Label(key: $0.key, value: $0.value) }
  }
}

extension NotBefore {
  /// A delay after the operation was added; a duration of zero or less is no delay.
  public static func delay(_ duration: Duration) -> NotBefore { .after(Span(duration)) }

  /// At a time in seconds since 1970, such as a `Date`'s `timeIntervalSince1970`.
  public static func time(_ secondsSince1970: Double) -> NotBefore {
    // NaN saturates to time 0, which has passed: no wait.
    .at(WallTime(milliseconds: Int64(saturating: (secondsSince1970 * 1000).rounded())))
  }
}
