// The progress of a queue (S143, S144): counts by outcome, so that completion is detectable even
// though cancelled operations complete nothing.

import OpClusterModel
import Synchronization

/// Counts of the operations that this program added to a queue. Values; barriers never count.
struct QueueTally: Hashable, Sendable {
  /// The larger of the program's value and the number of additions: it never shrinks (S144).
  var total = 0
  var isOn = false
  var added = 0
  var completed = 0
  var cancelledUnstarted = 0
  var failed = 0
  var lost = 0
  /// Left for another queue before their start. The total does not shrink for them, so each counts
  /// as done here until another operation takes its place.
  var moved = 0

  /// Whether every operation that was added and stayed has ended, with any outcome.
  var isFinished: Bool {
    isOn && completed + cancelledUnstarted + lost + moved >= max(added + moved, total)
  }

  mutating func added(_ count: Int) {
    added += count
    moved -= min(moved, count)
    if isOn { total = max(total, added) }
  }

  /// Counts an operation that was moved to another queue.
  mutating func movedAway() {
    added -= 1
    if isOn { moved += 1 }
  }

  /// Counts the end of an operation; once, independent of the number of attempts.
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
