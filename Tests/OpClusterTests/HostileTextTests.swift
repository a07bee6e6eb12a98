// What others wrote cannot steer the terminal of who reads it (G38, F58): control characters of
// both sets, codes of colours and line ends go through the output of every command, with a real
// cluster that holds them as names, labels, reasons, commands and logs.

import Citations
import FoundationEssentials
import OpClusterClient
import OpClusterModel
import OpClusterWire
import RealCluster
import Testing

/// Titles, clearing, a colour that no command uses, C1, reading direction, a line of its own.
private let evil =
  "x\u{1b}]0;t\u{7}\u{1b}[2J\u{1b}[35mp\u{9b}31m\u{202e}r\u{2066}\u{7f}\u{2028}\r\nINJECTED \u{8}"

/// What a command printed.
private struct Said {
  var what: String
  var text: String

  /// The scalars that should not be there, and lines that others began.
  func problems(colours: Bool) -> [String] {
    var text = text
    if colours {
      for code in ["0", "1", "2", "31", "32", "33", "36", "1;31", "1;33"] {
        text = text.replacing("\u{1b}[\(code)m", with: "")
      }
    }
    var problems: [String] = []
    for scalar in text.unicodeScalars where scalar.canSteerTerminal && scalar != "\n" {
      problems.append("\(what): U+\(String(scalar.value, radix: 16))")
    }
    if text.split(separator: "\n").contains(where: { $0.hasPrefix("INJECTED") }) {
      problems.append("\(what): a line of somebody else's")
    }
    return problems
  }
}

@Suite(.checks("G38")) struct HostileTextTests {
  @Test func everyCommandNeutralises() async throws {
    let shape = Cluster.Shape(workers: 1, workerFlags: [["--label", "evil=\(evil)"]])
    try await Cluster.with(shape) { cluster in
      let scene = try await Scene("hostile", on: cluster)
      let graph = try await Self.hostileGraph(scene)
      let places = try Self.hostileFiles(scene.folder)
      var problems: [String] = []
      for colours in [false, true] {
        // JSON is the same with and without.
        let all = Self.commands(graph: graph.number) + places
        for arguments in all where !colours || !arguments.contains("-o") {
          let color = ["--color", colours ? "always" : "never"]
          let program = try cluster.startOpbatch(arguments + color)
          let status = try await program.ended()
          #expect(status != 70, "\(arguments): \(program.error)")
          let said = Said(what: "\(arguments)", text: program.output + program.error)
          // A list of names may be empty.
          let isList = arguments.contains("name") || arguments.first == "story"
          #expect(isList || !said.text.isEmpty, "\(arguments) says nothing")
          problems += said.problems(colours: colours)
        }
      }
      #expect(problems == [])
    }
  }

  /// A log into a pipe is what was written, byte for byte; with the names of the operations in
  /// front of its lines, too.
  @Test func logsIntoAPipeAreExact() async throws {
    try await Cluster.with(Cluster.Shape(workers: 1)) { cluster in
      let scene = try await Scene("exact", on: cluster)
      let path = "\(scene.folder)/bytes"
      try RealCluster.write(evil + "\n", to: path)
      let members = try await scene.submit { try $0.add("a", .shell("cat '\(path)'")) }
      try await scene.ended(members)
      let said = try await cluster.opbatch("logs", "\(members.graph.number)/a")
      #expect(said.output == evil + "\n")
    }
  }

  private static let script = "/usr/bin/script"

  /// On a terminal logs are made visible, too; colours are those of the commands.
  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: script)))
  func logsOnATerminal() async throws {
    let shape = Cluster.Shape(workers: 1, workerFlags: [["--label", "evil=\(evil)"]])
    try await Cluster.with(shape) { cluster in
      let scene = try await Scene("terminal", on: cluster)
      let graph = try await Self.hostileGraph(scene).number
      let opbatch = try Cluster.executable("opbatch")
      var problems: [String] = []
      for arguments in [
        "logs '\(graph)/ok*'", "logs '\(graph)'", "show '\(graph)/fails'",
      ] {
        let program = try ChildProgram(
          "script", Self.script, ["-qec", "\(opbatch) \(arguments)", "/dev/null"],
          environment: [
            "OPBATCH_COORDINATOR=\(cluster.address)", "TERM=xterm", "LANG=C.UTF-8", "HOME=/",
            "PATH=/usr/bin:/bin", "SHELL=/bin/sh",
          ], folder: scene.folder, input: "/dev/null")
        try await program.ended()
        // The terminal itself makes two characters of a line end.
        let text = program.output.replacing("\r\n", with: "\n")
        #expect(text.contains("\\x1b]0;t\\x07"), "\(arguments): \(text.debugDescription)")
        var said = Said(what: "\(arguments)", text: text)
        // A log is lines: one that looks like another is what was written there.
        if arguments.hasPrefix("logs") { said.text.replace("\nINJECTED", with: "\n") }
        problems += said.problems(colours: true)
        try FileManager.default.removeItem(atPath: program.outputPath)
      }
      #expect(problems == [])
    }
  }

  /// The daemons: their settings, their logs, the export of a journal.
  @Test func daemonsNeutralise() async throws {
    try await Cluster.with(Cluster.Shape(workers: 1)) { cluster in
      let scene = try await Scene("daemons", on: cluster)
      _ = try await Self.hostileGraph(scene)
      var problems: [String] = []
      for arguments in [
        ["journal", "export", "--state", "\(cluster.folder)/state"],
        ["journal", "verify", "--state", "/nonexistent/\(evil)"],
        ["serve", "--allow-root", "--client", "tcp://\(evil)"],
        ["config", "show", "--origin", "--state", evil],
        ["config", "show", "-o", "json", "--state", evil],
      ] {
        let program = try cluster.startClient("opcoord", arguments)
        try await program.ended()
        let said = Said(what: "opcoord \(arguments)", text: program.output + program.error)
        #expect(!said.text.isEmpty, "\(arguments)")
        problems += said.problems(colours: false)
      }
      let worker = try cluster.startClient(
        "opworker", ["serve", "--allow-root", "--coordinator", "ipc:///\(evil)"])
      try await worker.ended()
      for name in ["opcoord", "w1"] {
        let text = try #require(cluster.daemon(name)).error
        problems += Said(what: "log of \(name)", text: text).problems(colours: false)
      }
      problems += Said(what: "opworker", text: worker.error).problems(colours: false)
      #expect(problems == [])
    }
  }

  // MARK: - What is hostile

  /// A graph in which everything that may be any text is hostile; one operation runs still. Names
  /// and labels may not be any text: the coordinator refuses them (AdmissionOfNames).
  private static func hostileGraph(_ scene: Scene) async throws -> GraphID {
    let members = try await scene.submit { plan in
      plan.submission.origin = evil
      try plan.add("ok", .shell("printf '%s\\n' '\(evil)'; echo v=1 >> \"$OP_OUTPUT\""))
      try plan.add("fails", .shell("printf '%s\\n' '\(evil)' >&2; exit 3"))
      try plan.add("cancelled", .nothing, after: ["fails"], when: .succeeded)
      try plan.add("waits", .mark, demand: .solo)
    }
    try await scene.finished(members["ok"], members["fails"])
    let reply = try await scene.connection.request(
      .cancel(.operations([members["cancelled"]]), reason: evil, grace: nil))
    guard case .cancelled = reply else { throw Trouble("\(reply)") }
    return members.graph
  }

  /// Commands about files whose names and contents are hostile.
  private static func hostileFiles(_ folder: String) throws -> [[String]] {
    let name = "\(folder)/\(evil.replacing("/", with: ""))"
    let escapes = "x\\e]0;t\\a\\e[2J\\x9b31m\\u202er\\r\\nINJECTED"
    let manifests = [
      "version: 1\noperations:\n  \"\(escapes)\": {run: a}\n",
      "version: 1\n\"\(escapes)\": 1\noperations:\n  a: {run: a, needs: \"\(escapes)\"}\n",
      "version: 1\nname: \"\(escapes)\"\noperations:\n  a: {run: a, queue: \"\(escapes)\"}\n",
      "version: 1\noperations:\n  a: {run: \"${{ \(escapes) }}\", retries: \"\(escapes)\"}\n",
      "version: 1\noperations: {a: {run: \u{9b}31m\u{202e}\u{7f}}}\n", "\u{1b}[2J: [",
    ]
    var commands: [[String]] = [["check", "\(name).none"], ["submit", "\(name).none"]]
    // What stands in a file of another system is told with its words.
    for format in ["dagman", "ninja", "hq", "makeflow"] {
      let path = "\(name).\(format)"
      try RealCluster.write("\(evil)\n\(evil): $x\n", to: path)
      commands.append(["import", format, path])
    }
    for (number, manifest) in manifests.enumerated() {
      let path = "\(name)\(number)"
      try RealCluster.write(manifest, to: path)
      commands += [["check", path], ["submit", path, "-o", "json"]]
    }
    return commands
  }

  /// Every command that shows what others wrote, and each with a hostile argument.
  private static func commands(graph: UInt32) -> [[String]] {
    let graph = "\(graph)"
    var commands: [[String]] = []
    for format in ["table", "json", "name"] {
      for command in [
        ["ls", "-a"], ["ls", graph], ["ls", graph, "--state", "failed"], ["show", graph],
        ["show", "\(graph)/ok*"], ["show", "\(graph)/fails*"], ["why", "\(graph)/waits*"],
        ["why", "\(graph)/cancelled*"], ["story", "\(graph)/fails*"], ["worker", "ls"],
        ["stats", graph],
        ["worker", "show", "w1"], ["queue", "ls"],
        ["status"], ["doctor"], ["ping"], ["config", "show", "--origin"],
      ] { commands.append(command + ["-o", format]) }
    }
    for format in ["text", "dot", "mermaid", "json", "svg"] {
      commands.append(["graph", graph, "--format", format])
    }
    for format in ["chrome", "otlp"] { commands.append(["trace", graph, "--format", format]) }
    commands += [["top"], ["report", graph], ["alloc", "ls"], ["alloc", "ls", "-o", "json"]]
    commands += [
      ["events", graph], ["events", graph, "-o", "jsonl"], ["wait", graph, "--timeout", "0.2s"],
      ["watch", graph, "--timeout", "0.2s"], ["logs", "\(graph)/none"],
      ["hold", "\(graph)/waits*"], ["release", "\(graph)/waits*"],
      ["set", "\(graph)/waits*", "--priority", "high"],
      ["cancel", "\(graph)/cancelled*"], ["retry", graph, "--failed"],
    ]
    for command in [
      ["ls"], ["show"], ["why"], ["logs"], ["events"], ["graph"], ["wait"], ["watch"], ["cancel"],
      ["retry"], ["hold"], ["worker", "show"], ["worker", "drain"], ["worker", "forget"],
      ["alloc", "add"], ["alloc", "rm"], ["alloc", "start"], ["alloc", "log"],
      ["rm"], ["queue", "show"],
      ["queue", "create"], ["queue", "suspend"], ["completion"], [],
    ] { commands.append(command + [evil]) }
    commands += [
      ["ls", "--coordinator", evil], ["ls", "--coordinator", "ipc:///tmp/" + evil],
      ["ls", "--state", evil], ["ls", "--timeout", evil], ["ls", "--name", evil],
      ["ls", "--user", evil], ["ls", evil, "--user", "x"],
      ["run", "--call", evil, "--timeout", "0.2s"],
      ["map", "--halt", evil, "true", ":::", "1"], ["map", "--" + evil, "true"],
      ["map", "-j", evil, "true", ":::", "1"], ["map", "true", "::::", "/nonexistent/" + evil],
      ["map", "--halt", "now,fail=1", "exit 1; " + evil, ":::", "1"],
      ["ls", "-l", "k=" + evil], ["import", "wfformat", "/nonexistent/" + evil],
      ["import", "dagman", "/nonexistent/" + evil], ["import", "hq", "/nonexistent/" + evil],
      ["import", "ninja", "/nonexistent/" + evil, evil],
      ["import", "makeflow", "/nonexistent/" + evil, "--inherit", evil],
    ]
    return commands
  }
}
