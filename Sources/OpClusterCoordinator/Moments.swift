// The clocks of this machine as the core's values. Only bodies read them.

import OpClusterModel
import OpClusterSystem

extension Instant {
  /// The present moment on this machine's monotonic clock.
  static var now: Instant { Instant(nanoseconds: MonotonicClock.now()) }
}

extension WallTime {
  static var now: WallTime { WallTime(milliseconds: WallClock.now()) }
}
