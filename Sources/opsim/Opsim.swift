// The simulator's command: many seeds, or one to be read.

public import ArgumentParser
public import OpClusterSimulation

@main
struct Opsim: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "opsim",
    abstract: "Runs simulated clusters: a virtual clock, a bad network, a bad disk.",
    subcommands: [RunSeeds.self, OneSeed.self], defaultSubcommand: RunSeeds.self)
}

/// `opsim seed S`
struct OneSeed: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "seed", abstract: "Runs one seed.")
  @Argument(help: "The seed.") var seed: UInt64
  @Flag(help: "Print everything that happens.") var trace = false
  @Option(help: "Plant a deliberate bug.") var mutant: Mutant?

  func run() throws {
    let write: ((String) -> Void)? = trace ? { print($0) } : nil
    let report = Simulation.run(seed: seed, mutant: mutant, trace: write)
    print(report.line)
    if report.violation != nil { throw ExitCode(1) }
  }
}

extension Mutant: ExpressibleByArgument {}
