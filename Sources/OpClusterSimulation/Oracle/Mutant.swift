// Deliberate bugs: a permanent test that the checks of the simulated world would notice real ones.
// A surviving bug shows a missing invariant (Simulation.md). Some are planted in the bodies of the
// simulated world, in any build; the others in the tested code itself, by a patch (deploy/mutants).

import OpClusterExecution
import OpClusterModel
import OpClusterScheduling

/// A deliberate bug.
public enum Mutant: String, Sendable, CaseIterable {
  // In the bodies:
  /// Clients are answered before the turn is durable.
  case earlyAnswers
  /// Workers get orders before the turn is durable.
  case earlyOrders
  /// The disk reports a sync that did not happen.
  case lyingDisk
  /// A failed sync is repeated, and believed.
  case retriedSync
  /// Checksums of the journal are ignored.
  case rotIgnored
  /// One kind of fact is not written.
  case forgottenRecords
  /// Submission keys are ignored.
  case keyIgnored
  /// A worker does not repeat reports after a reconnect.
  case noResend
  /// A worker starts attempts of repeated orders again.
  case repeatedStarts
  /// A worker starts all held operations without waiting for their dependencies.
  case noAwaits
  /// A worker ignores cancellations and recalls, but reports that it obeyed.
  case falseRecalls
  /// A worker reports the end of a cancelled operation while its process still runs.
  case earlyEnds
  /// The lease guard does not kill, while the worker may be paused (G16).
  case guardAsleep
  /// A restored journal is taken for the latest one (G16).
  case unnoticedRestores

  // In the scheduler, see `SchedulingBug` in Tests/Mutants/brains.patch
  case unfencedResults, sameEpoch, earlyBarrier, miscountedLimit, unwrittenCancel, staleReadiness
  case unreadContent, uncountedLosses, levelledPriorities
  case hastyPolicies, unspokenOrders, blamedWelcomes, believedMarks, forgottenPools,
    repeatedStops, deafSleepers, releasedWhileNeeded, endlessPatience, notRetained,
    recklessLineage, desertedLineage, forsakenDeliveries, impossibleStarts, hurriedReports,
    unhaltedPolicies, hastyDrains

  // In the execution core, see `ExecutionBug` there
  case staleKept, forgottenAttempts, startsWithoutLease, startsUnanswered, unmetInputs, lateReleases

  /// The place where it is planted.
  public var place: String {
    switch self {
    case .earlyAnswers, .earlyOrders, .lyingDisk, .retriedSync, .rotIgnored, .forgottenRecords,
      .keyIgnored, .noResend, .repeatedStarts, .noAwaits, .falseRecalls, .earlyEnds, .guardAsleep,
      .unnoticedRestores:
      "body"
    case .unfencedResults, .sameEpoch, .earlyBarrier, .miscountedLimit, .unwrittenCancel,
      .staleReadiness, .unreadContent, .uncountedLosses, .levelledPriorities, .hastyPolicies,
      .unspokenOrders, .blamedWelcomes, .believedMarks, .forgottenPools, .repeatedStops,
      .deafSleepers, .releasedWhileNeeded, .endlessPatience, .notRetained,
      .recklessLineage, .desertedLineage, .forsakenDeliveries, .impossibleStarts,
      .hurriedReports, .unhaltedPolicies, .hastyDrains:
      "scheduling"
    case .staleKept, .forgottenAttempts, .startsWithoutLease, .startsUnanswered, .unmetInputs,
      .lateReleases:
      "execution"
    }
  }
  /// Whether a build without deliberate bugs in the tested code can show it.
  public var isOfBodies: Bool { place == "body" }

  /// Whether this build has deliberate bugs in the tested code.
  public static var hasBrainBugs: Bool {
    #if MUTANTS
      true
    #else
      false
    #endif
  }

  /// Plants the bug in the tested code of every world of this process, if it belongs there; `nil`
  /// removes a planted bug.
  ///
  /// - Throws: `MutantsMissing` if this build has none.
  public static func plant(_ mutant: Mutant?) throws(MutantsMissing) {
    #if MUTANTS
      SchedulingBug.plant(named: mutant?.rawValue)
      ExecutionBug.plant(named: mutant?.rawValue)
    #else
      if let mutant, !mutant.isOfBodies { throw MutantsMissing() }
    #endif
  }

  /// The effects that leave too early.
  var saidTooEarly: ((Effect) -> Bool)? {
    switch self {
    case .earlyAnswers: { if case .toClient = $0 { true } else { false } }
    case .earlyOrders: { if case .toWorker = $0 { true } else { false } }
    default: nil
    }
  }
}

/// This build has no deliberate bugs in the tested code.
public struct MutantsMissing: Error, CustomStringConvertible {
  public init() {}
  public var description: String {
    "this build has no deliberate bugs in its brains; build one with: deploy/mutants"
  }
}
