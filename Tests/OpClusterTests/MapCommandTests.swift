// `opbatch map` on real daemons.

import FoundationEssentials
import RealCluster
import Testing

@Suite struct MapCommandTests {
  @Test func jobsRunAndAreCounted() async throws {
    try await Cluster.with(Cluster.Shape(workers: 1)) { cluster in
      let scene = try await Scene("map", on: cluster)
      let ordered = try await cluster.opbatch(
        "map", "-k", "echo", "{1}-{2/}", ":::", "a b", "'", "$(x)", ":::", "d/1")
      #expect(ordered.output == "a b-1\n'-1\n$(x)-1\n")
      let log = "\(scene.folder)/jobs"
      let failing = ["map", "-k", "--joblog", log, "echo {}; exit {}", ":::", "0", "3", "4"]
      let program = try cluster.startOpbatch(failing)
      #expect(try await program.ended() == 2)
      #expect(program.output == "0\n3\n4\n")
      let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
        .map { $0.split(separator: "\t") }
      #expect(lines.map { $0[0] } == ["Seq", "1", "2", "3"])
      #expect(lines.map { $0[6] } == ["Exitval", "0", "3", "4"])
      // Those that failed, once more, and one that is new.
      let again = try cluster.startOpbatch(
        ["map", "-k", "--joblog", log, "--resume-failed", "echo", ":::", "0", "3", "4", "5"])
      #expect(try await again.ended() == 0)
      #expect(again.output == "3\n4\n5\n")
    }
  }

  /// With one place nothing begins after the failure that halts.
  @Test func haltStartsNothingMore() async throws {
    try await Cluster.with(Cluster.Shape(workers: 1)) { cluster in
      let program = try cluster.startOpbatch(
        ["map", "-j1", "--halt", "soon,fail=1", "echo {}; exit {}", ":::", "0", "7", "8"])
      #expect(try await program.ended() == 7)
      #expect(program.output == "0\n7\n")
    }
  }

  @Test func whatIsNotHere() async throws {
    try await Cluster.with(Cluster.Shape(workers: 1)) { cluster in
      for option in ["--pipe", "-S", "--semaphore", "--rpl"] {
        let program = try cluster.startOpbatch(["map", option, "wc", ":::", "1"])
        #expect(try await program.ended() == 255)
        #expect(program.error.contains("is not here") && program.error.contains("hint:"))
      }
    }
  }
}
