// Real graphs over real daemons: a recorded run of another system, and one of the shape of an
// astronomer's mosaic while a worker and the coordinator are killed.

import Citations
import FoundationEssentials
import OpClusterModel
import RealCluster
import Testing

@Suite struct ReplayTests {
  /// A recorded run of 1000genome, at a small scale of time, over three workers.
  @Test func aRecordedRunKeepsItsOrder() async throws {
    let path = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(2)
      .joined(separator: "/")
    let fixture = "\(path)/OpClusterManifestTests/Fixtures/1000genome-chameleon-2ch-100k-001.json"
    let bytes = try #require(FileManager.default.contents(atPath: fixture))
    try await Cluster.with { cluster in
      let scene = try await Scene("genome", on: cluster)
      let replay = try await Replay(trace: [UInt8](bytes), timeScale: 0.0005, in: scene)
      try await replay.check()
    }
  }

  /// F1, F7 in the middle of a graph: nothing is lost, and nothing is repeated but what ran on the
  /// worker that was killed.
  @Test(.checks("G11", "F1")) func aMosaicSurvivesItsDaemons() async throws {
    try await Cluster.with(Cluster.Shape().losingSoon) { cluster in
      let scene = try await Scene("mosaic", on: cluster)
      var replay = try await Replay(try Self.mosaic(scene), in: scene)
      try await replay.ended(10)
      try await replay.kill("w2")
      try await replay.ended(20)
      try await replay.killCoordinator()
      try await replay.check()
    }
  }

  /// 62 operations of the shape of Montage.
  ///
  ///     project ×16 ─ difference ×24 ─ fit ─ model ─ background ×16 ─ table ─ add ─ shrink ─ view
  ///     └────────────────────────────────────────────┘
  private static func mosaic(_ scene: Scene) throws -> GraphSubmission {
    var plan = Plan(scene)
    let work = Deed.shell(Replay.frame + "sleep 0.05")
    func add(_ name: String, _ after: [String]) throws {
      try plan.add(name, work, after: after, when: .succeeded)
    }
    let images = 0..<16
    for image in images { try add("project-\(image)", []) }
    var differences: [String] = []
    for pair in 0..<24 {
      let (one, other) = (pair % 16, (pair * 5 + 3) % 16)
      differences.append("difference-\(pair)")
      try add("difference-\(pair)", ["project-\(one)", "project-\(other)"])
    }
    try add("fit", differences)
    try add("model", ["fit"])
    for image in images { try add("background-\(image)", ["model", "project-\(image)"]) }
    try add("table", images.map { "background-\($0)" })
    try add("add", ["table"])
    try add("shrink", ["add"])
    try add("view", ["shrink"])
    return plan.submission
  }
}
