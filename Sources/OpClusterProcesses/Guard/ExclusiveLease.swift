// The lease of exclusive operations (G16). The worker writes it whenever the coordinator is known
// to have heard of it. The guard reads it and kills the operations when it runs out, and each child
// reads it before it executes. Belongs to `ProcessHost`; loop thread.

import CProcess
import Glibc

/// A moment in memory that the worker shares with its guard. Made before the guard; lives as long
/// as the process.
@safe public final class ExclusiveLease {
  let page: OpaquePointer

  /// Makes an expired lease. Returns nil if no memory or descriptor is left.
  init?() {
    guard let page = unsafe op_lease_make() else { return nil }
    unsafe self.page = page
  }

  /// Extends the lease until this moment of ``clock``.
  public func set(until moment: Int64) { unsafe op_lease_set(page, moment) }

  /// Ends the lease now.
  public func end() { unsafe op_lease_set(page, 0) }

  /// Whether the lease holds now.
  public var holds: Bool { unsafe op_lease_holds(page) }

  /// Whether the lease holds, and no earlier killing round of the guard can hit a process that
  /// starts now. Waits for a round, which takes milliseconds. If the guard is stopped in the middle
  /// of a round, the result is false after half a second.
  func settles() -> Bool { unsafe op_lease_settles(page, 500_000_000) }

  /// How often the guard has found the lease expired and killed its operations. A change since an
  /// earlier look means a round in between.
  var expiries: UInt64 { unsafe op_lease_expiries(page) }

  /// Counts the trees under the lease up or down.
  func count(_ change: Int32) { unsafe op_lease_count(page, change) }

  /// The clock of the lease in nanoseconds; it continues while the machine sleeps.
  public static var clock: Int64 { op_boot_time() }
}
