// `opsim mutants`: for every deliberate bug, the first seed that notices it, and how many do. A bug
// that survives says that an invariant is missing, not that the code is well. One bug is planted at
// a time, in the whole process, so that nothing here runs in parallel.

import ArgumentParser
import OpClusterSimulation

struct Mutants: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "mutants", abstract: "Looks whether every deliberate bug is noticed.",
    discussion: "Needs a build that has them: deploy/mutants makes one, and runs this.")
  @Option(help: "How many seeds a bug may survive.") var seeds: UInt64 = 20_000
  @Option(help: "The least number of seeds, for the share that notices it.")
  var sample: UInt64 = 300
  @Option(help: "Only this one.") var only: Mutant?
  @Flag(help: "Only the names of all, and where they are.") var list = false
  @Flag(help: "Name each seed before it is run: the last one is where the process ended.")
  var tellSeeds = false

  func run() throws {
    // Before the check for the build: the list is the same in each.
    if list { return Mutant.allCases.forEach { print($0.rawValue, $0.place) } }
    if !Mutant.hasBrainBugs { throw MutantsMissing() }
    if only == nil { print(row("mutant", "in", "first seed", "noticed by", "first rule")) }
    // All bugs are tried, also after one that survives.
    var surviving = 0
    for mutant in only.map({ [$0] }) ?? Mutant.allCases {
      if try !hunt(mutant) { surviving += 1 }
    }
    if surviving > 0 {
      print("\(surviving) survive \(seeds) seeds: an invariant is missing")
      throw ExitCode(1)
    }
  }

  /// Whether the bug was noticed. Seeds 0, 1, 2 … until the bug is noticed and at least `sample`
  /// have run. Costs all `seeds` for a bug that survives.
  private func hunt(_ mutant: Mutant) throws -> Bool {
    try Mutant.plant(mutant)
    // The next bug is looked for without this one.
    defer { try? Mutant.plant(nil) }
    var first: (seed: UInt64, rule: String)?
    var (seed, noticed) = (UInt64(0), 0)
    while seed < seeds, first == nil || seed < sample {
      // A planted bug may end the process by an assertion, which counts as noticed by whoever
      // started it.
      if tellSeeds { say("seed \(seed)") }
      if let violation = Simulation.run(seed: seed, mutant: mutant).violation {
        first = first ?? (seed, violation.rule)
        noticed += 1
      }
      seed += 1
    }
    let share = "\(noticed) of \(seed)"
    let firstSeed = first.map { "\($0.seed)" } ?? "none"
    say(row(mutant.rawValue, mutant.place, firstSeed, share, first?.rule ?? "SURVIVES"))
    return first != nil
  }

  /// Columns for the eye; `deploy/mutants` reads none of them.
  private func row(_ columns: String...) -> String {
    let widths = [20, 12, 12, 16, 10]
    return zip(columns, widths).map { text, width in
      text + String(repeating: " ", count: max(1, width - text.count))
    }.joined()
  }
}
