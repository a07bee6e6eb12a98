// Names for the two types `Turn`: the scheduler's decisions, and the journal's record of them. This
// target uses both. Pure.

import OpClusterJournal
import OpClusterModel
import OpClusterScheduling
import OpClusterSystem

typealias SchedulingTurn = OpClusterScheduling.Turn
typealias JournalTurn = OpClusterJournal.Turn

extension Instant {
  /// The present moment on this machine's monotonic clock; only bodies read it.
  static var now: Instant { Instant(nanoseconds: MonotonicClock.now()) }
}

extension WallTime {
  static var now: WallTime { WallTime(milliseconds: WallClock.now()) }
}
