// Where a case runs: operations in this process, a real cluster that all cases share, or daemons
// that the library starts. Three workers with two slots each, started once for the whole test
// process.

import RealCluster
import Testing

/// Where the operations of a case are.
enum Setting: String, CaseIterable, CustomStringConvertible, Sendable {
  /// In this process: cases marked [LK] run here too.
  case local
  /// opcoord and worker processes.
  case cluster
  /// The same, started by the library itself for this case alone: for a handful of cases.
  case embedded
  /// What a case marked [LK] runs in.
  static let all = [Setting.local, .cluster]
  /// All three, for what the library itself does.
  static let everywhere = Setting.allCases
  var description: String { rawValue }
}

/// All cases, one after the other on one cluster: each may want every slot.
///
/// A file adds its own: `extension Conformance { @Suite struct Barriers { … } }`.
@Suite(.serialized, .conformanceCluster) enum Conformance {}

/// Starts the cluster around the cases.
struct ConformanceCluster: SuiteTrait, TestScoping {
  @TaskLocal static var current: Cluster?
  /// What the list says: three workers, two slots each, a lease of 2 s.
  static let shape = Cluster.Shape(program: "ConformanceWorker")

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await Cluster.with(Self.shape) { cluster in
      try await Self.$current.withValue(cluster) { try await function() }
    }
  }
}

extension Trait where Self == ConformanceCluster {
  static var conformanceCluster: Self { ConformanceCluster() }
}
