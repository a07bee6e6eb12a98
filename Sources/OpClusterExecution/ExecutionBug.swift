// Deliberate bugs that show that the simulation would notice real ones (Simulation.md). They exist
// only in a build with OPCLUSTER_MUTANTS=1, which no product uses; elsewhere `isPlanted` is always
// false.

#if MUTANTS
  import Synchronization
#endif

package enum ExecutionBug: Int, Sendable, CaseIterable {
  /// The worker keeps attempts that a welcome gives to another worker (Simulation.md, hole 1).
  case staleKept
  /// The worker accepts repeated orders and attempts again (Simulation.md, hole 2).
  case forgottenAttempts
  /// S147: an attempt starts although the lease may have run out.
  case startsWithoutLease
}

#if MUTANTS
  extension ExecutionBug {
    private static let planted = Atomic<Int>(-1)

    /// Plants a bug for all worlds of this process; nil: none.
    package static func plant(_ bug: ExecutionBug?) {
      planted.store(bug?.rawValue ?? -1, ordering: .relaxed)
    }
    var isPlanted: Bool { ExecutionBug.planted.load(ordering: .relaxed) == rawValue }
  }
#else
  extension ExecutionBug {
    @inline(__always) var isPlanted: Bool { false }
  }
#endif
