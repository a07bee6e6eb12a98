// A short selection of FuzzWorld's cases for every test run; FuzzRunner runs millions.

import Citations
import FuzzWorld
import Testing

@Suite struct HostileTrafficTests {
  /// No message of any role, changed, repeated or made up, breaks an invariant.
  @Test(.checks("G33", "F49", "F52"), .timeLimit(.minutes(30)), arguments: 0..<5)
  func nothingBreaks(block: UInt64) {
    var total = FuzzReport()
    for seed in 0..<12 where total.problem == nil {
      total.add(FuzzCase.run(seed: block * 1_000 + UInt64(seed)))
    }
    #expect(total.problem == nil)
    #expect(total.launched > 0 && total.accepted > 0 && total.refused > 0)
    for hop in FuzzHop.allCases {
      #expect(total.rejected[hop.rawValue] > 0, "\(hop) was never tampered with")
      #expect(total.rejected[hop.rawValue] < total.delivered[hop.rawValue])
    }
  }
}
