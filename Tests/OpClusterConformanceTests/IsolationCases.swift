// Operations that want a process of their own, in a program that is its own cluster: a program of
// the library is started, and what it says is read.

import Citations
import FoundationEssentials
import RealCluster
import Testing

@Suite struct Isolation {
  private func lines(_ arguments: [String]) async throws -> [String] {
    let folder = "/tmp/opcluster-library-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let program = try ChildProgram(
      "library", Cluster.executable("LibraryProgram"), arguments,
      environment: ["PATH=/usr/bin:/bin", "TMPDIR=\(folder)"], folder: folder)
    #expect(try await program.ended() == 0, "\(program.error)")
    return program.output.split(separator: "\n").map(String.init)
  }

  /// They run in children that are used again; a crash is their own, and what heeds nothing is
  /// killed when its grace is over. Those that the children would not know are refused.
  @Test("isolated types of a program", .checks("S92")) func withDoor() async throws {
    let lines = try await lines([])
    #expect(
      lines.dropLast(2) == [
        "a child: true used again: true", "crashed: signal true", "killed: true true",
        "in a block: 1",
      ])
    let refused = try #require(lines.dropLast().last)
    #expect(refused.contains("'library.stranger' wants a process of its own"), "\(refused)")
    #expect(lines.last == "by hand in a child: true")
  }

  /// Nothing of that kind is run unprotected: the error names the line that is missing.
  @Test("isolated types without a door") func withoutDoor() async throws {
    let lines = try await lines(["without"])
    #expect(lines.count == 1)
    #expect(lines[0].hasPrefix("refused: "))
    #expect(lines[0].contains("OperationCluster.runAsChildIfAsked(types:)"), "\(lines)")
  }

  /// A cluster in which nothing goes on takes no processor time, whatever was done with it first.
  @Test("idle clusters cost nothing") func idle() async throws {
    let lines = try await lines(["idle"])
    #expect(lines.count == 9)
    #expect(lines.filter { !$0.hasSuffix(" costs nothing") } == [])
  }
}
