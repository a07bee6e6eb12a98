// The simulator under test itself: every deliberate bug must be noticed. One that is not means
// that an invariant is missing (Simulation.md). Those in the brains need a build of their own:
// `deploy/mutants`.

import OpClusterSimulation
import Testing

@Suite struct Mutants {
  /// These show too seldom for so few seeds: `opsim mutants` looks for them in more.
  private static let rare: [Mutant] = [.guardAsleep, .unnoticedRestores]

  /// Where each was noticed last; it is looked for there first. A change of the simulation gives
  /// seeds other meanings: then it is looked for from the start, which takes longer, and says so.
  static let seeds: [Mutant: UInt64] = [
    .earlyAnswers: 0, .earlyOrders: 0, .lyingDisk: 1, .rotIgnored: 3, .forgottenRecords: 0,
    .keyIgnored: 0, .noResend: 2, .repeatedStarts: 16, .retriedSync: 24, .falseRecalls: 3,
    .noAwaits: 8, .earlyEnds: 13,
  ]

  /// The seeds to look for it in, the likely one first.
  static func candidates(for mutant: Mutant, atMost count: UInt64) -> [UInt64] {
    (seeds[mutant].map { [$0] } ?? []) + Array(0..<count)
  }

  @Test(arguments: Mutant.allCases.filter { $0.isOfBodies && !rare.contains($0) })
  func isNoticed(mutant: Mutant) {
    let found = Self.candidates(for: mutant, atMost: 500).first {
      Simulation.run(seed: $0, mutant: mutant).violation != nil
    }
    if let found, found != Self.seeds[mutant] { print("\(mutant) is noticed by seed \(found)") }
    #expect(found != nil, "\(mutant) survives 500 seeds")
  }

  // The coordinator outlives a worker that forgets what it has reported.
  @Test func aForgetfulWorkerEndsNoCoordinator() {
    for seed in UInt64(190)..<200 { _ = Simulation.run(seed: seed, mutant: .noResend) }
  }

  // No product has a bug by intention.
  @Test func brainsAreWithoutThem() {
    if Mutant.hasBrainBugs { return }
    #expect(throws: MutantsMissing.self) { try Mutant.plant(.unfencedResults) }
  }
}
