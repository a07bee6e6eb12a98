// The first hour of a batch user, against real daemons: one command with everything it asks for,
// complete listings, what is told of a graph that does not come to its end.

import Citations
import FoundationEssentials
import Glibc
import OpClusterModel
import RealCluster
import Testing

@Suite(.sharedCluster, .serialized) struct BatchUserTests {
  private func scene(_ name: String) async throws -> Scene {
    try await SharedCluster.scene(name)
  }

  private func manifest(_ scene: Scene, _ text: String) throws -> String {
    let path = "\(scene.folder)/graph.yaml"
    try write(text + "\n", to: path)
    return path
  }

  /// Submits a manifest; its number.
  private func submit(
    _ scene: Scene, _ text: String, _ options: [String] = []
  ) async throws -> String {
    let path = try manifest(scene, text)
    let program = try scene.cluster.startOpbatch(["submit", path, "-o", "name"] + options)
    _ = try await program.ended()
    return String(program.output.prefix { $0 != "\n" })
  }

  // MARK: - One command

  @Test func standardInputIsPassedOn() async throws {
    let scene = try await scene("stdin")
    let cluster = scene.cluster
    let path = "\(scene.folder)/input"
    try write("first\nsecond\n", to: path)
    let text = try await cluster.opbatch("run", "--", "cat", input: path)
    #expect(text.output == "first\nsecond\n", "\(text.error)")
    // Too large to travel: the worker opens the same file.
    try write(String(repeating: "x", count: Limits.payloadBytes + 1), to: path)
    let large = try await cluster.opbatch("run", "--", "wc", "-c", input: path)
    #expect(large.output == "\(Limits.payloadBytes + 1)\n", "\(large.error)")
    let none = try await cluster.opbatch("run", "--no-stdin", "--", "wc", "-c", input: path)
    #expect(none.output == "0\n", "\(none.error)")
    // From a pipe, as in a script.
    let opbatch = try Cluster.executable("opbatch")
    let shell = try ChildProgram(
      "piped", "/bin/sh", ["-c", "printf 'a\\nb' | \(opbatch) run -- cat"],
      environment: cluster.environment + ["OPBATCH_COORDINATOR=\(cluster.address)"],
      folder: scene.folder)
    #expect(try await shell.ended() == 0, "\(shell.error)")
    #expect(shell.output == "a\nb")
  }

  @Test func oneCommandTakesWhatAManifestCanSay() async throws {
    let scene = try await scene("asks")
    let cluster = scene.cluster
    let queue = try await scene.queue()
    let said = try await cluster.opbatch(
      "run", "--queue", queue, "--memory", "64MiB", "--resource", "solo=1", "--label", "who=me",
      "--retry", "1", "--workdir", scene.folder, "--timeout", "1m", "--",
      "sh", "-c", "pwd; test -e again || { touch again; exit 5; }")
    #expect(said.status == 0, "\(said.error)")
    #expect(said.output.hasSuffix("\(scene.folder)\n"), "\(said.output)")
    let listed = try JSONValue(try await cluster.opbatch("ls", "last", "-o", "json").output)
    let row = listed["operations"].elements[0]
    #expect(row["queue"].text == queue)
    #expect(row["attempt"].number == 2)
    #expect(row["worker"].text == "w1")
    let labelled = try await cluster.opbatch("ls", "-l", "who=me", "-o", "name")
    #expect(labelled.output.split(separator: "\n").count == 1)
    // Each attempt is told.
    let why = try await cluster.opbatch("why", "last/run")
    #expect(why.output.contains("attempt 1 on w1: exit status 5"), "\(why.output)")
  }

  @Test func aCommandIsSubmittedAndLeftAlone() async throws {
    let scene = try await scene("detached")
    try scene.makeGate("later")
    let text = "\(scene.preamble) gate later; echo done"
    let said = try await scene.cluster.opbatch("submit", "-o", "name", "--", "sh", "-c", text)
    #expect(said.status == 0, "\(said.error)")
    let graph = String(said.output.prefix { $0 != "\n" })
    try await scene.traced("later+")
    try scene.open("later")
    #expect(try await scene.cluster.opbatch("wait", graph).status == 0)
    #expect(try await scene.cluster.opbatch("logs", graph).output == "done\n")
  }

  @Test func fewOperationsShowTheirOutput() async throws {
    let scene = try await scene("few")
    let path = try manifest(
      scene,
      """
      version: 1
      operations:
        a: {run: "echo from-a; echo to-stderr >&2"}
        b: {needs: a, run: "echo from-b"}
      """)
    let said = try await scene.cluster.opbatch("run", "-m", path)
    #expect(said.status == 0, "\(said.error)")
    #expect(said.output.contains("/a | from-a\n") && said.output.contains("/b | from-b\n"))
    #expect(said.error.contains("/a | to-stderr\n"), "\(said.error)")
    let one = try manifest(scene, "version: 1\noperations: {a: {run: 'seq 1 200'}}")
    let last = try await scene.cluster.opbatch("run", "-m", one)
    #expect(last.output.hasSuffix("\n199\n200\n") && last.output.contains("\n101\n"))
    #expect(!last.output.contains("\n100\n"), "the last 100 lines")
    let many = try manifest(scene, "version: 1\noperations: {a: {array: 1-11, run: 'echo hidden'}}")
    #expect(try await scene.cluster.opbatch("run", "-m", many).output.contains("hidden") == false)
  }

  /// After a command that failed without a word, the next one in its slot has its log.
  @Test(.checks("G26")) func logsAfterFailures() async throws {
    let scene = try await scene("after-failures")
    let path = try manifest(
      scene, "version: 1\noperations: {a: {array: 1-12, run: 'true'}, b: {run: 'exit 3'}}")
    for number in 1...8 {
      _ = try await scene.cluster.opbatch("submit", "-q", "--wait", path)
      let said = try await scene.cluster.opbatch("run", "--", "echo", "word \(number)")
      #expect(said.output == "word \(number)\n", "\(said.error)")
    }
  }

  @Test func quietSaysNothingButData() async throws {
    let scene = try await scene("quiet")
    let path = try manifest(scene, "version: 1\noperations: {a: {run: 'echo x'}}")
    let submitted = try await scene.cluster.opbatch("submit", "-q", "-o", "name", path)
    #expect(submitted.error.isEmpty, "\(submitted.error)")
    let watched = try await scene.cluster.opbatch("--quiet", "watch", "last")
    #expect(watched.status == 0)
    #expect((watched.output + watched.error).isEmpty, "\(watched)")
    let wrong = try await scene.cluster.opbatch("show", "999999", "-q")
    #expect(wrong.error.hasPrefix("error: nothing matches"))
  }

  @Test func theLastLinesOfLogs() async throws {
    let scene = try await scene("tails")
    let graph = try await submit(
      scene, "version: 1\noperations: {a: {array: 1-2, run: 'seq 1 100000; echo end-$OP_INDEX'}}",
      ["--wait"])
    let cluster = scene.cluster
    let plain = try await cluster.opbatch("logs", graph, "-n", "2", "--no-prefix")
    #expect(plain.output == "100000\nend-1\n100000\nend-2\n", "\(plain.error)")
    let named = try await cluster.opbatch("logs", graph, "-n", "1")
    #expect(named.output == "\(graph)/a/1 | end-1\n\(graph)/a/2 | end-2\n")
    // Further back than one piece.
    let long = try await cluster.opbatch("logs", "\(graph)/a/1", "-n", "50000")
    #expect(long.output.hasPrefix("50002\n") && long.output.hasSuffix("\nend-1\n"))
    let followed = try await cluster.opbatch("logs", "\(graph)/a/2", "-f", "-n", "1")
    #expect(followed.output == "end-2\n", "\(followed.error)")
  }

  // MARK: - Programs

  @Test func listingsForProgramsAreComplete() async throws {
    let scene = try await scene("complete")
    let cluster = scene.cluster
    let count = Limits.rowsPerReply + 1
    let graph = try await submit(
      scene, "version: 1\noperations: {a: {array: 1-\(count), run: 'true'}}", ["--hold"])
    let names = try await cluster.opbatch("ls", graph, "-o", "name").output
    #expect(Set(names.split(separator: "\n")).count == count)
    let rows = try JSONValue(try await cluster.opbatch("ls", graph, "-o", "json").output)
    #expect(rows["operations"].elements.count == count)
    let lines = try await cluster.opbatch("ls", graph, "-o", "jsonl").output
    #expect(lines.split(separator: "\n").count == count)
    // More than one reply lists, and all of them counted.
    let cancelled = try JSONValue(try await cluster.opbatch("cancel", graph, "-o", "json").output)
    #expect(cancelled["cancelled"].elements.count == 1)
    #expect(cancelled["cancelled"].elements.first?["cancelled"].number == Double(count))
    // More ended graphs than a table shows.
    for _ in 0..<25 {
      _ = try await scene.submit { try $0.add("n", .nothing) }
    }
    let all = try await scene.connection.graphs(Selection(graphs: .all)).count
    let listed = try await cluster.opbatch("ls", "-o", "name")
    #expect(listed.output.split(separator: "\n").count == all)
    #expect(listed.error.isEmpty, "\(listed.error)")
    let graphs = try JSONValue(try await cluster.opbatch("ls", "-o", "json").output)
    #expect(graphs["graphs"].elements.count == all)
    let table = try await cluster.opbatch("ls")
    #expect(table.error.contains("older graph"), "\(table.error)")
  }

  @Test func checkTellsProgramsAllFindings() async throws {
    let scene = try await scene("findings")
    let path = try manifest(
      scene, "version: 1\noperations:\n  a: {run: 'true', nedds: b}\n  c: {runn: 'true'}")
    let wrong = try await scene.cluster.opbatch("check", path, "-o", "json")
    #expect(wrong.status == 65)
    let findings = try JSONValue(wrong.output)["findings"].elements
    #expect(findings.count >= 2, "\(wrong.output)")
    #expect(findings[0]["severity"].text == "error")
    #expect(findings[0]["line"].number == 3)
    #expect(findings[0]["hint"].text?.contains("needs") == true)
    let good = try manifest(scene, "version: 1\noperations: {a: {run: 'true'}}")
    let right = try await scene.cluster.opbatch("check", good, "-o", "json")
    #expect(right.status == 0)
    let document = try JSONValue(right.output)
    #expect(document["findings"] == .list([]))
    #expect(document["operations"].elements.count == 1)
  }

  @Test func waitingTellsProgramsTheOutcome() async throws {
    let scene = try await scene("outcome")
    let path = try manifest(scene, "version: 1\noperations: {a: {run: 'exit 3'}, b: {run: 'true'}}")
    let said = try await scene.cluster.opbatch("submit", path, "--wait", "-o", "json")
    #expect(said.status == 1)
    let graph = try JSONValue(said.output)["graph"]
    #expect(graph["state"].text == "failed")
    #expect(graph["operations"].number == 2)
    #expect(graph["counts"]["failed"].number == 1 && graph["counts"]["succeeded"].number == 1)
    #expect(graph.keys.isSuperset(of: ["id", "name", "finished_at"]))
    let lines = try await scene.cluster.opbatch("submit", path, "--wait", "-o", "jsonl").output
      .split(separator: "\n").map { try JSONValue(String($0)) }
    #expect(lines.count == 2)
    #expect(lines.last?["graph"]["state"].text == "failed")
  }

  /// What is taken over shows where it ran, and its logs are those of the run.
  @Test(.checks("S11")) func whatIsTakenOverShowsItsSource() async throws {
    let scene = try await scene("taken")
    let cluster = scene.cluster
    let ok = "\(scene.folder)/ok"
    let graph = try await submit(
      scene,
      "version: 1\noperations:\n  a: {run: 'echo from-a'}\n  b: {needs: a, run: 'test -e \(ok)'}",
      ["--wait"])
    try write("", to: ok)
    let first = try await cluster.opbatch("retry", graph, "--failed", "--wait", "-o", "name")
    let again = String(first.output.prefix { $0 != "\n" })
    let logs = try await cluster.opbatch("logs", "\(again)/a")
    #expect(logs.output == "from-a\n", "\(logs.error)")
    let page = try await cluster.opbatch("show", "\(again)/a").output
    #expect(page.contains("from \(graph)/a, which ran"), "\(page)")
    // And once more: the run is what is named.
    let second = try await cluster.opbatch("retry", "\(again)/b", "--wait", "-o", "name")
    let third = String(second.output.prefix { $0 != "\n" })
    #expect(try await cluster.opbatch("logs", "\(third)/a").output == "from-a\n")
    let shown = try await cluster.opbatch("show", "\(third)/a").output
    #expect(shown.contains("from \(graph)/a, which ran"), "\(shown)")
  }

  // MARK: - What does not come to its end

  @Test func aGraphIsExplainedByWhatFailedOrWaits() async throws {
    let scene = try await scene("why")
    let cluster = scene.cluster
    let path = try manifest(
      scene,
      """
      version: 1
      name: mixed
      operations:
        ok: {array: 1-120, run: "true"}
        bad: {array: 1-3, run: "exit 7"}
        after: {needs: bad, run: "true"}
        big: {run: "true", resources: {cpus: 64}}
      """)
    let submitted = try await cluster.opbatch("submit", path)
    // Told at once.
    #expect(
      submitted.error.contains("'big': it asks for 64 cpus, and the largest worker has 2"),
      "\(submitted.error)")
    let graph = try #require(
      submitted.output.split(separator: " ").dropFirst().first.map(String.init))
    try await eventually("all but one have ended") {
      let rows = try await scene.connection.graphs(.graph(GraphID(try #require(UInt32(graph)))))
      return rows.first?.counts.finished == 124
    }
    let why = try await cluster.opbatch("why", graph)
    let lines = why.output.split(separator: "\n").map { $0.drop { $0 == " " } }
    #expect(lines[0].hasPrefix("\(graph)  mixed  running"), "\(why.output)")
    #expect(lines[1].hasPrefix("3 failed: such as \(graph)/bad/"), "\(why.output)")
    #expect(lines[2] == "exit status 7", "\(why.output)")
    #expect(lines[3] == "1 ready: \(graph)/big", "\(why.output)")
    #expect(why.output.contains("it asks for 64 cpus, and the largest worker has 2"))
    #expect(lines.last == "120 succeeded", "\(why.output)")
    #expect(lines.contains { $0 == "1 skipped: \(graph)/after" })
    // Programs are told of each, in the same order, also where no operation is in some state.
    for format in ["json", "jsonl", "name"] {
      let told = try await cluster.opbatch("why", graph, "-o", format)
      #expect(told.status == 0 && told.output.contains("\(graph)/big"), "\(told.error)")
    }
    // In watch and in doctor, too.
    let watch = try cluster.startOpbatch(["watch", graph])
    try await eventually("watch tells it", details: { watch.output + watch.error }) {
      watch.error.contains("\(graph)/big waits: no connected worker can run it")
    }
    watch.signal(SIGINT)
    _ = try await watch.ended()
    let doctor = try await cluster.opbatch("doctor")
    #expect(doctor.output.contains("\(graph)/big: waits: no connected worker"), "\(doctor.output)")
    _ = try await cluster.opbatch("cancel", graph)
  }
}
