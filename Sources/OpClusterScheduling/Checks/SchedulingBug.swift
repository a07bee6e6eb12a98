// Deliberate bugs: the simulation proves with them that it would notice real ones (Simulation.md).
// They exist only in a build with OPCLUSTER_MUTANTS=1, which is never a product; in other builds
// `isPlanted` is false at compile time.

#if MUTANTS
  import Synchronization
#endif

package enum SchedulingBug: Int, Sendable, CaseIterable {
  /// The end of an attempt counts even from a worker that does not hold it (G13).
  case unfencedResults
  /// A new life of the coordinator keeps the epoch of the previous one.
  case sameEpoch
  /// A barrier opens while one operation is still left before it (S77).
  case earlyBarrier
  /// A queue runs one operation more than its limit (S63).
  case miscountedLimit
  /// A cancellation takes effect without being journaled (S91).
  case unwrittenCancel
  /// An operation stays blocked after its dependency was removed (S37).
  case staleReadiness
  /// A submission with a known key is taken for the known graph, even with different content (G19).
  case unreadContent
  /// Losses are not counted (G17).
  case uncountedLosses
  /// All priorities count as equal (S47).
  case levelledPriorities
  /// A failure policy does not wait for dependents that a worker may have unblocked itself (G10).
  case hastyPolicies
  /// Orders that wait for the disk count as sent (F51).
  case unspokenOrders
  /// A worker that waits for its welcome counts as silent (F51).
  case blamedWelcomes
  /// Every history mark of a peer is accepted as known (G13).
  case believedMarks
  /// A worker with room is given an operation even outside its queue's pool (S146).
  case forgottenPools
  /// An attempt that its worker stopped is repeated, though it must not run twice (S12).
  case repeatedStops
}

#if MUTANTS
  extension SchedulingBug {
    private static let planted = Atomic<Int>(-1)

    /// Plants a bug for all worlds of this process; nil: none.
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
