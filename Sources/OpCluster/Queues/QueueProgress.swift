// The progress of a queue (S143, S144): counts by outcome, so that completion is detectable even
// though cancelled operations complete nothing.

import Synchronization

extension ClusterOperationQueue {
  /// The progress of the operations that this program added (S143).
  public var progress: QueueProgress { QueueProgress(queue: self) }
}

/// A view of a queue's progress: off until `totalUnitCount` is set (S143). It controls nothing.
public struct QueueProgress: Sendable {
  private let queue: ClusterOperationQueue

  init(queue: ClusterOperationQueue) { self.queue = queue }

  private var tally: QueueTally { queue.record.state.withLock { $0.tally } }

  /// Setting it starts the counting; additions raise it if they exceed it (S144).
  public var totalUnitCount: Int {
    get { tally.total }
    nonmutating set {
      queue.record.state.withLock { life in
        if !life.tally.isOn { life.tally = QueueTally() }
        life.tally.isOn = newValue > 0
        life.tally.total = max(newValue, life.tally.added, 0)
      }
    }
  }
  /// The number of operations whose main has ended, by return or by error, once each.
  public var completedUnitCount: Int { tally.completed }
  /// Cancelled or skipped before they began.
  public var cancelledUnstartedCount: Int { tally.cancelledUnstarted }
  public var failedCount: Int { tally.failed }
  /// Lost with their worker.
  public var lostCount: Int { tally.lost }
  /// 0…1; never decreases while nothing is added.
  public var fractionCompleted: Double {
    let tally = self.tally
    return tally.total == 0 ? 0 : min(1, Double(tally.completed) / Double(tally.total))
  }
  /// Whether every added operation has ended, with any outcome, or was moved to another queue.
  public var isFinished: Bool { tally.isFinished }
}
