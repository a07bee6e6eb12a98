// Two modules have a `Turn`: what the scheduler decided, and what the journal keeps of it. This
// target speaks of both and names them apart. Pure.

import OpClusterJournal
import OpClusterModel
import OpClusterScheduling
import OpClusterZeroMQ

typealias SchedulingTurn = OpClusterScheduling.Turn
typealias JournalTurn = OpClusterJournal.Turn

extension Instant {
  /// The moment on this machine's monotonic clock; only bodies read it.
  static var now: Instant { Instant(nanoseconds: MonotonicClock.now()) }
}

extension WallTime {
  static var now: WallTime { WallTime(milliseconds: WallClock.now()) }
}
