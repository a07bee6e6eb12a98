// The simulator's command: many seeds, one to be read, a failing one made small, scripts replayed.

public import ArgumentParser
public import OpClusterSimulation

@main
struct Opsim: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "opsim",
    abstract: "Runs simulated clusters: a virtual clock, a bad network, a bad disk.",
    subcommands: [
      RunSeeds.self, RepeatSeed.self, Shrink.self, Replay.self, Mutants.self, Coverage.self,
    ],
    defaultSubcommand: RunSeeds.self)
}

extension Mutant: ExpressibleByArgument {}
