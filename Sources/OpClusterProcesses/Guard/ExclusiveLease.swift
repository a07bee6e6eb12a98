// The lease by which exclusive operations live (G16): written by the worker whenever the
// coordinator is known to have heard of it, read by the guard, which kills them when it runs out,
// and by each child before it executes. Belongs to `ProcessHost`; loop thread.

import CProcess
import Glibc

/// A moment in memory that the worker shares with its guard. Made before the guard; lives as long
/// as the process.
@safe public final class ExclusiveLease {
  let page: OpaquePointer

  /// Holds for nobody at first. Nil: no memory or no descriptor is left.
  init?() {
    guard let page = unsafe op_lease_make() else { return nil }
    unsafe self.page = page
  }

  /// Makes it hold until this moment of ``clock``.
  public func set(until moment: Int64) { unsafe op_lease_set(page, moment) }

  /// Ends it now.
  public func end() { unsafe op_lease_set(page, 0) }

  /// Whether it holds now.
  public var holds: Bool { unsafe op_lease_holds(page) }

  /// Whether it holds, and no round of the guard's killing that began before can meet what begins
  /// now. A round takes milliseconds, which this waits for; a guard that is stopped in the middle
  /// of one makes it false after half a second.
  func settles() -> Bool { unsafe op_lease_settles(page, 500_000_000) }

  /// How often the guard has found it run out, and killed what lived by it: other than before if
  /// it did so in between.
  var expiries: UInt64 { unsafe op_lease_expiries(page) }

  /// One tree more, or one fewer, lives by it.
  func count(_ change: Int32) { unsafe op_lease_count(page, change) }

  /// Nanoseconds of the clock by which it is measured, which goes on while the machine sleeps.
  public static var clock: Int64 { op_boot_time() }
}
