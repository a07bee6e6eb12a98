// One cluster for all tests of a suite, which then run one after the other: a start costs more
// than most cases.

import RealCluster
import Testing

/// Starts a cluster around a suite; its tests find it in `SharedCluster.current`.
struct SharedCluster: SuiteTrait, TestScoping {
  @TaskLocal static var current: Cluster?
  var shape = Cluster.Shape()

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await Cluster.with(shape) { cluster in
      try await Self.$current.withValue(cluster) { try await function() }
    }
  }

  /// A scene of its own for one case.
  static func scene(_ name: String) async throws -> Scene {
    try await Scene(name, on: try #require(current, "the suite has no cluster"))
  }
}

extension Trait where Self == SharedCluster {
  /// Three workers with two slots each; the first also has one `solo`, the second one `other`.
  static var sharedCluster: Self {
    let flags = [["--resource", "solo=1"], ["--resource", "other=1"]]
    return SharedCluster(shape: Cluster.Shape(workerFlags: flags))
  }

  /// One worker with one slot.
  static var tinyCluster: Self { SharedCluster(shape: Cluster.Shape(workers: 1, slots: 1)) }
}
