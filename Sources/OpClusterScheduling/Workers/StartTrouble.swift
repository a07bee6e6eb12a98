// The stages that a worker could not start, and how long it rests from each. Values only;
// `UnableWorkers` decides.

import OpClusterModel

/// The stages whose operations a worker could not start.
struct StartTrouble: Sendable {
  /// By the first operation of each stage; at most `Limits.troubledStagesKept`.
  var stages: [OperationID: Abstention] = [:]
  /// The stages that it was blamed for since it last ran anything.
  var blamedInARow = 0
  /// The rest from all operations, after too many of these.
  var whole: Abstention?
}

/// The state of a worker that gets no operations of a stage, or none at all.
struct Abstention: Sendable {
  enum Phase {
    /// It could not start some operations, and no other worker has run them: the fault is unknown.
    case unsettled
    /// It is given nothing.
    case resting
    /// The next operation is a try.
    case awaitsTry
    /// It was given one operation as a try.
    case tried
  }
  /// The stage; nil: all operations.
  var stage: StageName?
  var phase = Phase.unsettled
  /// The operations that it could not start, while the fault is unknown.
  var operations: Set<OperationID> = []
  /// The number of consecutive rests.
  var rests: UInt32 = 0
  /// The end of a rest, or of the time allowed for a try.
  var until = Instant.zero
  /// The worker's reason for its latest failed start.
  var reason: String

  /// Whether operations of the stage are withheld from it.
  var withholds: Bool {
    switch phase {
    case .unsettled: operations.count >= Limits.unsettledStarts
    case .resting, .tried: true
    case .awaitsTry: false
    }
  }
  /// Whether the rests are so many that people must act.
  var isLasting: Bool { rests >= Limits.restsBeforeSetAside }

  /// The text in lists of workers.
  func text(at now: Instant) -> String {
    let what = stage.map { "operations of \($0.text)" } ?? "what it was given"
    let next =
      phase == .resting
      ? "is tried again in \(max(until - now, .zero).secondsRoundedUp) s"
      : "is tried with the next one"
    return "it could not start \(what) and \(next): \(reason)"
  }
}

/// The end of a rest or a try.
struct AbstentionEnd: Comparable, Sendable {
  var until: Instant
  var worker: UInt32
  /// The first operation of the stage; nil: all operations.
  var stage: OperationID?
  static func < (a: Self, b: Self) -> Bool { (a.until, a.worker) < (b.until, b.worker) }
}

/// The moment at which a start counts as certain: a failed start is reported sooner.
struct StartConfirmation: Comparable, Sendable {
  var until: Instant
  var attempt: AttemptID
  var worker: UInt32
  static func < (a: Self, b: Self) -> Bool { (a.until, a.attempt) < (b.until, b.attempt) }
}

extension StartTrouble {
  var isOver: Bool { stages.isEmpty && whole == nil }

  /// Prepares another try: the operation of the last one could not be started anywhere.
  mutating func repeatTry(of first: OperationID) {
    if stages[first]?.phase == .tried { stages[first]?.phase = .awaitsTry }
    if whole?.phase == .tried { whole?.phase = .awaitsTry }
  }

  /// The worst state that the worker is to blame for.
  var worst: Abstention? {
    whole
      ?? stages.filter { $0.value.rests > 0 }
      .max { ($0.value.rests, $1.key) < ($1.value.rests, $0.key) }?.value
  }
}
