// How far a queue is (S143, S144): counts by how operations ended, so that "all done" can be told
// even though cancelled ones complete nothing.

import OpClusterModel
import Synchronization

/// Counts of a queue's operations, as far as this program added them. Values; barriers never count.
struct QueueTally: Hashable, Sendable {
  /// What the program said, or what was added, whichever is more: it never shrinks (S144).
  var total = 0
  var isOn = false
  var added = 0
  var completed = 0
  var cancelledUnstarted = 0
  var failed = 0
  var lost = 0

  mutating func added(_ count: Int) {
    added += count
    if isOn { total = max(total, added) }
  }

  /// One operation ended; it counts once, however many attempts it took.
  mutating func ended(hasExecuted: Bool, outcome: Outcome) {
    guard isOn else { return }
    switch outcome {
    case .lost: lost += 1
    case .succeeded: completed += 1
    case .failed, .timedOut:
      failed += 1
      if hasExecuted { completed += 1 }
    case .cancelled, .skipped:
      if hasExecuted { completed += 1 } else { cancelledUnstarted += 1 }
    }
  }
}

/// A view of a queue's progress: off until `totalUnitCount` is set (S143). It controls nothing.
public struct QueueProgress: Sendable {
  private let queue: ClusterOperationQueue

  init(queue: ClusterOperationQueue) { self.queue = queue }

  private var tally: QueueTally { queue.record.state.withLock { $0.tally } }

  /// Setting it switches the counting on; additions raise it when they exceed it (S144).
  public var totalUnitCount: Int {
    get { tally.total }
    nonmutating set {
      queue.record.state.withLock { life in
        if !life.tally.isOn { life.tally.added = 0 }
        life.tally.isOn = newValue > 0
        life.tally.total = max(newValue, life.tally.added, 0)
      }
    }
  }
  /// Operations whose main has ended, by return or by error, once each.
  public var completedUnitCount: Int { tally.completed }
  /// Cancelled or skipped before they began.
  public var cancelledUnstartedCount: Int { tally.cancelledUnstarted }
  public var failedCount: Int { tally.failed }
  /// Ended with their worker.
  public var lostCount: Int { tally.lost }
  /// 0…1; never falls while nothing is added.
  public var fractionCompleted: Double {
    let tally = self.tally
    return tally.total == 0 ? 0 : min(1, Double(tally.completed) / Double(tally.total))
  }
  /// Every operation that was added has ended one way or another.
  public var isFinished: Bool {
    let tally = self.tally
    return tally.isOn
      && tally.completed + tally.cancelledUnstarted + tally.lost >= max(tally.added, tally.total)
  }
}
