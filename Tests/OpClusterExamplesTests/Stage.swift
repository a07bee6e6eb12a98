// Where an example is tested: the three backends, a folder, the programs of the build. Any task.

import FoundationEssentials
import OpCluster
import OpClusterClient
import RealCluster

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
      let settings = EmbeddedCluster.Settings(
        workers: 2, cpusPerWorker: 2, deadline: .seconds(60),
        workerExecutable: try Cluster.executable("opexampleworker"))
      try await Self.closing(.embedded(settings)) { try await body($0, folder) }
    case .cluster:
      let shape = Cluster.Shape(workers: 2, slots: 2, program: "opexampleworker")
      try await Cluster.with(shape) { daemons in
        try await Self.closing(.connect(to: daemons.address)) { try await body($0, folder) }
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
}

/// A file or folder of this package.
func file(_ path: String) -> String {
  let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
  return root.joined(separator: "/") + "/" + path
}
