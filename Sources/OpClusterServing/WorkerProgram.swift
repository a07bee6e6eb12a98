// What a user's worker program is made of: its operation types, and `@main`. Everything else, flags
// and exit codes, is that of `opworker`, which is such a program without types of its own.

import ArgumentParser
@_exported public import Logging
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
/// processes, which are the same program once more.
public protocol WorkerProgram {
  /// Beside the built-in ones; of two with the same name and version the later one counts.
  static var types: [any RegisteredOperation.Type] { get }
  /// What the program calls itself in its help and its complaints. Default: the name of its file.
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

  /// What `--version` prints; the number is ours, and not that of a user's types.
  static var version: String {
    types.isEmpty ? "\(name) \(Build.version)" : "\(name) (\(Build.name))"
  }

  /// The types as the worker takes them.
  static var registry: OperationRegistry {
    var registry = OperationRegistry()
    for type in types { registry.add(type) }
    return registry
  }

  /// The whole program. `@main` calls it; it returns for help only.
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
