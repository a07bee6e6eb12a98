// What an operation object knows of its operation: settings while it is fresh, a mirror of the
// coordinator's state afterwards. A value without I/O; ClusterOperation guards one with its lock.

import OpClusterModel

/// A dependency as the object holds it.
struct Dependency: Sendable {
  var operation: ClusterOperation
  var condition: EdgePolicy
}

struct OperationLife: Sendable {
  /// Where the operation stands between this program and the cluster.
  enum Stage: Sendable {
    /// Known to this object alone; everything may be changed.
    case fresh
    /// On its way to the cluster; nothing may be changed until the answer came.
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
  /// Whether its queue's record counts it among what it holds, and where.
  var isCounted = false
  var place: UInt64 = 0
  /// The queue that it was added to, kept until the end: a queue lives as long as it has any (S5).
  var queue: QueueRecord?
  /// The same after the end: what has finished keeps no queue.
  weak var lastQueue: QueueRecord?
  /// The cluster that knows it.
  var cluster: OperationCluster?

  // The mirror
  var isReady = true
  var isExecuting = false
  var isCancelled = false
  var isHeld = false
  var outcome: Outcome?
  var cancelReason: CancelReason?
  /// What its body threw, where that was in this process.
  var thrown: (any Error)?
  var hasExecuted = false
  /// The newest run, as people count; 0 before the first.
  var run: UInt32 = 0
  /// The operation's own sequence of its newest event (S106).
  var sequence: UInt32 = 0

  // Who wants to know
  var completion: (@Sendable () -> Void)?
  /// Runs on a worker after the end (S109).
  var completionFunction: OperationWork.Invocation?
  var hasCompleted = false
  var observers = HandlerList<OperationChange>()
  var waiters = HandlerList<Void>()
  /// Who needs its number and waits for the answer that brings it.
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

/// What is to be done, outside of the lock, after the mirror has changed.
struct LifeEffects: Sendable {
  var change: OperationChange?
  var observers: [@Sendable (OperationChange) -> Void] = []
  var waiters: [HandlerList<Void>.Handler] = []
  var completion: (@Sendable () -> Void)?
  /// It has just finished, and this queue counted it.
  var ended: (queue: QueueRecord, end: OperationEnd)?
  /// Let go of outside of the lock: it may be the last who knew it.
  var left: QueueRecord?
}

/// What a queue counts of an operation that has finished.
struct OperationEnd: Sendable {
  var isBarrier: Bool
  /// Whether its main had run.
  var hasExecuted: Bool
  var outcome: Outcome
  /// Where it stands in its queue's record.
  var place: UInt64
}

extension OperationLife {
  /// Takes an event of this operation in. An event that was seen before changes nothing.
  ///
  /// - Returns: nil where nobody is to be told.
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
      // The cluster's clock says whether a time has passed.
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
    case .attemptEnded, .completed, .dependencies: break
    }
  }

  private mutating func finish(_ outcome: Outcome, _ effects: inout LifeEffects) {
    effects.waiters = waiters.takeAll()
    effects.completion = takeCompletion()
    if isCounted, let queue, let end { effects.ended = (queue, end) }
    effects.left = queue
    lastQueue = queue
    queue = nil
    // Whoever holds this object keeps it, but not what it depended on and ran.
    work = work.remains
  }

  /// The completion block, once (S109, S113).
  mutating func takeCompletion() -> (@Sendable () -> Void)? {
    guard !hasCompleted else { return nil }
    hasCompleted = true
    defer { completion = nil }
    return completion
  }

  /// What a fresh operation's own view of its readiness hangs on (S42); nil: it is not fresh, and
  /// `isReady` is what the cluster says.
  var ownDependencies: [ClusterOperation]? {
    guard case .fresh = stage else { return nil }
    if isCancelled { return [] }
    return dependencies.map(\.operation)
  }
}
