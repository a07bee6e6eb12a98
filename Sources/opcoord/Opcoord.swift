// The command `opcoord`: flags, environment and configuration files in, exit code out. The
// coordinator itself is OpClusterCoordinator; `Serve` starts it. Without a subcommand it serves, as
// units and containers expect.

import ArgumentParser
import OpClusterCoordinator
import OpClusterDaemon
import OpClusterModel
import OpClusterSystem

@main
struct Opcoord: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "opcoord",
    abstract: "Coordinates a cluster: takes graphs from clients, hands operations to workers.",
    version: "opcoord \(Build.version)",
    subcommands: [
      Serve.self, KeyGeneration.self, KeyCommand.self, JournalCommand.self, ConfigCommand.self,
    ],
    defaultSubcommand: Serve.self)
}

/// Writes the message to standard error and ends the process. The statuses are those of sysexits.h,
/// which `opbatch` uses as well. Never returns, so that no caller goes on half prepared.
func fail(_ message: String, status: Int32) -> Never {
  StandardStream.error.write("opcoord: \(message)")
  OwnProcess.end(status)
}
