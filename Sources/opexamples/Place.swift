// The place where an example runs: a flag for each of the three backends.
// The examples do not know where they run: they get an `OperationCluster`, and nothing else
// differs.

import ArgumentParser
import ExampleMaterials
import OpCluster
import OpClusterClient

/// One of two flags, or an address; without any of them it is this process.
struct Place: ParsableArguments {
  /// Named as the flags that people write.
  enum Backend: String, EnumerableFlag {
    case local, embedded
    static func help(for value: Backend) -> ArgumentHelp? {
      switch value {
      case .local: "In this process (default)."
      case .embedded: "On a coordinator and two workers of its own."
      }
    }
  }

  @Flag(exclusivity: .exclusive) var backend: Backend?
  @Option(help: "On the cluster with this address; all its workers share this machine's folders.")
  var coordinator: String?

  /// A flag and an address contradict each other.
  func validate() throws {
    if backend != nil, coordinator != nil {
      throw ValidationError("--coordinator says where; leave out --\(backend?.rawValue ?? "")")
    }
  }

  /// Runs an example there, and closes the cluster in any case.
  /// Closing waits for what a cluster of its own needs to stop, so that no process stays behind.
  func run<Result>(_ example: (OperationCluster) async throws -> Result) async throws -> Result {
    let cluster = try await cluster()
    do {
      let result = try await example(cluster)
      await cluster.close()
      return result
    } catch {
      await cluster.close()
      throw error
    }
  }

  private func cluster() async throws -> OperationCluster {
    if let coordinator { return try await .connect(to: coordinator) }
    // Four at once, as the two workers of the embedded cluster have together.
    guard backend == .embedded else { return .local(slots: 4) }
    var settings = EmbeddedCluster.Settings(workers: 2, cpusPerWorker: 2)
    settings.workerExecutable = try Place.beside("opexampleworker")
    return try await .embedded(settings)
  }

  /// The path of a program in the folder of this one.
  /// The build puts both programs into one folder. A program that was found by `PATH` has no folder
  /// in its name, and looks into the current one.
  private static func beside(_ name: String) throws -> String {
    var own = CommandLine.arguments.first ?? ""
    if !own.contains("/") { own = "./\(own)" }
    let path = own.split(separator: "/", omittingEmptySubsequences: false).dropLast() + [name[...]]
    let joined = path.joined(separator: "/")
    guard LocalFile.isExecutable(joined) else {
      throw ValidationError("\(name) is not beside this program")
    }
    return joined
  }
}
