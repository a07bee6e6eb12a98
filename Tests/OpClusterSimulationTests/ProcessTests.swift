// The same seeds in two processes: hashing is seeded anew in each, and must not show
// (Simulation.md).

import FoundationEssentials
import RealCluster
import Testing

@Suite struct Processes {
  @Test func twoProcessesSeeTheSameWorlds() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "opsim-\(UUID())").path
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = try Cluster.executable("opsim")
    let first = try ChildProgram(
      "first", path, ["run", "--seeds", "25"], environment: [], folder: folder)
    let second = try ChildProgram(
      "second", path, ["run", "--seeds", "25"], environment: [], folder: folder)
    for child in [first, second] {
      #expect(try await child.ended() == 0, "\(child.output) \(child.error)")
    }
    let hashes = [first, second].map { $0.output.split(separator: " ").drop { $0 != "hash" } }
    #expect(!hashes[0].isEmpty)
    #expect(hashes[0].prefix(2) == hashes[1].prefix(2))
  }
}
