// The simulator's command: runs many seeds, traces one, minimises a failing one, replays scripts.

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

/// Prints a line and flushes it: long runs can be followed, and no line is lost when an assertion
/// ends the process.
func say(_ line: String) {
  print(line)
  fflush(nil)
}
