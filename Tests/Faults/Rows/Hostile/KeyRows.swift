// F47: who has a wrong key, an unknown one, one that was removed, or one of another role, meets the
// real commands over TCP: the message says which it was, the exit code is 77, and it takes 3 s at
// most.

import FoundationEssentials
import Glibc
import RealCluster

let keyRow = FaultRow(
  number: "F47", name: "wrong, unknown and removed keys, wrong roles", promise: "G35 G36 G37 A6",
  injection: "each by opbatch and opworker as people start them", isShort: true, run: wrongKeys)

/// People and machines with a folder of keys each.
private struct People: Sendable {
  let cluster: Cluster
  let trial: Trial
  private let number = Counter()
  let times = Stopwatch()

  init(_ cluster: Cluster, _ trial: Trial) {
    self.cluster = cluster
    self.trial = trial
  }

  private func folder(_ name: String) -> String { "\(cluster.folder)/keys-\(name)" }

  func run(
    _ program: String, _ arguments: [String], keys name: String? = nil
  ) async throws -> (status: Int32, output: String, error: String, seconds: Double) {
    let start = Moment.now
    let child = try self.start(program, arguments, keys: name)
    let status = try await child.ended()
    return (status, child.output, child.error, Moment.now.seconds(since: start))
  }

  func start(
    _ program: String, _ arguments: [String], keys name: String? = nil
  ) throws -> ChildProgram {
    let keys = name.map(folder) ?? cluster.keys ?? ""
    return try ChildProgram(
      "p\(number.next())", Cluster.executable(program), arguments,
      environment: cluster.environment + [
        "OPBATCH_COORDINATOR=\(cluster.address)", "OPBATCH_KEYS=\(keys)", "OPWORKER_KEYS=\(keys)",
        "OPCOORD_KEYS=\(cluster.keys ?? "")",
      ], folder: cluster.folder, input: "/dev/null")
  }

  /// Makes a key; its public part.
  func make(_ name: String, server: String) async throws -> String {
    let made = try await run("opbatch", ["key", "new", name, "--server", server], keys: name)
    guard made.status == 0,
      let line = made.output.split(separator: "\n").first(where: { $0.hasPrefix("public") }),
      let key = line.split(separator: " ").last
    else { throw Trouble("key new: \(made.status) \(made.error)") }
    return String(key)
  }

  func opcoord(_ arguments: [String]) async throws -> String {
    let result = try await run("opcoord", arguments)
    guard result.status == 0 else { throw Trouble("opcoord \(arguments): \(result.error)") }
    return result.output.split(separator: "\n").last.map(String.init) ?? ""
  }

  /// The worker command, as somebody would start it.
  func serving(_ name: String, scratch: String) -> [String] {
    [
      "serve", "--allow-root", "--coordinator", cluster.workerAddress,
      "--name", name, "--scratch", "\(cluster.folder)/scratch-\(scratch)",
    ]
  }

  /// The command is refused as it should be.
  func expectRefusal(
    _ what: String, _ program: String, _ arguments: [String], keys: String, saying words: [String]
  ) async throws {
    let result = try await run(program, arguments, keys: keys)
    trial.injected(what)
    let line = "\(program) \(arguments.prefix(3).joined(separator: " ")) with \(what)"
    // `run -- COMMAND` keeps 77 for the command's own status, as it does everything below 124.
    let expected: Int32 = arguments.starts(with: ["run", "--"]) ? 125 : 77
    trial.expect(
      result.status == expected, "G36: \(line) ended with \(result.status): \(result.error)")
    trial.expect(
      result.seconds <= trial.scale.time(3),
      "F47: \(line) took \(Moment.text(result.seconds)) s")
    for word in words where !result.error.contains(word) {
      trial.broken("F47: \(line) does not say '\(word)': \(result.error)")
    }
    times.add(result.seconds)
  }
}

/// F47
private func wrongKeys(_ trial: Trial) async throws {
  var shape = try trial.keyedShape(workers: 1)
  // A worker whose key is removed keeps what it has until it is lost.
  shape.workerFlags = [["--resource", "honest=1000"]]
  try await Cluster.with(shape) { cluster in
    let people = People(cluster, trial)
    let server = try await people.opcoord(["key", "show"])
    let manifest = "\(cluster.folder)/one.yaml"
    try write("version: 1\noperations:\n  a: {run: \"true\"}\n", to: manifest)
    try await trial.withBystanders(cluster, limit: 5, resource: "honest") {
      try await unknownKeys(people, server)
      try await roles(people, server, manifest)
      try await removedKeys(people, server)
    }
    trial.note("a refused command took \(people.times.series.text) from its start to its end")
    let malformed = try await cluster.malformedCount()
    trial.expect(malformed == 0, "G33: \(malformed) messages were not understood")
  }
}

/// Keys that no list has, and keys for another coordinator.
private func unknownKeys(_ people: People, _ server: String) async throws {
  let stranger = try await people.make("stranger", server: server)
  // Anybody's public key will do as that of another coordinator.
  _ = try await people.make("lost", server: stranger)
  for (name, what, words) in [
    ("stranger", "an unknown key", ["does not let in the key 'stranger'"]),
    ("lost", "a wrong server key", ["it has another key"]),
  ] {
    for command in people.trial.scale.isShort ? [["ping"]] : [["ping"], ["ls"], ["events", "-f"]] {
      try await people.expectRefusal(what, "opbatch", command, keys: name, saying: words)
    }
    try await people.expectRefusal(
      what, "opworker", people.serving(name, scratch: name), keys: name,
      saying: [name == "lost" ? "another key" : "does not let in"])
  }
}

/// Every role against everything that it may not do.
private func roles(_ people: People, _ server: String, _ manifest: String) async throws {
  for role in ["worker", "observer", "submitter"] {
    let key = try await people.make(role, server: server)
    _ = try await people.opcoord(["key", "add", role, role, "--", key])
  }
  for reader in ["observer", "submitter"] {
    try await eventually("\(reader) is let in") {
      try await people.run("opbatch", ["ping"], keys: reader).status == 0
    }
  }
  let queued = try await people.run(
    "opbatch", ["queue", "create", "theirs"], keys: "submitter")
  guard queued.status == 0 else { throw Trouble("queue create: \(queued.error)") }
  let held = "\(manifest).held"
  try write("version: 1\noperations:\n  a: {run: \"sleep 60\"}\n", to: held)
  let made = try await people.run("opbatch", ["submit", held, "-o", "name"], keys: "submitter")
  let graph = made.output.split(separator: "\n").first.map(String.init) ?? "1"
  guard made.status == 0 else { throw Trouble("submit: \(made.error)") }
  var steering = [
    ["submit", manifest], ["run", "--", "true"], ["cancel", graph], ["suspend", graph],
    ["resume", graph], ["hold", "\(graph)/a"], ["release", "\(graph)/a"],
    ["set", "\(graph)/a", "priority=high"], ["queue", "create", "q"],
    ["queue", "rm", "theirs"], ["queue", "suspend", "theirs"], ["queue", "resume", "theirs"],
  ]
  if people.trial.scale.isShort { steering = [["submit", manifest], ["cancel", graph]] }
  for command in steering {
    try await people.expectRefusal(
      "an observer's key", "opbatch", command, keys: "observer",
      saying: ["has the role observer and may not submit or change anything"])
  }
  let reading = people.trial.scale.isShort ? [["ls"]] : [["ls"], ["ping"], ["submit", manifest]]
  for command in reading {
    try await people.expectRefusal(
      "a worker's key", "opbatch", command, keys: "worker",
      saying: ["has the role worker and may not"])
  }
  for reader in ["observer", "submitter"] {
    try await people.expectRefusal(
      "the key of a client", "opbatch", ["worker", "drain", "w1"], keys: reader,
      saying: ["may not drain workers"])
    try await people.expectRefusal(
      "the key of a client", "opworker", people.serving(reader, scratch: reader), keys: reader,
      saying: ["has the role \(reader) and may not serve as a worker"])
  }
  try await people.expectRefusal(
    "a worker's key under another name", "opworker", people.serving("other", scratch: "other"),
    keys: "worker", saying: ["is not for a worker of this name"])
  let row = try await people.run("opbatch", ["ls", graph, "-o", "json"], keys: "observer")
  people.trial.expect(
    row.status == 0 && row.output.contains("\"state\":\"executing\""),
    "G36: \(graph) was changed: \(row)")
}

/// Live sessions of keys that are removed, and those who come again.
private func removedKeys(_ people: People, _ server: String) async throws {
  let follower = try people.start("opbatch", ["events", "-f", "-o", "jsonl"], keys: "observer")
  let worker = try people.start(
    "opworker", people.serving("worker", scratch: "worker"), keys: "worker")
  try await eventually("both are served", details: { follower.error + worker.error }) {
    follower.output.contains("caught_up") && worker.output.contains("serving")
  }
  for (name, child) in [("observer", follower), ("worker", worker)] {
    _ = try await people.opcoord(["key", "rm", name])
    let start = Moment.now
    let status = try await child.ended(within: .seconds(30))
    let seconds = Moment.now.seconds(since: start)
    people.trial.injected("removed key of a live session")
    people.trial.note("the live session of the \(name) ended after \(Moment.text(seconds)) s")
    people.trial.expect(status == 77, "G37: the \(name) ended with \(status): \(child.error)")
    // By the farewell, which names the key, or by the door that it knocks at when that was lost.
    people.trial.expect(
      child.error.contains("was removed"), "G37: the \(name) says: \(child.error)")
    people.trial.expect(seconds <= people.trial.scale.time(5), "G37: it took \(seconds) s")
  }
  try await people.expectRefusal(
    "a removed key", "opbatch", ["ping"], keys: "observer",
    saying: ["does not let in the key 'observer'"])
  try await people.expectRefusal(
    "a removed key", "opworker", people.serving("worker", scratch: "again"), keys: "worker",
    saying: ["does not let in"])
  _ = try await people.run("opbatch", ["cancel", "all"])
}
