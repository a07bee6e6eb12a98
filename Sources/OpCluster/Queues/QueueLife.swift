// What a queue object knows of its queue. A value without I/O; ClusterOperationQueue guards one
// with its lock.

import OpClusterModel
import Synchronization

struct QueueLife: Sendable {
  var settings: QueueSettings
  /// Nobody chose the name: the queue goes with the object.
  let isAnonymous: Bool
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
  /// What this program added, in order; finished ones are cleared out now and then.
  private var added: [ClusterOperation] = []
  private var finishedAmongAdded = 0
  private var pending = 0

  init(settings: QueueSettings, isAnonymous: Bool) {
    self.settings = settings
    self.isAnonymous = isAnonymous
  }

  /// −1 means: no limit; what is lower is refused when it is sent.
  static func limit(_ count: Int) -> UInt32? {
    count < 0 ? nil : UInt32(clamping: count)
  }

  static func change(limit count: Int) throws(ClusterError) -> QueueChange {
    guard count >= -1 else {
      throw ClusterError(
        .badLimit, "\(count) is not a limit",
        hint: "give -1 to let the workers decide, 0 to start nothing, or a number")
    }
    return QueueChange(limit: count == -1 ? .unlimited : .atMost(UInt32(clamping: count)))
  }

  var operations: [ClusterOperation] {
    added.filter { operation in
      operation.life.withLock { !$0.isFinished && !$0.isBarrier }
    }
  }

  /// Everything that this program added and that has not finished, barriers too.
  var unfinished: [ClusterOperation] { added.filter { !$0.isFinished } }

  var isIdle: Bool { count == 0 && pending == 0 }

  mutating func append(_ operations: [ClusterOperation], asBarrier: Bool) {
    added += operations
    pending += operations.count
    if !asBarrier { tally.added(operations.count) }
  }

  /// It has gone to another queue, unfinished.
  mutating func remove(_ operation: ClusterOperation, asBarrier: Bool) {
    added.removeAll { $0 === operation }
    pending -= 1
    if !asBarrier { tally.added -= 1 }
  }

  /// One of ours has finished. Each is cleared out at constant cost.
  mutating func ended(_ end: OperationEnd) {
    pending -= 1
    finishedAmongAdded += 1
    if !end.isBarrier { tally.ended(hasExecuted: end.hasExecuted, outcome: end.outcome) }
    if finishedAmongAdded > 64, finishedAmongAdded * 2 > added.count {
      added.removeAll { $0.isFinished }
      finishedAmongAdded = 0
    }
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
      settings = new
    case .queueRemoved: isMade = false
    default: break
    }
    return kinds.map { OperationQueueChange(commit: event.commit.number, kind: $0) }
  }

  mutating func takeIdlers() -> [HandlerList<Void>.Handler] { isIdle ? idlers.takeAll() : [] }
}
