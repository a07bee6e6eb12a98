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

  init() { ahead = Self.look() }

  /// Whether the machine has slept since the last look.
  mutating func hasSlept() -> Bool {
    let found = Self.look()
    let slept = found - ahead > Self.tolerance
    ahead = max(ahead, found)
    return slept
  }

  /// The sleepless clock first: whoever is stopped between the two takes the difference to be
  /// smaller than it is, and with it the lease to be shorter.
  private static func look() -> Int64 {
    let sleepless = ExclusiveLease.clock
    return sleepless - MonotonicClock.now()
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
    lease.set(until: (contact + core.fence).nanoseconds + sleepWatch.ahead)
  }

  /// Why an exclusive operation cannot be run here now; nil: it can.
  func objection(to template: PreparedTemplate) -> AttemptProblem? {
    guard template.announcement.isExclusive, guardian == nil else { return nil }
    return AttemptProblem(
      cause: .cannotStart,
      message: "this worker has no guard, without which it runs no exclusive operations; "
        + "see its log")
  }
}
