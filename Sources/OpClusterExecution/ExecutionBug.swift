// Deliberate bugs by which the simulation shows that it would notice real ones (Simulation.md).
// They exist in a build with OPCLUSTER_MUTANTS=1 alone, which no product is made with:
// elsewhere `isPlanted` is false before the program begins.

#if MUTANTS
  import Synchronization
#endif

package enum ExecutionBug: Int, Sendable, CaseIterable {
  /// What a welcome says is another's now is kept (Simulation.md, hole 1).
  case staleKept
  /// What came once is taken in again, orders as well as attempts (Simulation.md, hole 2).
  case forgottenAttempts
  /// S147: something starts although the lease may have run out.
  case startsWithoutLease
}

#if MUTANTS
  extension ExecutionBug {
    private static let planted = Atomic<Int>(-1)

    /// For all worlds of this process; nil: none.
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
