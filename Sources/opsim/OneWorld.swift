// `opsim repeat`, `opsim shrink`, `opsim replay`: one world, from a seed or from a script. A seed
// means another world after any change of the simulation; a script does not. So a seed is for
// today, and a script goes into Tests/OpClusterSimulationTests/Regressions.

import ArgumentParser
import FoundationEssentials
import OpClusterSimulation

/// The same seed gives the same world to the last step, in any process.
struct RepeatSeed: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "repeat", abstract: "Runs one seed again.")
  @Argument(help: "The seed.") var seed: UInt64
  @Flag(help: "Print everything that happens.") var trace = false
  @Option(help: "Plant a deliberate bug.") var mutant: Mutant?

  func run() throws {
    let write: ((String) -> Void)? = trace ? { print($0) } : nil
    try Mutant.plant(mutant)
    let report = Simulation.run(seed: seed, mutant: mutant, trace: write)
    print(report.line)
    if report.violation != nil { throw ExitCode(1) }
  }
}

/// Records the seed as a script and leaves out what is not needed to break the same rule. Another
/// rule that breaks on the way does not count.
struct Shrink: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "shrink",
    abstract: "Makes a script of a failing seed, with as little going wrong as possible.")
  @Argument(help: "The seed.") var seed: UInt64
  @Option(name: .shortAndLong, help: "Where the script goes.") var output: String
  @Option(help: "Plant a deliberate bug.") var mutant: Mutant?
  // Each try is a whole world; the bound keeps a stubborn seed from running for hours.
  @Option(help: "How many worlds it may run.") var runs = 4_000

  func run() throws {
    try Mutant.plant(mutant)
    // A seed may fail by something that a script does not record, such as the order of a draw.
    guard
      var shrinking = Shrinking(
        seed: seed, mutant: mutant, bound: runs, tell: { print("  \($0)") })
    else {
      print("seed \(seed) breaks nothing that its recording would break as well")
      throw ExitCode(1)
    }
    shrinking.run()
    // Run once more for the words of the violation: those of the shrunk world, not of the seed.
    let report = Simulation.run(shrinking.script, mutant: mutant)
    var comments = [
      "breaks \(shrinking.rule): \(report.violation?.text.prefix(160) ?? "")",
      "found as seed \(seed); see it with: opsim replay --trace FILE",
    ]
    if let mutant { comments.append("with the mutant \(mutant.rawValue)") }
    let text = shrinking.script.text(comments: comments)
    // As a whole or not at all, so that an interrupted command leaves no half script.
    try text.write(toFile: output, atomically: true, encoding: .utf8)
    print("\(output): \(shrinking.script.itemCount) things, \(shrinking.runs) worlds were run")
  }
}

/// All scripts are run, also after one that breaks. A script that cannot be read ends the command.
struct Replay: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "replay", abstract: "Runs scripts; fails when one breaks anything.")
  @Argument(help: "Scripts.") var files: [String]
  @Flag(help: "Print everything that happens.") var trace = false
  @Option(help: "Plant a deliberate bug.") var mutant: Mutant?

  func run() throws {
    try Mutant.plant(mutant)
    let write: ((String) -> Void)? = trace ? { print($0) } : nil
    var failed = 0
    for file in files {
      let text = try String(contentsOfFile: file, encoding: .utf8)
      let report = Simulation.run(try WorldScript(text: text), mutant: mutant, trace: write)
      if let violation = report.violation {
        failed += 1
        print("\(file): \(violation.rule): \(violation.text)")
      } else {
        print("\(file): good, \(report.steps) steps")
      }
    }
    if failed > 0 { throw ExitCode(1) }
  }
}
