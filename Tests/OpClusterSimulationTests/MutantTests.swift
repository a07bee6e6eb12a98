// The simulator under test itself: every deliberate bug must be noticed. One that is not means
// that an invariant is missing (Simulation.md). Those in the brains need a build of their own:
// `deploy/mutants`.

import OpClusterSimulation
import Testing

@Suite struct Mutants {
  /// These show too seldom for so few seeds: `opsim mutants` looks for them in more.
  private static let rare: [Mutant] = [.guardAsleep, .unnoticedRestores]

  @Test(arguments: Mutant.allCases.filter { $0.isOfBodies && !rare.contains($0) })
  func isNoticed(mutant: Mutant) {
    let found = (0..<UInt64(500)).contains {
      Simulation.run(seed: $0, mutant: mutant).violation != nil
    }
    #expect(found, "\(mutant) survives 500 seeds")
  }

  // No product has a bug by intention.
  @Test func brainsAreWithoutThem() {
    if Mutant.hasBrainBugs { return }
    #expect(throws: MutantsMissing.self) { try Mutant.plant(.unfencedResults) }
  }
}
