// Worlds from seeds: whatever happens, the promises hold and everything ends.

import OpClusterSimulation
import Testing

@Suite struct Seeds {
  // I1…I19, G1…G4, G10…G14, S63, S72, S91, S96
  @Test(arguments: 0..<10)
  func promisesHold(block: UInt64) {
    for seed in (block * 30)..<(block * 30 + 30) {
      let report = Simulation.run(seed: seed)
      #expect(report.violation == nil, "\(report.command)")
    }
  }
}
