// The state of a queue object. A value without I/O; QueueRecord guards it with its lock.

import OpClusterModel
import Synchronization

struct QueueLife: Sendable {
  var settings: QueueSettings
  /// Whether the name was generated: the queue is then removed with its object.
  let isAnonymous: Bool
  /// The settings given before it was known whether the queue exists: applied to an existing one.
  var given: QueueChange?
  /// The reason why the given settings are invalid. Every request fails with it.
  var objection: ClusterError?
  /// Whether the cluster was asked if the queue exists.
  var hasLooked = false
  /// The handlers that wait for that answer; nil: no request is pending.
  var lookers: [@Sendable () -> Void]?
  /// The first handle, while it is alive.
  weak var handle: ClusterOperationQueue?
  /// Whether the queue is known to exist in the cluster.
  var isMade = false
  var id: QueueID?
  /// Requests that wait until the queue exists; nil: it is not being created.
  var awaiting: [DoneHandler]?
  /// The handlers that wait until the given settings are applied; nil: none are on their way.
  var applying: [DoneHandler]?
  /// Those that came while others were on their way.
  var applyingNext: [DoneHandler] = []
  /// The number of operations of all programs in the queue.
  var count: UInt32 = 0
  var tally = QueueTally()
  var observers = HandlerList<OperationQueueChange>()
  /// The handlers that wait until it is empty.
  var idlers = HandlerList<Void>()
  /// Called when nothing more can be told of queues.
  var lossHandlers = HandlerList<ClusterError>()
  /// The operations added by this program, by ascending place; nil: finished, removed later.
  private var added: [(place: UInt64, operation: ClusterOperation?)] = []
  private var lastPlace: UInt64 = 0
  private var emptyPlaces = 0
  private var pending = 0

  init(settings: QueueSettings, isAnonymous: Bool) {
    self.settings = settings
    self.isAnonymous = isAnonymous
  }

  static func change(limit count: Int) throws(ClusterError) -> QueueChange {
    guard count >= -1 else {
      throw ClusterError(
        .badLimit, "\(count) is not a limit",
        hint: "give -1 to let the workers decide, 0 to start nothing, or a number")
    }
    return QueueChange(limit: count == -1 ? .unlimited : .atMost(UInt32(clamping: count)))
  }

  /// Whether the cluster's state of the queue is known, and includes the given settings.
  var isKnown: Bool {
    if isAnonymous || objection != nil { return true }
    return lookers == nil && hasLooked && (id == nil || given == nil)
  }

  /// Stores settings for a queue that may exist.
  mutating func give(_ change: QueueChange) { given = given.map { $0.with(change) } ?? change }

  var operations: [ClusterOperation] {
    added.compactMap(\.operation).filter { operation in
      operation.life.withLock { !$0.isFinished && !$0.isBarrier }
    }
  }

  var isIdle: Bool { count == 0 && pending == 0 }

  /// Appends operations; returns the place of the first one; the others follow.
  mutating func appendMembers(_ operations: [ClusterOperation], asBarrier: Bool) -> UInt64 {
    let first = lastPlace + 1
    for operation in operations {
      lastPlace += 1
      added.append((lastPlace, operation))
    }
    pending += operations.count
    if !asBarrier { tally.added(operations.count) }
    return first
  }

  /// Removes an unfinished operation that was moved. The caller releases it outside of the lock.
  mutating func remove(at place: UInt64, asBarrier: Bool) -> ClusterOperation? {
    pending -= 1
    if !asBarrier { tally.movedAway() }
    return empty(place)
  }

  /// Removes a finished own operation. The caller releases it outside of the lock.
  mutating func ended(_ end: OperationEnd) -> ClusterOperation? {
    pending -= 1
    if !end.isBarrier { tally.ended(hasExecuted: end.hasExecuted, outcome: end.outcome) }
    return empty(end.place)
  }

  /// Clears the place of an operation, so that the queue keeps no finished one alive. Costs a
  /// binary search, and occasionally a pass over at most twice the present operations.
  private mutating func empty(_ place: UInt64) -> ClusterOperation? {
    var low = 0
    var high = added.count
    while low < high {
      let middle = (low + high) / 2
      if added[middle].place < place { low = middle + 1 } else { high = middle }
    }
    guard low < added.count, added[low].place == place else { return nil }
    let operation = added[low].operation
    added[low].operation = nil
    emptyPlaces += 1
    if emptyPlaces > 64, emptyPlaces * 2 > added.count {
      added.removeAll { $0.operation == nil }
      emptyPlaces = 0
    }
    return operation
  }

  /// Applies an event; returns one notice for each changed key of S105.
  mutating func take(_ event: Event) -> [OperationQueueChange] {
    var kinds: [OperationQueueChange.Kind] = []
    switch event.kind {
    case .queueCount(let newCount):
      count = newCount
      if observers.isEmpty { return [] }
      kinds = [.operationCount(Int(newCount)), .operations]
    case .queueChanged(let new):
      if new.name != settings.name { kinds.append(.name(new.name)) }
      if new.isSuspended != settings.isSuspended { kinds.append(.isSuspended(new.isSuspended)) }
      if new.maximumConcurrent != settings.maximumConcurrent {
        kinds.append(.maxConcurrentOperationCount(new.maximumConcurrent.map(Int.init) ?? -1))
      }
      if new.pool != settings.pool { kinds.append(.pool(new.pool)) }
      settings = new
    case .queueRemoved:
      isMade = false
      id = nil
    default: break
    }
    return kinds.map { OperationQueueChange(commit: event.commit.number, kind: $0) }
  }

  mutating func takeIdlers() -> [HandlerList<Void>.Handler] { isIdle ? idlers.takeAll() : [] }
}
