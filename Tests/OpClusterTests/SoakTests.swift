// Longer runs of the same: recorded runs of five systems, and one of them again and again while
// daemons are killed. Only where `deploy/soak` says so: it names a folder with traces.

import FoundationEssentials
import OpClusterModel
import RealCluster
import Testing

@Suite(.enabled(if: Soak.folder != nil), .serialized) struct SoakTests {
  /// Every trace of the folder keeps its order, and each operation runs once.
  @Test(arguments: Soak.traces) func theTraceKeepsItsOrder(_ name: String) async throws {
    try await Cluster.with { cluster in
      let scene = try await Scene("soak", on: cluster)
      let replay = try await Replay(
        trace: try Soak.bytes(of: name), timeScale: Soak.timeScale, in: scene)
      try await replay.check()
    }
  }

  /// A trace while one worker and then the coordinator is killed, each time somewhere else.
  @Test(arguments: Soak.killRuns) func theTraceSurvivesItsDaemons(_ run: Soak.KillRun) async throws
  {
    try await Cluster.with(Cluster.Shape().losingSoon) { cluster in
      let scene = try await Scene("soak", on: cluster)
      var replay = try await Replay(
        trace: try Soak.bytes(of: run.trace), timeScale: Soak.timeScale, in: scene)
      let count = replay.submission.operationCount
      try await replay.ended(count * run.part / 10)
      try await replay.kill("w\(run.part % 3 + 1)")
      try await replay.ended(count * (run.part + 1) / 10)
      try await replay.killCoordinator()
      try await replay.ended(count * (run.part + 2) / 10)
      try await replay.killCoordinator()
      try await replay.check()
    }
  }
}

/// What the environment asks for.
enum Soak {
  struct KillRun: Sendable, CustomStringConvertible {
    var trace: String
    var round: Int
    /// Tenths of the graph after which the first daemon dies, 1…7.
    var part: Int
    var description: String { "\(trace), round \(round)" }
  }

  private static func variable(_ name: String) -> String? {
    ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
  }

  static var folder: String? { variable("OPCLUSTER_SOAK_TRACES") }
  private static var rounds: Int { variable("OPCLUSTER_SOAK_ROUNDS").flatMap(Int.init) ?? 7 }
  /// What a second of a record takes, in seconds.
  static var timeScale: Double {
    variable("OPCLUSTER_SOAK_SCALE").flatMap(Double.init) ?? 0.002
  }

  static var traces: [String] {
    guard let folder else { return [] }
    let names = try? FileManager.default.contentsOfDirectory(atPath: folder)
    return (names ?? []).filter { $0.hasSuffix(".json") }.sorted()
  }

  /// The mosaics, or what there is.
  static var killRuns: [KillRun] {
    let mosaics = traces.filter { $0.hasPrefix("montage") }
    return (mosaics.isEmpty ? Array(traces.prefix(1)) : mosaics).flatMap { trace in
      (0..<rounds).map { KillRun(trace: trace, round: $0 + 1, part: $0 % 7 + 1) }
    }
  }

  static func bytes(of name: String) throws -> [UInt8] {
    guard let folder, let data = FileManager.default.contents(atPath: "\(folder)/\(name)") else {
      throw Trouble("cannot read the trace \(name)")
    }
    return [UInt8](data)
  }
}
