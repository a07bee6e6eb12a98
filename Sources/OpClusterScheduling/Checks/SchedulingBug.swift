// Deliberate bugs by which the simulation shows that it would notice real ones (Simulation.md).
// They exist in a build with OPCLUSTER_MUTANTS=1 alone, which no product is made with:
// elsewhere `isPlanted` is false before the program begins.

#if MUTANTS
  import Synchronization
#endif

package enum SchedulingBug: Int, Sendable, CaseIterable {
  /// G13: the end of an attempt counts whoever says it.
  case unfencedResults
  /// A new life of the coordinator does not count as one.
  case sameEpoch
  /// S77: a barrier opens when one operation is left before it.
  case earlyBarrier
  /// S63: one more than the limit of a queue.
  case miscountedLimit
  /// S91: a cancellation takes effect and is not written.
  case unwrittenCancel
  /// S37: what the removed dependency held back stays where it is.
  case staleReadiness
  /// G19: the same key is the same graph, whatever it says.
  case unreadContent
  /// G17: losses are not counted.
  case uncountedLosses
  /// S47: all priorities are one.
  case levelledPriorities
  /// G10: a failure policy does not wait for what a worker may have unblocked by itself.
  case hastyPolicies
  /// F51: orders that wait for the disk count as spoken.
  case unspokenOrders
  /// F51: who waits for its welcome counts as silent.
  case blamedWelcomes
  /// G13: whoever comes with a place in the log is believed to be of this history.
  case believedMarks
  /// S146: whoever has room is given an operation, whatever its queue's pool is.
  case forgottenPools
  /// S12: what its worker stopped is run again, though it must not run twice.
  case repeatedStops
}

#if MUTANTS
  extension SchedulingBug {
    private static let planted = Atomic<Int>(-1)

    /// For all worlds of this process; nil: none.
    package static func plant(_ bug: SchedulingBug?) {
      planted.store(bug?.rawValue ?? -1, ordering: .relaxed)
    }
    var isPlanted: Bool { SchedulingBug.planted.load(ordering: .relaxed) == rawValue }
  }
#else
  extension SchedulingBug {
    @inline(__always) var isPlanted: Bool { false }
  }
#endif
