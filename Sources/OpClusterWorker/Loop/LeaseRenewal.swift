// Keeps the lease of exclusive operations (G16): tells the guard until when the coordinator
// certainly heard of this worker, and detects that the machine has slept. Loop thread.

import Logging
import OpClusterAttempts
import OpClusterExecution
import OpClusterModel
import OpClusterProcesses
import OpClusterSystem

/// The difference between the loop's clock and a clock that continues while the machine sleeps.
package struct SleepWatch {
  /// The lead of the sleepless clock in nanoseconds.
  private(set) var ahead: Int64
  /// A smaller difference is the time between the two reads.
  private static let tolerance: Int64 = 500_000_000

  /// Reads both clocks: the one that continues during sleep, and the loop's.
  package typealias Clocks = @Sendable () -> (sleepless: Int64, own: Int64)
  private let clocks: Clocks

  /// - Parameter clocks: Replaces the machine's clocks. It must read the sleepless clock first: a
  ///   pause between the two reads then makes the difference, and with it the lease, shorter.
  package init(
    clocks: @escaping Clocks = {
      let sleepless = ExclusiveLease.clock
      return (sleepless, MonotonicClock.now())
    }
  ) {
    self.clocks = clocks
    let first = clocks()
    ahead = first.sleepless - first.own
  }

  /// Reads the clocks; returns whether the machine has slept since the last call.
  package mutating func noticeSleep() -> Bool {
    let now = clocks()
    let found = now.sleepless - now.own
    let slept = found - ahead > Self.tolerance
    ahead = max(ahead, found)
    return slept
  }
}

extension WorkerLoop {
  /// Runs at the beginning of each turn.
  func watchSleep() {
    guard lease.sleepWatch.noticeSleep() else { return }
    logger.warning("this machine has slept; the coordinator may have given up this worker")
    apply(.slept)
  }

  /// Renews the lease after the coordinator's messages were processed. Moments are absolute: a
  /// delay of this thread makes no lease longer.
  func renewLease() {
    guard core.contact != lease.contact, let shared = attempts.host.lease else { return }
    lease.contact = core.contact
    guard let contact = core.contact else { return shared.end() }
    shared.set(
      until: (contact + core.fence + Span(nanoseconds: lease.sleepWatch.ahead)).nanoseconds)
  }

  /// Returns why an exclusive operation cannot run here now; nil if it can.
  func objection(to template: PreparedTemplate) -> AttemptProblem? {
    guard template.announcement.isExclusive else { return nil }
    if !attempts.host.endsTrees {
      return AttemptProblem(
        cause: .cannotStart,
        message: "this worker runs no exclusive operations, since it could not surely end one: it "
          + "has no cgroup, and /proc does not show its own processes; mount /proc for it")
    }
    guard guardian == nil else { return nil }
    return AttemptProblem(
      cause: .cannotStart,
      message: "this worker has no guard, without which it runs no exclusive operations; "
        + "see its log")
  }
}
