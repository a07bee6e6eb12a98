// F58: names, variables and paths that mean harm, through the real commands and past them: nothing
// lies outside the roots afterwards, nothing that could steer a terminal is printed. And manifests
// that unfold without end (issue 4, section 6), against opbatch check and submit.

import FoundationEssentials
import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster

let injectionRow = FaultRow(
  number: "F58", name: "injection list", promise: "G33 G38",
  injection: "names ../../x, NUL, $(…), line ends, ANSI; LD_PRELOAD, PATH=.; outputs through links "
    + "and /proc; manifests that unfold without end", isShort: true, run: injections)

private struct Injector: Sendable {
  let trial: Trial
  let cluster: Cluster
  /// Where nothing may appear.
  let outside: String
  /// The name of a file that only this row could have made, wherever it appears.
  let mark: String

  /// What harms if anybody believes it.
  var names: [String] {
    [
      "../../\(mark)", "/\(outside)/x", "a\u{0}b", "$(touch \(outside)/x)", "`touch \(outside)/x`",
      "x; touch \(outside)/x", "x\ny", "\u{1b}[2Jx", "\u{9b}31mx", "\u{202e}x", "-rf", "", " ",
      "x\u{1b}]0;t\u{7}", String(repeating: "n", count: 129),
    ]
  }

  /// The log of a graph as it comes to a terminal: into a pipe or a file it goes as it was written.
  func showLog(of graph: GraphID, _ name: String) async throws {
    guard let script = Surroundings.program("script") else { return }
    let command = "\(try Cluster.executable("opbatch")) logs \(graph.number)"
    let child = try ChildProgram(
      "f58-\(UInt32.random(in: 0 ... .max))", script, ["-qec", command, "/dev/null"],
      environment: cluster.environment + [
        "OPBATCH_COORDINATOR=\(cluster.address)", "TERM=xterm", "NO_COLOR=1",
      ], folder: cluster.folder, input: "/dev/null")
    _ = try await child.ended(within: .seconds(60))
    trial.injected("opbatch logs on a terminal with something that means harm")
    let said = child.output.replacing("\r\n", with: "\n")
    // No environment can hold a zero byte: such an operation cannot start.
    trial.expect(
      !said.isEmpty || name.contains("\0"), "\(command) shows nothing of \(name.debugDescription)")
    let harmful = said.unicodeScalars.filter { $0.canSteerTerminal && $0 != "\n" }
    trial.expect(
      harmful.isEmpty, "G38: \(command) shows \(said.suffix(300).debugDescription)")
  }

  @discardableResult
  func run(
    _ program: String, _ arguments: [String], expecting codes: Set<Int32>? = nil
  ) async throws -> Int32 {
    let start = Moment.now
    let child = try ChildProgram(
      "f58-\(UInt32.random(in: 0 ... .max))", Cluster.executable(program), arguments,
      environment: cluster.environment + [
        "OPBATCH_COORDINATOR=\(cluster.address)", "OPCOORD_KEYS=\(cluster.keys ?? "")",
      ], folder: cluster.folder, input: "/dev/null")
    let status = try await child.ended(within: .seconds(60))
    let seconds = Moment.now.seconds(since: start)
    let shown = "\(program) \(arguments)".debugDescription.prefix(300)
    trial.injected("\(program) with something that means harm")
    trial.expect(status < 126 && status != 70, "G38: \(shown) ended with \(status)")
    if let codes, !codes.contains(status) {
      trial.broken("G38: \(shown) ended with \(status): \(child.error.suffix(300))")
    }
    trial.expect(seconds < trial.scale.time(10), "G33: \(shown) took \(Moment.text(seconds)) s")
    let said = child.output + child.error
    let harmful = said.unicodeScalars.filter { $0.canSteerTerminal && $0 != "\n" }
    trial.expect(harmful.isEmpty, "G38: \(shown) prints \(said.suffix(300).debugDescription)")
    return status
  }
}

/// F58
private func injections(_ trial: Trial) async throws {
  try await Cluster.with(trial.keyedShape(workers: 1)) { cluster in
    let outside = "\(cluster.folder)/outside"
    guard unsafe mkdir(outside, 0o700) == 0 else { throw Trouble("mkdir") }
    let injector = Injector(
      trial: trial, cluster: cluster, outside: outside,
      mark: "f58-\(UInt64.random(in: 0 ... .max))")
    try await trial.withBystanders(cluster, limit: 5) {
      try await manifests(injector)
      try await names(injector)
      try await paths(injector)
      try await bombs(injector)
    }
    let left = try FileManager.default.contentsOfDirectory(atPath: outside)
    trial.expect(left.isEmpty, "G38: files outside the roots: \(left)")
    trial.note("files outside the roots: \(left.count)")
    for name in [injector.mark, "../\(injector.mark)", "../../\(injector.mark)"] {
      trial.expect(
        !FileManager.default.fileExists(atPath: "\(cluster.folder)/scratch-w1/\(name)"),
        "G38: \(name) appeared beside the scratch folder")
    }
  }
}

/// Names and variables of manifests: refused before anything is submitted.
private func manifests(_ injector: Injector) async throws {
  func escaped(_ name: String) -> String {
    name.unicodeScalars.map { scalar in
      if scalar == "\"" || scalar == "\\" { return "\\\(scalar)" }
      let hex = String(scalar.value, radix: 16)
      let isPlain = scalar.isASCII && scalar.value >= 32 && scalar.value < 127
      return isPlain ? "\(scalar)" : "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
    }.joined()
  }
  var texts = injector.names.map { "operations: {\"\(escaped($0))\": {run: \"true\"}}" }
  texts += injector.names.map { "operations: {a: {run: \"true\", queue: \"\(escaped($0))\"}}" }
  for line in [
    "LD_PRELOAD: /tmp/x.so", "LD_AUDIT: x", "GLIBC_TUNABLES: a=b", "PATH: .", "PATH: '/bin:'",
    "PATH: 'bin:/bin'",
  ] { texts.append("env: {\(line)}\noperations: {a: {run: \"true\"}}") }
  if injector.trial.scale.isShort { texts = texts.enumerated().filter { $0.0 % 4 == 3 }.map(\.1) }
  for (number, text) in texts.enumerated() {
    let path = "\(injector.cluster.folder)/f58-\(number).yaml"
    try write("version: 1\n\(text)\n", to: path)
    try await injector.run("opbatch", ["check", path], expecting: [65])
    try await injector.run("opbatch", ["submit", path], expecting: [65])
  }
}

/// Names in arguments, and in submissions that no command has looked at.
private func names(_ injector: Injector) async throws {
  var names = injector.names.filter { !$0.contains("\u{0}") }
  if injector.trial.scale.isShort { names = Array(names.prefix(3)) }
  for name in names {
    // One of them looks like a flag, and is a name by the rule.
    try await injector.run(
      "opbatch", ["queue", "create", "--", name], expecting: name.isValidName ? [0] : [4, 5, 64])
    try await injector.run("opcoord", ["key", "add", "--", name, "worker", "k"])
    try await injector.run("opbatch", ["show", "--", name])
    if name.isValidName { continue }
    try await injector.run(
      "opworker",
      [
        "serve", "--allow-root", "--coordinator", injector.cluster.workerAddress,
        "--name=\(name)",
      ], expecting: name.isEmpty ? nil : [64, 76, 77, 78])
  }
  let connection = try await injector.cluster.reach()
  for name in injector.names {
    var graph = GraphSubmission(key: SubmissionKey(""), name: name)
    let script = CommandText("printf '%s\\n' \"$OP_NAME\"; echo k=v > \"$OP_OUTPUT\"")
    graph.templates = [
      Load.command(name, .shell(interpreter: ["/bin/sh", "-c"], text: script))
    ]
    injector.trial.injected("submission that no command has looked at")
    do throws(ClientError) {
      let reply = try await connection.request(.submit(graph), timeout: .seconds(10))
      guard case .accepted(let id, _, _) = reply else { continue }
      _ = try? await eventually("it has ended") {
        (try? await connection.graphs(.graph(id)).first?.state != .running) ?? false
      }
      if injector.trial.scale.isShort { continue }
      for command in ["show", "ls", "events", "why"] {
        _ = try? await injector.run("opbatch", [command, "\(id.number)"])
      }
      try? await injector.showLog(of: id, name)
    } catch {
      // Refused, which is as good.
    }
  }
  await connection.close()
}

/// Outputs through links, out of the folder, and into the kernel's own files.
private func paths(_ injector: Injector) async throws {
  let folder = "\(injector.cluster.folder)/work"
  guard unsafe mkdir(folder, 0o700) == 0, unsafe symlink(injector.outside, "\(folder)/link") == 0,
    unsafe symlink("\(injector.outside)/x", "\(folder)/file") == 0
  else { throw Trouble("links: \(errno)") }
  for (number, output) in [
    "link/out", "file", "../outside/out", "/proc/self/oom_score_adj", "/proc/self/environ",
    "/proc/self/fd/1",
  ].enumerated() {
    let path = "\(injector.cluster.folder)/f58-path-\(number).yaml"
    try write(
      """
      version: 1
      operations:
        a: {run: "echo harm", workdir: "\(folder)", stdout: "\(output)"}

      """, to: path)
    // A link at the very place of the output is replaced, not followed; what leads out is seen
    // before anything is submitted.
    let leadsOut = output.hasPrefix("../")
    try await injector.run(
      "opbatch", ["submit", "--wait", path], expecting: leadsOut ? [65] : [0, 1])
  }
}

/// Manifests that unfold, nest and count without end.
private func bombs(_ injector: Injector) async throws {
  var laughs = "version: 1\nx0: &x0 [a, a, a, a, a, a, a, a, a, a]\n"
  for level in 1...12 {
    let ten = Array(repeating: "*x\(level - 1)", count: 10).joined(separator: ", ")
    laughs += "x\(level): &x\(level) [\(ten)]\n"
  }
  laughs += "operations: {a: {run: \"true\", array: *x12}}\n"
  let texts = [
    laughs, "version: 1\noperations: &o {a: *o}\n",
    "version: 1\noperations: {a: {run: x, array: 0-4294967295}}\n",
    "version: 1\noperations: {a: {run: x, array: 1-4000000}, b: {run: x, array: 1-4000000}}\n",
    "version: 1\noperations: " + String(repeating: "[", count: 100_000) + "\n",
    "version: 1\noperations: " + String(repeating: "{a: ", count: 20_000) + "\n",
    "version: 1\noperations: {a: {run: x, retries: " + String(repeating: "9", count: 100_000)
      + "}}\n",
    "version: 1\noperations: {a: {run: \"" + String(repeating: "x", count: 3_000_000) + "\"}}\n",
    "version: 1\noperations: {a: {run: x, matrix: {k: [1-9999], l: [1-9999], m: 1-9999}}}\n",
    "\u{1b}[2J\u{0}: \u{9b}31m", "\u{feff}version: 1\u{2028}operations: {}\n",
    "%YAML 9.9\n---\nversion: 1\n", "!!python/object:os.system x\n",
  ]
  for (number, text) in texts.enumerated() {
    let path = "\(injector.cluster.folder)/f58-bomb-\(number).yaml"
    try write(text, to: path)
    for command in ["check", "submit"] {
      try await injector.run("opbatch", [command, path], expecting: [5, 64, 65])
    }
  }
}
