// The protocol of a user's worker program: its operation types, and `@main`. Flags and exit codes
// are those of `opworker`, which is such a program without types of its own.

import ArgumentParser
@_exported public import Logging
import OpClusterAttempts
import OpClusterModel
@_exported public import OpClusterOperations
import OpClusterWorker

/// A worker as a program of its own:
///
///     @main struct ImageWorker: WorkerProgram {
///       static let types: [any RegisteredOperation.Type] = [TiltShift.self, Sharpen.self]
///     }
///
/// It takes the flags and variables of `opworker`, and runs types of isolation `.child` in child
/// processes that execute the same program.
public protocol WorkerProgram {
  /// In addition to the built-in ones; a later type replaces one with the same name and version.
  static var types: [any RegisteredOperation.Type] { get }
  /// The program's name in its help and its error messages. Default: the name of its file.
  static var name: String { get }
  /// One sentence for its help.
  static var abstract: String { get }
}

extension WorkerProgram {
  public static var name: String {
    let path = CommandLine.arguments.first ?? ""
    let name = path.split(separator: "/").last ?? ""
    return name.isEmpty ? "worker" : String(name)
  }

  public static var abstract: String { "Runs operations for a coordinator." }

  /// The output of `--version`; the number is OpCluster's, not that of a user's types.
  static var version: String {
    types.isEmpty ? "\(name) \(Build.version)" : "\(name) (\(Build.name))"
  }

  /// The types as a registry for the worker.
  static var registry: OperationRegistry {
    var registry = OperationRegistry()
    for type in types { registry.add(type) }
    return registry
  }

  /// The whole program. `@main` calls it; it returns only after printing help.
  public static func main() {
    ChildProgram.serveIfAsked { registry }
    RootCommand<Self>.main()
  }
}

/// `PROGRAM [serve | resources]`
struct RootCommand<Program: WorkerProgram>: ParsableCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: Program.name, abstract: Program.abstract, version: Program.version,
      subcommands: [Serve<Program>.self, ShowResources<Program>.self],
      defaultSubcommand: Serve<Program>.self)
  }
}
