// The capacity that a worker has left, from its record and its conversation together.

import OpClusterModel

extension Scheduler {
  /// Whether it may be given new work: it is connected, heard, and stays.
  func takesWork(_ worker: UInt32) -> Bool {
    takesContents(worker) && !conversations[worker].isResting
  }

  /// Whether its store may be given contents: it is connected, heard, and stays. That its
  /// operations fail says nothing of its store.
  func takesContents(_ worker: UInt32) -> Bool {
    let isReachable = conversations[worker].peer != nil && !conversations[worker].isSuspect
    return isReachable && !workers[worker].isDraining
  }

  /// The capacity that it has left.
  @inline(__always)
  func free(_ worker: UInt32) -> Resources {
    // A method of the conversation would copy it.
    var free = conversations[worker].capacity
    free.take(workers[worker].taken)
    return free
  }

  /// The number of further operations of a rank that it may be assigned.
  func room(at worker: UInt32, for rank: Rank, at now: Instant) -> UInt32 {
    let window = conversations[worker].prefetch(at: now)
    return workers[worker].room(for: rank, within: window)
  }
}

extension Resources {
  /// How many times `demand` fits; at most 65,536, and 0 if any amount is overdrawn.
  func count(fitting demand: Resources) -> UInt32 {
    var count: Int64 = 65_536
    func bound(_ free: Int64, _ wanted: Int64) {
      if wanted > 0 { count = min(count, max(free, 0) / wanted) }
    }
    bound(cpus.tenThousandths, demand.cpus.tenThousandths)
    bound(memoryBytes, demand.memoryBytes)
    bound(gpus.tenThousandths, demand.gpus.tenThousandths)
    for wanted in demand.custom {
      bound(amount(named: wanted.name).tenThousandths, wanted.amount.tenThousandths)
    }
    return UInt32(count)
  }
}
