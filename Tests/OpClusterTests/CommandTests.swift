// `opbatch` as scripts use it, against real daemons: its statuses, the keys of its JSON, Ctrl-C,
// and what it says to mistakes.

import Citations
import FoundationEssentials
import Glibc
import OpClusterModel
import RealCluster
import Testing

@Suite(.sharedCluster, .serialized) struct CommandTests {
  private func scene(_ name: String) async throws -> Scene {
    try await SharedCluster.scene(name)
  }

  /// Writes a manifest of a scene.
  private func manifest(_ scene: Scene, _ text: String) throws -> String {
    let path = "\(scene.folder)/graph.yaml"
    try write(text + "\n", to: path)
    return path
  }

  @Test func runPassesTheCommandThrough() async throws {
    let cluster = try await scene("run").cluster
    let said = try await cluster.opbatch(
      "run", "--", "sh", "-c", "echo to-out; echo to-err >&2; exit 7")
    #expect(said.status == 7)
    #expect(said.output == "to-out\n")
    #expect(said.error.contains("to-err"))
    let cases: [(Int32, [String])] = [
      (0, ["--", "true"]), (137, ["--", "sh", "-c", "kill -9 $$"]),
      (127, ["--", "/nonexistent/program"]), (126, ["--", "/etc/passwd"]),
      (124, ["--timeout", "300ms", "--", "sleep", "1000"]),
    ]
    for (status, arguments) in cases {
      let program = try cluster.startOpbatch(["run"] + arguments)
      #expect(try await program.ended() == status, "\(arguments): \(program.error)")
    }
  }

  @Test func statusesTellHowItEnded() async throws {
    let scene = try await scene("statuses")
    let cluster = scene.cluster
    let good = try manifest(scene, "version: 1\noperations: {a: {run: 'true'}}")
    #expect(try await cluster.opbatch("submit", "--wait", good).status == 0)
    #expect(try await cluster.opbatch("run", "-m", good).status == 0)
    #expect(try await cluster.opbatch("wait", "last").status == 0)
    let bad = try manifest(
      scene, "version: 1\noperations: {a: {run: 'false'}, b: {run: 'true', needs: a}}")
    let failed = try await cluster.opbatch("submit", "--wait", bad)
    #expect(failed.status == 1)
    #expect(try await cluster.opbatch("run", "-m", bad).status == 1)
    #expect(try await cluster.opbatch("wait", "last/b").status == 1)
    let allowed = try manifest(
      scene, "version: 1\noperations: {a: {run: 'false', allow_failure: true}}")
    #expect(try await cluster.opbatch("submit", "--wait", allowed).status == 0)
    let long = try manifest(scene, "version: 1\noperations: {a: {run: 'sleep 1000'}}")
    let name = try await cluster.opbatch("submit", long, "-o", "name").output
    let graph = String(name.prefix { $0 != "\n" })
    #expect(try await cluster.opbatch("wait", graph, "--timeout", "200ms").status == 3)
    #expect(try await cluster.opbatch("cancel", graph).status == 0)
    #expect(try await cluster.opbatch("wait", graph).status == 2)
  }

  @Test func mistakesAreToldApart() async throws {
    let scene = try await scene("mistakes")
    let cluster = scene.cluster
    let typo = try manifest(
      scene, "version: 1\noperations:\n  a: {run: 'true'}\n  b: {nedds: a, run: 'true'}")
    let before = try await scene.connection.graphs(Selection(graphs: .all)).count
    let wrong = try await cluster.opbatch("submit", typo)
    #expect(wrong.status == 65)
    #expect(wrong.output.isEmpty)
    for part in ["unknown key 'nedds'", "graph.yaml:4:7", "did you mean 'needs'?"] {
      #expect(wrong.error.contains(part), "\(wrong.error)")
    }
    #expect(try await scene.connection.graphs(Selection(graphs: .all)).count == before)
    let json = try await cluster.opbatch("show", "999999", "-o", "json")
    #expect(json.status == 4)
    #expect(json.output.isEmpty)
    #expect(try JSONValue(json.error)["error"].keys.isSuperset(of: ["code", "message"]))
    for arguments in [["wait", "999999"], ["cancel", "999999"], ["logs", "999999/a"]] {
      let program = try cluster.startOpbatch(arguments)
      #expect(try await program.ended() == 4, "\(arguments): \(program.error)")
    }
    #expect(try await cluster.opbatch("frobnicate").status == 64)
    let nobody = try await cluster.opbatch(
      "ls", variables: ["OPBATCH_COORDINATOR=ipc://\(scene.folder)/nobody"])
    #expect(nobody.status == 69)
    #expect(nobody.error.contains("\(scene.folder)/nobody"))
    #expect(
      try await cluster.opbatch("ls", variables: ["OPBATCH_COORDINATOR=nonsense"]).status == 78)
  }

  /// A second coordinator on the same folder leaves it alone.
  @Test(.checks("F31")) func aSecondCoordinatorIsRefused() async throws {
    let scene = try await scene("second")
    let second = try ChildProgram(
      "second", try Cluster.executable("opcoord"),
      [
        "serve", "--allow-root", "--client", "ipc://\(scene.folder)/c", "--worker",
        "ipc://\(scene.folder)/w",
        "--state", "\(scene.cluster.folder)/state",
      ], environment: ["HOME=\(scene.folder)"], folder: scene.folder)
    #expect(try await second.ended() == 73)
    let first = try #require(scene.cluster.daemon("opcoord")).process
    #expect(second.error.contains("\(first)"), "\(second.error)")
    try await scene.settle()
  }

  @Test func jsonHasTheKeysOfTheContract() async throws {
    let scene = try await scene("json")
    let cluster = scene.cluster
    let path = try manifest(
      scene,
      """
      version: 1
      name: keys
      operations:
        a: {array: 1-2, run: "echo k=v >> \\"$OP_OUTPUT\\""}
        b: {needs: a, run: "exit 3"}
        c: {needs: b, run: "true"}
      """)
    let submitted = try JSONValue(try await cluster.opbatch("submit", path, "-o", "json").output)
    #expect(submitted["schema"].text == "opbatch/v1")
    #expect(submitted["graph"].keys.isSuperset(of: ["id", "name", "operations"]))
    #expect(submitted["graph"]["name"].text == "keys")
    #expect(submitted["graph"]["operations"].number == 4)
    let graph = String(Int(try #require(submitted["graph"]["id"].number)))
    #expect(try await cluster.opbatch("wait", graph).status == 1)
    try await checkListings(cluster, graph)
    try await checkOperations(cluster, graph)
  }

  private func checkListings(_ cluster: Cluster, _ graph: String) async throws {
    let graphs = try await read(cluster, "ls", "-a")["graphs"].elements
    let row = try #require(graphs.first { $0["id"].number == Double(graph) })
    #expect(
      row.keys.isSuperset(of: [
        "id", "name", "state", "total", "counts", "submitted_at", "finished_at",
      ]))
    #expect(row["state"].text == "failed")
    #expect(row["total"].number == 4)
    let counts = row["counts"]
    #expect(counts["succeeded"].number == 2)
    #expect(counts["failed"].number == 1)
    #expect(counts["skipped"].number == 1)
    let queues = try await read(cluster, "queue", "ls")["queues"].elements
    #expect(!queues.isEmpty)
    for queue in queues {
      let keys: Set = ["name", "qos", "is_suspended", "operation_count", "executing"]
      #expect(queue.keys.isSuperset(of: keys))
    }
    let workers = try await read(cluster, "worker", "ls")["workers"].elements
    #expect(workers.count { $0["state"].text == "connected" } == 3)
    for worker in workers {
      let keys: Set = [
        "name", "state", "slots", "executing", "resources", "operation_types",
        "last_heard_seconds",
      ]
      #expect(worker.keys.isSuperset(of: keys))
      #expect(worker["slots"].number == 2)
    }
  }

  private func checkOperations(_ cluster: Cluster, _ graph: String) async throws {
    let listed = try await read(cluster, "ls", graph)["operations"].elements
    #expect(listed.map { $0["id"].text } == ["a/1", "a/2", "b", "c"].map { "\(graph)/\($0)" })
    let always: Set = [
      "id", "name", "graph", "state", "is_ready", "is_executing", "is_finished", "is_cancelled",
      "outcome", "queue", "priority", "qos", "needs", "submitted_at",
    ]
    for operation in listed { #expect(operation.keys.isSuperset(of: always)) }
    let element = try await read(cluster, "show", "\(graph)/a/2")["operations"].elements[0]
    let ran = always.union([
      "index", "worker", "attempt", "exit_code", "output", "started_at", "finished_at",
    ])
    #expect(element.keys.isSuperset(of: ran), "\(ran.subtracting(element.keys))")
    #expect(element["index"].number == 2)
    #expect(element["output"]["k"].text == "v")
    let failed = try await read(cluster, "show", "\(graph)/b")["operations"].elements[0]
    #expect(failed["exit_code"].number == 3)
    #expect(failed["outcome"].text == "failed")
    #expect(failed["needs"].elements.first?["when"].text == "succeeded")
    let skipped = try await read(cluster, "show", "\(graph)/c")["operations"].elements[0]
    #expect(skipped["state"].text == "skipped")
    #expect(skipped["outcome"].text?.hasPrefix("cancelled") == true, "\(skipped["outcome"])")
    #expect(skipped["reason"].text == "dependency")
    #expect(skipped.keys.isDisjoint(with: ["worker", "attempt", "exit_code", "started_at"]))
    let events = try await cluster.opbatch("events", graph, "-o", "jsonl").output
      .split(separator: "\n").map { try JSONValue(String($0)) }
    let kinds = Set(events.compactMap { $0["kind"].text })
    #expect(
      kinds.isSuperset(of: [
        "is_ready", "is_executing", "is_finished", "is_cancelled", "attempt", "completion",
        "graph",
      ]))
    for event in events { #expect(event.keys.isSuperset(of: ["sequence", "time", "kind"])) }
    let sequences = events.compactMap { $0["sequence"].number }
    #expect(sequences == sequences.sorted())
  }

  /// One document, without nulls, with the schema's name.
  private func read(_ cluster: Cluster, _ arguments: String...) async throws -> JSONValue {
    try await read(cluster, arguments)
  }

  private func read(_ cluster: Cluster, _ arguments: [String]) async throws -> JSONValue {
    let program = try cluster.startOpbatch(arguments + ["-o", "json"])
    #expect(try await program.ended() == 0, "\(arguments): \(program.error)")
    let value = try JSONValue(program.output)
    #expect(value["schema"].text == "opbatch/v1")
    #expect(!value.hasNull)
    return value
  }

  /// A pattern, or a graph's own queue, means the same before and after the graph's end.
  @Test(.checks("S97")) func selectorsMeanTheSameAfterTheEnd() async throws {
    let scene = try await scene("patterns")
    let cluster = scene.cluster
    let path = try manifest(
      scene,
      """
      version: 1
      queues: {own: {max_concurrent: 1}}
      operations:
        start: {array: 1-2, run: "true"}
        solve: {queue: own, needs: start, not_before: 1h, run: "true"}
        end: {needs: solve, run: "true"}
      """)
    let name = try await cluster.opbatch("submit", path, "-o", "name").output
    let graph = String(name.prefix { $0 != "\n" })
    func names(_ arguments: String...) async throws -> [String] {
      let listed = try await read(cluster, arguments)
      return listed["operations"].elements.compactMap { $0["id"].text }
    }
    func ask() async throws -> [[String]] {
      [
        try await names("ls", "\(graph)/s*"), try await names("ls", "\(graph)/s????/2"),
        try await names("ls", graph, "--queue", "own"),
        try await names("ls", graph, "--queue", "\(graph)/own"),
      ]
    }
    let living = try await ask()
    #expect(
      living == [
        ["\(graph)/start/1", "\(graph)/start/2", "\(graph)/solve"], ["\(graph)/start/2"],
        ["\(graph)/solve"], ["\(graph)/solve"],
      ])
    #expect(try await cluster.opbatch("release", "\(graph)/solve").status == 0)
    #expect(try await cluster.opbatch("wait", graph).status == 0)
    #expect(try await ask() == living)
    #expect(try await cluster.opbatch("why", "\(graph)/s*").status == 0)
    let told = try await cluster.opbatch("events", "\(graph)/s*", "-o", "jsonl").output
    let lines = told.split(separator: "\n").filter { $0.contains("\"is_finished\"") }
    #expect(lines.count == 3 && lines.allSatisfy { $0.contains("\(graph)/s") }, "\(told)")
  }

  /// `events -f` says where the past ends.
  @Test func followingTellsWhenItHasCaughtUp() async throws {
    let cluster = try await scene("follow").cluster
    let follower = try cluster.startOpbatch(["events", "-f", "-o", "jsonl"])
    try await eventually("it has caught up", details: { follower.error }) {
      follower.output.split(separator: "\n").contains { $0.contains("caught_up") }
    }
    follower.signal(SIGINT)
    _ = try await follower.ended()
  }

  /// Ctrl-C in `run`: the first asks, the second kills; elsewhere it only lets go.
  @Test func controlC() async throws {
    let scene = try await scene("interrupt")
    try scene.makeGate("hang")
    let polite = """
      \(scene.preamble) trap 'note asked; exit 9' TERM; note hang+; sleep 1000 & wait
      """
    let run = try scene.cluster.startOpbatch(["run", "--", "sh", "-c", polite])
    try await eventually("it runs", details: { run.error }) { scene.trace.contains("hang+") }
    run.signal(SIGINT)
    let asked = try await run.ended()
    #expect(asked == 9, "\(run.error)")
    #expect(scene.trace == ["hang+", "asked"])
    let deaf = "\(scene.preamble) trap '' TERM; note deaf; gate hang"
    let stubborn = try scene.cluster.startOpbatch(["run", "--", "sh", "-c", deaf])
    try await eventually("it runs") { scene.trace.filter { $0 == "hang+" }.count == 2 }
    stubborn.signal(SIGINT)
    try await eventually("it was asked") { stubborn.error.contains("Ctrl-C again") }
    let begin = ContinuousClock.now
    stubborn.signal(SIGINT)
    #expect(try await stubborn.ended() == 137, "\(stubborn.error)")
    let time = ContinuousClock.now - begin
    #expect(time < .seconds(15), "\(time): the grace of the first is 20 s")
    #expect(!scene.lines.contains { isAlive($0.process) })
    // `wait` only lets go.
    let members = try await scene.submit { try $0.add("x", .gate) }
    let waiting = try scene.cluster.startOpbatch(["wait", "\(members.graph.number)"])
    try await scene.traced("x+")
    try await eventually("wait handles signals") { waiting.catches(SIGINT) }
    waiting.signal(SIGINT)
    #expect(try await waiting.ended() == 130)
    #expect(waiting.error.contains("opbatch cancel \(members.graph.number)"))
    try scene.open("x")
    try await scene.ended(members)
    #expect(try await scene.row(members["x"]).outcome == .succeeded)
  }

  private static let script = "/usr/bin/script"

  /// On a terminal what is left takes the place of `^C`, and no code is shown as text.
  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: script)))
  func controlCOnATerminal() async throws {
    let scene = try await scene("letting-go")
    let members = try await scene.submit { try $0.add("x", .gate) }
    try await scene.traced("x+")
    let command = "exec \(try Cluster.executable("opbatch")) wait \(members.graph.number)"
    let terminal = try ChildProgram(
      "letting-go", Self.script, ["-qec", command, "/dev/null"],
      environment: [
        "OPBATCH_COORDINATOR=\(scene.cluster.address)", "TERM=xterm", "LANG=C.UTF-8", "HOME=/",
        "PATH=/usr/bin:/bin", "SHELL=/bin/sh",
      ], folder: scene.folder, input: "/dev/null")
    let task = "/proc/\(terminal.process)/task/\(terminal.process)/children"
    try await eventually("wait handles signals", details: { terminal.output }) {
      text(of: task).split(separator: " ").compactMap { pid_t($0) }.contains {
        text(of: "/proc/\($0)/comm") == "opbatch\n" && blocks(SIGINT, in: $0)
          && kill($0, SIGINT) == 0
      }
    }
    #expect(try await terminal.ended() == 130, "\(terminal.output)")
    #expect(
      terminal.output.hasPrefix("\r\u{1b}[Kleft \(members.graph.number), which goes on"),
      "\(terminal.output.debugDescription)")
    try scene.open("x")
    try await scene.ended(members)
  }

  /// `run` says why nothing starts, once and by the number of its graph; a time that is up before
  /// anything ran ends it, too.
  @Test func runSaysWhyNothingStarts() async throws {
    let cluster = try await scene("no-start").cluster
    let run = try await cluster.opbatch("run", "--cpus", "5000", "--timeout", "10s", "--", "true")
    #expect(run.status == 124, "\(run.error)")
    #expect(run.error.contains("/run waits: no connected worker can run it"), "\(run.error)")
    #expect(run.error.split(separator: "/run waits").count == 2)
    #expect(run.error.contains("the time is up; cancelling"))
    #expect(!run.error.contains("Ctrl-C"))
  }

  @Test func programsSayTheirNames() async throws {
    let cluster = try await scene("versions").cluster
    for name in ["opcoord", "opworker", "opbatch"] {
      let program = try cluster.startClient(name, ["--version"])
      #expect(try await program.ended() == 0)
      #expect(program.output == "\(name) \(Build.version)\n")
    }
  }

  /// Without a cluster, `run` starts one of its own and ends it.
  @Test func runWithoutAClusterHasItsOwn() async throws {
    let scene = try await scene("embedded")
    let run = try await scene.cluster.opbatch(
      "run", "--", "sh", "-c", "echo alone; exit 4", variables: ["X=1"])
    #expect(run.status == 4, "\(run.error)")
    #expect(run.output == "alone\n")
    #expect(run.error.contains("no cluster is configured"))
  }
}

extension ChildProgram {
  /// Whether it has taken over a signal, by blocking it for a descriptor of its own.
  func catches(_ signal: Int32) -> Bool { blocks(signal, in: process) }
}

private func blocks(_ signal: Int32, in process: pid_t) -> Bool {
  let lines = text(of: "/proc/\(process)/status").split(separator: "\n")
  guard let line = lines.first(where: { $0.hasPrefix("SigBlk:") }) else { return false }
  let mask = UInt64(line.dropFirst(7).filter { !$0.isWhitespace }, radix: 16) ?? 0
  return mask & (1 << UInt64(signal - 1)) != 0
}
