// The simulator under test itself: every deliberate bug must be noticed. One that is not means
// that an invariant is missing (guarantees.md 4.4).

import OpClusterSimulation
import Testing

@Suite struct Mutants {
  @Test(arguments: Mutant.allCases)
  func isNoticed(mutant: Mutant) {
    let found = (0..<UInt64(200)).contains {
      Simulation.run(seed: $0, mutant: mutant).violation != nil
    }
    #expect(found, "\(mutant) survives 200 seeds")
  }
}
