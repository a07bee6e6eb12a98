// Keeps the lease of exclusive operations (G16): tells the guard until when the coordinator surely
// heard of this worker, and notices that the machine has slept. Loop thread.

import Logging
import OpClusterExecution
import OpClusterModel
import OpClusterProcesses
import OpClusterZeroMQ

/// How the loop's clock stands to the one that goes on while the machine sleeps.
struct SleepWatch {
  /// Nanoseconds that the sleepless clock is ahead.
  private(set) var ahead: Int64
  /// Below this it is the time between two looks.
  private static let tolerance: Int64 = 500_000_000

  /// Both clocks: the one that goes on while the machine sleeps, and the loop's.
  typealias Clocks = @Sendable () -> (sleepless: Int64, own: Int64)
  private let clocks: Clocks

  /// - Parameter clocks: another machine's; the sleepless one is to be read first: whoever is
  ///   stopped between the two takes the difference to be smaller than it is, and with it the lease
  ///   to be shorter.
  init(
    clocks: @escaping Clocks = {
      let sleepless = ExclusiveLease.clock
      return (sleepless, MonotonicClock.now())
    }
  ) {
    self.clocks = clocks
    let first = clocks()
    ahead = first.sleepless - first.own
  }

  /// Whether the machine has slept since the last look.
  mutating func hasSlept() -> Bool {
    let now = clocks()
    let found = now.sleepless - now.own
    let slept = found - ahead > Self.tolerance
    ahead = max(ahead, found)
    return slept
  }
}

extension WorkerLoop {
  /// At the beginning of each turn.
  func watchSleep() {
    guard sleepWatch.hasSlept() else { return }
    logger.warning("this machine has slept; the coordinator may have given up this worker")
    apply(.slept)
  }

  /// Once what the coordinator says has been taken in. Moments are absolute: whatever holds this
  /// thread up makes no lease longer.
  func renewLease() {
    guard core.contact != leasedContact, let lease = attempts.host.lease else { return }
    leasedContact = core.contact
    guard let contact = core.contact else { return lease.end() }
    lease.set(until: (contact + core.fence + Span(nanoseconds: sleepWatch.ahead)).nanoseconds)
  }

  /// Why an exclusive operation cannot be run here now; nil: it can.
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
