// `opsim coverage`: counts the pairs of states and events, and the effects. A pair without a count
// is not tested by any seed. The counters are in the brains and only in the build with deliberate
// bugs, so that they cost nothing elsewhere (`StepCount` in OpClusterScheduling).

import ArgumentParser
import OpClusterSimulation

struct Coverage: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "coverage", abstract: "Counts what happens in both brains.",
    discussion: "Needs a build that counts: the one that deploy/mutants makes.")
  @Option(help: "How many seeds.") var seeds: UInt64 = 2_000
  @Option(help: "The first.") var from: UInt64 = 0

  /// On one thread: the counters are of the process. Pairs that no seed reaches are listed and are
  /// no failure, since some are only defensive.
  func run() throws {
    if !Mutant.hasBrainBugs { throw MutantsMissing() }
    var effects: [String: Int] = [:]
    for seed in from..<(from + seeds) {
      // Effects are counted by what leaves the brains, for which no build is needed.
      for (effect, count) in Simulation.effects(seed: seed) { effects[effect, default: 0] += count }
    }
    let tables = [
      ("phase × step, coordinator", SimulationCoverage.scheduling),
      ("state × event, worker", SimulationCoverage.execution),
      ("effects", SimulationCoverage.effects(effects)),
    ]
    var missing: [String] = []
    for (name, rows) in tables {
      print("\n\(name)")
      for row in rows {
        print("  \(row.state) \(row.event) \(row.count)")
        if row.count == 0 { missing.append("\(name): \(row.state) \(row.event)") }
      }
    }
    print("\nnever seen in \(seeds) seeds: \(missing.isEmpty ? "nothing" : "")")
    for line in missing { print("  \(line)") }
  }
}
