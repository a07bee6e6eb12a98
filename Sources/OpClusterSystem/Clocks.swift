// The clocks. Bodies read them and pass the time on as a number; brains never do. Any thread.

package import Glibc

/// Time that never goes back, for deadlines and durations.
public enum MonotonicClock {
  /// Nanoseconds since some moment before the process started; unrelated between machines.
  public static func now() -> Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}

/// The processor time of the calling thread. Who measures by it is not misled by other programs.
public enum ThreadClock {
  /// Nanoseconds since the thread began.
  public static func now() -> Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}

/// The time of day, for people and records; may jump.
public enum WallClock {
  /// Milliseconds since 1970, UTC.
  public static func now() -> Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
  }
}

/// The time that the kernel writes into files: that of its ticks.
package enum FileClock {
  package static func now() -> timespec {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME_COARSE, &time)
    return time
  }
}
