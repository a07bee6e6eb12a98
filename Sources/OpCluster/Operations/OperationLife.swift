// The state of an operation object: settings while it is fresh, a mirror of the coordinator's state
// afterwards. A value without I/O; ClusterOperation guards it with its lock.

import OpClusterModel

/// A dependency of an operation object.
struct Dependency: Sendable {
  var operation: ClusterOperation
  var condition: EdgePolicy
}

struct OperationLife: Sendable {
  /// The stage of the operation between this program and the cluster.
  enum Stage: Sendable {
    /// Known only to this object; everything may be changed.
    case fresh
    /// On its way to the cluster; nothing may be changed until the answer arrives.
    case leaving
    /// Known to the cluster, in no queue (S28).
    case declared(OperationID)
    case enqueued(OperationID)
  }

  var stage = Stage.fresh
  var settings: OperationSettings
  var work: OperationWork
  var dependencies: [Dependency] = []
  var isBarrier = false
  /// Whether its queue's record counts it, and at which place.
  var isCounted = false
  var place: UInt64 = 0
  /// The queue that it was added to, kept until the end: a queue lives as long as it has operations
  /// (S5).
  var queue: QueueRecord?
  /// The queue after the end, weak: a finished operation keeps no queue alive.
  weak var lastQueue: QueueRecord?
  /// The cluster that knows it.
  var cluster: OperationCluster?

  // The mirror:
  var isReady = true
  var isExecuting = false
  var isCancelled = false
  var isHeld = false
  var outcome: Outcome?
  var cancelReason: CancelReason?
  /// The error that its body threw in this process.
  var thrown: (any Error)?
  var hasExecuted = false
  /// The number of the newest run for people; 0 before the first.
  var run: UInt32 = 0
  /// The operation's own sequence of its newest event (S106).
  var sequence: UInt32 = 0
  /// Whether its last change has been told.
  var isCompleted = false

  // Handlers:
  var completion: (@Sendable () -> Void)?
  /// Runs on a worker after the end (S109).
  var completionFunction: OperationWork.Invocation?
  var hasCompleted = false
  var observers = HandlerList<OperationChange>()
  var waiters = HandlerList<Void>()
  /// Called when nothing more can be told of it.
  var lossHandlers = HandlerList<ClusterError>()
  /// Handlers that need its number and wait for the answer with it.
  var settling: [@Sendable () -> Void] = []

  var isFinished: Bool { outcome != nil }
  var end: OperationEnd? {
    outcome.map {
      OperationEnd(isBarrier: isBarrier, hasExecuted: hasExecuted, outcome: $0, place: place)
    }
  }
  var newestQueue: QueueRecord? { queue ?? lastQueue }

  var id: OperationID? {
    switch stage {
    case .fresh, .leaving: nil
    case .declared(let id), .enqueued(let id): id
    }
  }
}

extension OperationLife {
  var shownName: String { settings.name ?? work.defaultName }

  mutating func takeSettled() -> [@Sendable () -> Void] {
    defer { settling = [] }
    return settling
  }
}

/// Actions outside of the lock after a change of the mirror.
struct LifeEffects: Sendable {
  var change: OperationChange?
  var observers: [@Sendable (OperationChange) -> Void] = []
  var waiters: [HandlerList<Void>.Handler] = []
  var completion: (@Sendable () -> Void)?
  /// Set if it has just finished, and this queue counted it.
  var ended: (queue: QueueRecord, end: OperationEnd)?
  /// Released outside of the lock: this may be the last reference.
  var left: QueueRecord?
}

/// The counters that a finished operation changes in its queue.
struct OperationEnd: Sendable {
  var isBarrier: Bool
  /// Whether its main had run.
  var hasExecuted: Bool
  var outcome: Outcome
  /// Its place in its queue's record.
  var place: UInt64
}

extension OperationLife {
  /// Takes an event of this operation. A repeated event changes nothing.
  ///
  /// - Returns: nil if there is nothing to call.
  mutating func take(_ event: Event, own: UInt32) -> LifeEffects? {
    guard own > sequence, let kind = OperationChange.Kind(event.kind) else { return nil }
    sequence = own
    apply(kind)
    if observers.isEmpty, outcome == nil || waiters.isEmpty && hasCompleted { return nil }
    var effects = LifeEffects()
    if !observers.isEmpty {
      effects.change = OperationChange(sequence: own, commit: event.commit.number, kind: kind)
      effects.observers = observers.all
    }
    if case .isFinished(let outcome) = kind { finish(outcome, &effects) }
    return effects
  }

  private mutating func apply(_ kind: OperationChange.Kind) {
    switch kind {
    case .isReady(let value):
      isReady = value
      // The cluster's clock decides whether its moment has come.
      if value { isHeld = false }
    case .isExecuting(let value):
      isExecuting = value
      if value { hasExecuted = true }
    case .isFinished(let value):
      outcome = value
      if value == .succeeded { thrown = nil }
      isReady = true
      isExecuting = false
    case .isCancelled(let reason):
      isCancelled = true
      cancelReason = reason
    case .isHeld(let value): isHeld = value
    case .queuePriority(let value): settings.queuePriority = value
    case .attemptStarted(let number): run = number
    case .completed: isCompleted = true
    case .attemptEnded, .dependencies: break
    }
  }

  private mutating func finish(_ outcome: Outcome, _ effects: inout LifeEffects) {
    effects.waiters = waiters.takeAll()
    effects.completion = takeCompletion()
    if isCounted, let queue, let end { effects.ended = (queue, end) }
    effects.left = queue
    lastQueue = queue
    queue = nil
    // A program may keep this object; it releases its dependencies and closures.
    work = work.remains
  }

  /// The completion block, once (S109, S113).
  mutating func takeCompletion() -> (@Sendable () -> Void)? {
    guard !hasCompleted else { return nil }
    hasCompleted = true
    defer { completion = nil }
    return completion
  }

  /// The dependencies that decide the readiness of a fresh operation (S42); nil if it is not fresh,
  /// and the cluster decides `isReady`.
  var ownDependencies: [ClusterOperation]? {
    guard case .fresh = stage else { return nil }
    if isCancelled { return [] }
    return dependencies.map(\.operation)
  }
}
