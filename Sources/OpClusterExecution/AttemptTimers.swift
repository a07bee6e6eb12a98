// The moments at which attempts run out of time or of grace. Owned by the core.

import HeapModule
import OpClusterModel

/// One timer. It is not taken out when its attempt ends: it then names nobody and is skipped.
struct AttemptTimer: Comparable, Sendable {
  enum Kind: Hashable, Sendable {
    /// The attempt's own time is up (G21).
    case timeout
    /// It was asked to stop and has not (S92).
    case grace
  }
  var deadline: Instant
  /// Order of setting, so that equal moments fire in that order.
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
  /// Beyond this many they are swept: twice what the last sweep left.
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

  /// Throws away those that name nobody any more: a timeout of a day must not keep a day's
  /// attempts.
  mutating func sweep(keeping isLive: (SlotTicket) -> Bool) {
    heap = Heap(heap.unordered.filter { isLive($0.ticket) })
    sweepAt = max(256, heap.count * 2)
  }
}
