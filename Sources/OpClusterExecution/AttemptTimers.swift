// The deadlines of attempts: their time limits and graces. Owned by the core.

import HeapModule
import OpClusterModel

/// One timer. It stays when its attempt ends; its ticket is then invalid, and it is skipped.
struct AttemptTimer: Comparable, Sendable {
  enum Kind: Hashable, Sendable {
    /// The attempt's time limit (G21).
    case timeout
    /// The end of the grace after a request to stop (S92).
    case grace
  }
  var deadline: Instant
  /// The order of setting; timers with equal deadlines fire in that order.
  var sequence: UInt64
  var kind: Kind
  var ticket: SlotTicket

  static func < (a: AttemptTimer, b: AttemptTimer) -> Bool {
    (a.deadline, a.sequence) < (b.deadline, b.sequence)
  }
  static func == (a: AttemptTimer, b: AttemptTimer) -> Bool { a.sequence == b.sequence }
}

/// All timers, the earliest first.
struct AttemptTimers: Sendable {
  private var heap = Heap<AttemptTimer>()
  private var sequence: UInt64 = 0
  /// Timers are swept beyond this number: twice the result of the last sweep.
  private var sweepAt = 256

  var earliest: Instant? { heap.min?.deadline }

  mutating func set(_ deadline: Instant, _ kind: AttemptTimer.Kind, _ ticket: SlotTicket) {
    sequence += 1
    heap.insert(
      AttemptTimer(deadline: deadline, sequence: sequence, kind: kind, ticket: ticket))
  }

  mutating func popDue(at now: Instant) -> AttemptTimer? {
    guard let first = heap.min, first.deadline <= now else { return nil }
    return heap.popMin()
  }

  var needsSweep: Bool { heap.count > sweepAt }

  /// Removes invalid timers, so that a time limit of a day does not keep the timers of a day.
  mutating func sweep(keeping isLive: (SlotTicket) -> Bool) {
    heap = Heap(heap.unordered.filter { isLive($0.ticket) })
    sweepAt = max(256, heap.count * 2)
  }
}
