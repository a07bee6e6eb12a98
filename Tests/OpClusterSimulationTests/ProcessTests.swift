// The same seeds in two processes, this one and another: hashing is seeded anew in each, and must
// not show (Simulation.md).

import FoundationEssentials
import OpClusterSimulation
import RealCluster
import Testing

@Suite struct Processes {
  @Test func twoProcessesSeeTheSameWorlds() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "opsim-\(UUID())").path
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let worlds = Seeds.first
    let child = try ChildProgram(
      "opsim", try Cluster.executable("opsim"), ["run", "--seeds", "\(worlds.count)"],
      environment: [], folder: folder)
    #expect(try await child.ended(within: .seconds(240)) == 0, "\(child.output) \(child.error)")
    // As `opsim run` puts them together.
    let hash = worlds.reduce(0) { $0 ^ $1.hash &* (2 &* $1.seed &+ 1) }
    #expect(child.output.contains(" hash \(String(hash, radix: 16))\n"), "\(child.output)")
  }
}
