// What a queue object knows of its queue. A value without I/O; ClusterOperationQueue guards one
// with its lock.

import OpClusterModel
import Synchronization

struct QueueLife: Sendable {
  var settings: QueueSettings
  /// Nobody chose the name: the queue goes with the object.
  let isAnonymous: Bool
  /// What the program said of it before it was known whether the cluster has it: applies when it
  /// does.
  var given: QueueChange?
  /// Why it cannot be: what the program gave at first is no setting. Every request is told so.
  var objection: ClusterError?
  /// The cluster was asked whether it has it.
  var hasLooked = false
  /// Who waits for the answer; nil: nobody has asked.
  var lookers: [@Sendable () -> Void]?
  /// The first handle, as long as somebody has it.
  weak var handle: ClusterOperationQueue?
  /// Whether the queue is known to exist in the cluster.
  var isMade = false
  var id: QueueID?
  /// Requests that wait until the queue exists; nil: it is not being made.
  var awaiting: [DoneHandler]?
  /// Operations in the queue, of whatever program.
  var count: UInt32 = 0
  var tally = QueueTally()
  var observers = HandlerList<OperationQueueChange>()
  /// Who waits for it to be empty.
  var idlers = HandlerList<Void>()
  /// What this program added, by ascending place; nil: it has finished, and is cleared out later.
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

  /// Whether it is known how the cluster has it, if it does, and that has what was given.
  var isKnown: Bool {
    if isAnonymous || objection != nil { return true }
    return lookers == nil && hasLooked && (id == nil || given == nil)
  }

  /// Remembers what the program wants of a queue that may exist.
  mutating func give(_ change: QueueChange) { given = given.map { $0.with(change) } ?? change }

  var operations: [ClusterOperation] {
    added.compactMap(\.operation).filter { operation in
      operation.life.withLock { !$0.isFinished && !$0.isBarrier }
    }
  }

  var isIdle: Bool { count == 0 && pending == 0 }

  /// Returns the place of the first one; the others follow.
  mutating func append(_ operations: [ClusterOperation], asBarrier: Bool) -> UInt64 {
    let first = lastPlace + 1
    for operation in operations {
      lastPlace += 1
      added.append((lastPlace, operation))
    }
    pending += operations.count
    if !asBarrier { tally.added(operations.count) }
    return first
  }

  /// It has gone to another queue, unfinished. The caller lets go of it, outside of the lock.
  mutating func remove(at place: UInt64, asBarrier: Bool) -> ClusterOperation? {
    pending -= 1
    if !asBarrier { tally.added -= 1 }
    return empty(place)
  }

  /// One of ours has finished. The caller lets go of it, outside of the lock.
  mutating func ended(_ end: OperationEnd) -> ClusterOperation? {
    pending -= 1
    if !end.isBarrier { tally.ended(hasExecuted: end.hasExecuted, outcome: end.outcome) }
    return empty(end.place)
  }

  /// The queue keeps nothing alive that has finished. A search by halves, and now and then one pass
  /// over what is at most twice what is there.
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

  /// What an event of the queue changes, one notice for each of S105's keys.
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
