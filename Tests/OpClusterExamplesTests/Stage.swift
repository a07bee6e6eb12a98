// Where an example is tested: the three backends, a folder, what is built beside the tests. Any task.

import FoundationEssentials
import OpCluster
import OpClusterClient
import OpClusterModel
import Testing

/// The backends behind `OperationCluster`.
enum Backend: CaseIterable {
  case local
  /// Daemons of the object's own.
  case embedded
  /// Somebody's daemons, by their address.
  case cluster

  /// Runs the body on a fresh cluster with room for four operations, and with an empty folder.
  func run(_ body: (OperationCluster, String) async throws -> Void) async throws {
    let folder = "/tmp/opx-\(String(UInt32.random(in: 0 ... .max), radix: 36))"
    try FileManager.default.createDirectory(
      at: URL(filePath: folder), withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    switch self {
    case .local:
      try await Self.closing(.local(slots: 4)) { try await body($0, folder) }
    case .embedded:
      try await Self.closing(.embedded(Self.daemons())) { try await body($0, folder) }
    case .cluster:
      let daemons = try await EmbeddedCluster.start(Self.daemons())
      do {
        try await Self.closing(.connect(to: daemons.address)) { try await body($0, folder) }
        await daemons.end()
      } catch {
        await daemons.end()
        throw error
      }
    }
  }

  private static func closing(
    _ cluster: OperationCluster, _ body: (OperationCluster) async throws -> Void
  ) async throws {
    do {
      try await body(cluster)
      await cluster.close()
    } catch {
      await cluster.close()
      throw error
    }
  }

  /// An opcoord and two workers that have the examples' types.
  private static func daemons() throws -> EmbeddedCluster.Settings {
    EmbeddedCluster.Settings(
      workers: 2, cpusPerWorker: 2, deadline: .seconds(60),
      workerExecutable: try program("opexampleworker"))
  }
}

/// A program that is built beside the tests.
func program(_ name: String) throws -> String {
  let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
  for start in [own, CommandLine.arguments[0]] {
    var folder = start
    while let slash = folder.lastIndex(of: "/") {
      folder = String(folder[..<slash])
      let path = "\(folder)/\(name)"
      if FileManager.default.isExecutableFile(atPath: path) { return path }
    }
  }
  throw NotThere(name: name)
}

struct NotThere: Error {
  var name: String
}

/// A file or folder of this package.
func file(_ path: String) -> String {
  let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
  return root.joined(separator: "/") + "/" + path
}

func text(of path: String) -> String? {
  FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
}

/// Asks again and again until it holds; the deadline is for failures only.
func eventually(_ what: Comment, _ holds: () async throws -> Bool) async throws {
  let deadline = ContinuousClock.now + .seconds(60)
  while try await !holds() {
    guard ContinuousClock.now < deadline else {
      Issue.record("not within a minute: \(what)")
      return
    }
    try await Task.sleep(for: .milliseconds(5))
  }
}
