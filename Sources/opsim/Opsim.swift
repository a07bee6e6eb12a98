// The simulator's command: many seeds, one to be read, a failing one made small, scripts replayed.

public import ArgumentParser
import Glibc
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

/// Prints a line at once: long runs are followed, and what was said before an assertion ended the
/// process is not lost.
func say(_ line: String) {
  print(line)
  fflush(nil)
}
