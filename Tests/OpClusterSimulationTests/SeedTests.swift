// Worlds from seeds: whatever happens, the promises hold and everything ends; and the same seed is
// the same world.

import Citations
import OpClusterSimulation
import Testing

@Suite struct Seeds {
  /// The first worlds, which more than one test looks at.
  static let first = (0..<UInt64(20)).map { Simulation.run(seed: $0) }

  // `Invariant.all` says where each is looked at.
  @Test(
    .checks(
      "S63", "S72", "S77", "S91", "S96", "G1", "G2", "G3", "G4", "G10", "G11", "G12", "G13", "G14",
      "G16", "G17", "G18", "G19", "G20", "G22", "G27", "G30", "G32", "G34"), arguments: 0..<6)
  func promisesHold(block: UInt64) {
    for seed in (block * 20)..<(block * 20 + 20) {
      let report = block == 0 ? Self.first[Int(seed)] : Simulation.run(seed: seed)
      let story = report.violation.map { "\($0.rule): \($0.text)" } ?? ""
      #expect(report.violation == nil, "\(story), see it with: \(report.command)")
    }
  }

  // House rule 7: nothing in a world comes from hashing, addresses or the clock on the wall. The
  // seeds between these are run again by `aRecordingIsTheSameWorld`.
  @Test(arguments: [UInt64(0), 1, 4, 6, 7, 9, 10, 11]) func theSameSeedIsTheSameWorld(seed: UInt64)
  {
    let (first, second) = (Self.first[Int(seed)], Simulation.run(seed: seed))
    #expect(first.hash == second.hash)
    #expect(first.steps == second.steps)
  }

  @Test func seedsDiffer() {
    let hashes = Self.first.map(\.hash)
    #expect(Set(hashes).count == hashes.count)
  }

  // A world in which nothing happens would keep every promise.
  @Test func seedsAreWorthRunning() {
    var (launches, faults, refusals, answers) = (0, 0, 0, 0)
    for report in Self.first.prefix(15) {
      launches += report.launches
      faults += report.faults
      answers += report.answers
      refusals += report.refusals.values.reduce(0, +)
    }
    #expect(launches > 150 && faults > 30 && answers > 150 && refusals > 5)
  }
}
