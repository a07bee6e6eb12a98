// The counts behind the progress of a queue (S143, S144). Values.

import OpClusterModel

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
