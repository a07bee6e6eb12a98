// The simulator's command: runs many seeds, traces one, minimises a failing one, replays scripts.
// The worlds are OpClusterSimulation, and Simulation.md in OpCluster.docc says what is simulated
// and what must hold. Status 1 means that something broke, in all commands.

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
      LargeClusterModel.self,
    ],
    defaultSubcommand: RunSeeds.self)
}

/// By its raw value, the same word that a script's comment `# with the mutant X` has.
extension Mutant: ExpressibleByArgument {}

/// Prints a line and flushes it: long runs can be followed, and no line is lost when an assertion
/// ends the process.
func say(_ line: String) {
  print(line)
  fflush(nil)
}
