// Graphs of other systems on a real cluster: what their commands leave is what is compared.

import FoundationEssentials
import RealCluster
import Testing

@Suite struct ImportGraphTests {
  private func opbatch(
    _ words: [String], at folder: String, _ cluster: Cluster
  ) async throws -> (status: Int32, output: String, error: String) {
    let program = try ChildProgram(
      "opbatch-\(UInt32.random(in: 0 ... .max))", "/usr/bin/env",
      ["-C", folder, try Cluster.executable("opbatch")] + words,
      environment: cluster.environment + ["OPBATCH_COORDINATOR=\(cluster.address)"],
      folder: cluster.folder, input: "/dev/null")
    let status = try await program.ended()
    return (status, program.output, program.error)
  }

  private func text(_ path: String) throws -> String {
    try String(contentsOfFile: path, encoding: .utf8)
  }

  /// POST decides after a failed job, and a retry repeats the node with both scripts.
  @Test func dagmanRunsScriptsAroundAJob() async throws {
    try await Cluster.with(Cluster.Shape(workers: 1)) { cluster in
      let scene = try await Scene("dag", on: cluster)
      let folder = scene.folder
      let dag = """
        JOB A a.sub
        JOB B b.sub
        SCRIPT PRE A /bin/sh pre.sh
        SCRIPT POST A /bin/sh post.sh $JOB $RETURN
        RETRY A 3
        PARENT A CHILD B
        """
      let job = "executable = /bin/sh\narguments = \"-c 'echo job >> said; exit 4'\"\nqueue\n"
      let last = "executable = /bin/echo\narguments = $(Process)\noutput = out.$(Process)\nqueue 2"
      for (name, text) in [
        "t.dag": dag, "a.sub": job, "b.sub": last, "pre.sh": "echo pre >> said\n",
        "post.sh": "echo post $1 $2 >> said\ntest $(grep -c job said) -ge 2\n",
      ] { try RealCluster.write(text, to: "\(folder)/\(name)") }
      let said = try await opbatch(
        ["import", "dagman", "t.dag", "--submit", "--wait"], at: folder, cluster)
      #expect(said.status == 0, "\(said.error)")
      let round = "pre\njob\npost A 4\n"
      #expect(try text("\(folder)/said") == round + round)
      #expect(try text("\(folder)/out.1") == "1\n")
    }
  }

  /// A chain over a folder that is made, and a response file that is removed.
  @Test func ninjaMakesWhatATargetNeeds() async throws {
    try await Cluster.with(Cluster.Shape(workers: 1)) { cluster in
      let scene = try await Scene("ninja", on: cluster)
      let folder = scene.folder
      try RealCluster.write("text\n", to: "\(folder)/in")
      try RealCluster.write(
        """
        rule copy
          command = cat $in > $out
        rule list
          command = cat @$out.rsp @$out.rsp 2>/dev/null; cat $out.rsp > $out
          rspfile = $out.rsp
          rspfile_content = $in
        build deep/er/a: copy in
        build b: list deep/er/a
        build other: copy in
        default b

        """, to: "\(folder)/build.ninja")
      let said = try await opbatch(
        ["import", "ninja", "build.ninja", "--submit", "--wait"], at: folder, cluster)
      #expect(said.status == 0, "\(said.error)")
      #expect(try text("\(folder)/deep/er/a") == "text\n")
      #expect(try text("\(folder)/b") == "deep/er/a")
      #expect(!FileManager.default.fileExists(atPath: "\(folder)/b.rsp"))
      #expect(!FileManager.default.fileExists(atPath: "\(folder)/other"))
    }
  }

  @Test func whatDoesNotMapIsToldAndStrictRefuses() async throws {
    try await Cluster.with(Cluster.Shape(workers: 1)) { cluster in
      let scene = try await Scene("strict", on: cluster)
      let folder = scene.folder
      try RealCluster.write("a:\n\tLOCAL echo a > a\n", to: "\(folder)/w.mf")
      let plain = try await opbatch(["import", "makeflow", "w.mf"], at: folder, cluster)
      #expect(plain.status == 0)
      #expect(plain.error.contains("w.mf:2: warning: LOCAL"))
      #expect(plain.output.contains("run: \"echo a > a\""))
      let strict = try await opbatch(
        ["import", "makeflow", "w.mf", "--strict"], at: folder, cluster)
      #expect(strict.status == 65 && strict.output.isEmpty)
      try RealCluster.write("[[task]]\ncommand = 3\n", to: "\(folder)/j.toml")
      let wrong = try await opbatch(["import", "hq", "j.toml"], at: folder, cluster)
      #expect(wrong.status == 65 && wrong.error.contains("j.toml:2: error:"))
    }
  }
}
