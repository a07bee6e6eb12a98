// The rows of section files: F64, F69 and F70. Hosts share no disk, workers die with theirs, and
// some cannot be connected to.

import FoundationEssentials
import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster
import Synchronization

let fileRows: [FaultRow] = [
  FaultRow(
    number: "F64", name: "workers die with their stores", promise: "G41 G42 S153",
    injection:
      "KILL of one of three workers that share no disk, its store removed, again and again",
    isShort: true, run: lostStores),
  FaultRow(
    number: "F69", name: "pictures and words on workers that die", promise: "G41 G42 S140 S153",
    injection:
      "KILL of one of three workers that share no disk, its store removed, during other work",
    isShort: true, run: lostPictures),
  FaultRow(
    number: "F70", name: "stores that nobody can connect to", promise: "G41 S154",
    injection: "packets to the port of one worker's store are dropped, then of two",
    needs: [.ownNamespaces], isShort: true, run: closedStores),
]

/// A recorded workflow whose files travel leaves the same bytes, whatever is killed meanwhile.
private func lostStores(_ trial: Trial) async throws {
  // Files of 2 GB in all; in the short form of some megabytes.
  let size = trial.scale.isShort ? 0.002 : 0.8 * trial.scale.part
  // What a second of the record takes; bytes do not depend on it.
  let time = trial.scale.isShort ? 0.01 : 0.1
  let quiet = try await Workflow.run(on: trial.shape(workers: 1), size, 0) { _, _ in }
  let shape = try apart(trial)
  let pause = trial.scale.isShort ? 1.0 : 20.0
  let start = Moment.now
  let stormy = try await Workflow.run(on: shape, size, time) { cluster, hasEnded in
    // Beside so short operations it is often that a worker dies: each does once.
    for round in 0..<(trial.scale.isShort ? 3 : .max) {
      let next = Moment.now
      while Moment.now.seconds(since: next) < pause {
        if try await hasEnded() { return }
        try await Task.sleep(for: .milliseconds(50))
      }
      try await bury("w\(round % 3 + 1)", cluster, trial)
    }
  }
  trial.note("\(Moment.text(Moment.now.seconds(since: start))) s")
  trial.note("\(stormy.again) operations ran again")
  trial.expect(
    stormy.outcome == "succeeded",
    "the graph has \(stormy.outcome): \(Array(stormy.failures.reversed()))")
  trial.expect(
    stormy.files == quiet.files && quiet.files.count > 50,
    "of \(quiet.files.count) files \(Set(quiet.files).subtracting(stormy.files).count) are others")
}

/// Three workers, each with a network of its own where that is possible.
private func apart(_ trial: Trial) throws -> Cluster.Shape {
  if Surroundings.hasOwnMounts, Surroundings.program("ip") != nil {
    trial.note("each daemon has a network namespace of its own")
    return try Hosts(workers: 3).shape(of: trial)
  }
  trial.note("the workers share one network: namespaces need root")
  return trial.shape(workers: 3)
}

/// Kills a worker, removes all that it had, and starts it again.
private func bury(_ worker: String, _ cluster: Cluster, _ trial: Trial) async throws {
  try await cluster.kill(worker)
  // What it ran may still write while it is being ended.
  try await eventually("the folder of \(worker) is gone") {
    try? FileManager.default.removeItem(atPath: "\(cluster.folder)/scratch-\(worker)")
    return !FileManager.default.fileExists(atPath: "\(cluster.folder)/scratch-\(worker)")
  }
  trial.injected("worker killed, its store removed")
  try cluster.startWorker(worker)
}

/// F69: the pictures of the example go along as values, words as files; what comes out has the
/// bytes of a run in which nobody dies.
private func lostPictures(_ trial: Trial) async throws {
  let sources = tests.dropLast() + ["deploy", "examples"]
  let examples = sources.joined(separator: "/")
  // Of the submitter, whose file a store may lose before a second one has it; in the short form of
  // an operation, so that it can be made again.
  let (text, read, path) =
    trial.scale.isShort
    ? (
      "text: {run: seq -s ' ' 90000 > text, outputs: {files: {text: text}}}",
      "needs: {text: {files: [text]}}", "text/text"
    )
    : ("text: {run: 'true'}", "inputs: {text: text}", "text")
  let words = """
    version: 1
    name: words
    defaults: {replicas: 2}
    operations:
      \(text)
      count:
        array: 1-8
        \(read)
        shell: bash
        run: |
          tr ' ' '\\n' < "$OP_INPUTS/\(path)" | awk -v n=$OP_INDEX 'NR % 8 == n % 8' \\
            | LC_ALL=C sort | uniq -c > counts && sleep 0.5
        outputs: {files: {counts: counts}}
      merge:
        needs: {count: {files: [counts]}}
        shell: bash
        run: |
          cat "$OP_INPUTS"/count/*/counts | awk '{n[$2] += $1} END {for (w in n) print w, n[w]}' \\
            | LC_ALL=C sort > merged
        outputs: {files: {merged: merged}}

    """
  /// What comes out: the pictures, and the words.
  @Sendable func run(_ cluster: Cluster, _ number: Int) async throws -> [String: Data] {
    let folder = "\(cluster.folder)/run-\(number)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    try words.write(toFile: "\(folder)/words.yaml", atomically: false, encoding: .utf8)
    let text = (1...60_000).map { "\($0 * $0 % 997) \($0 % 13)" }.joined(separator: " ")
    try text.write(toFile: "\(folder)/text", atomically: false, encoding: .utf8)
    let submits = try [
      ["\(folder)/words.yaml"],
      [
        "\(examples)/images.yaml", "-p", "source=\(examples)/images", "-p", "output=\(folder)",
      ],
    ].map { try cluster.startOpbatch(["submit", "--wait", "-o", "name"] + $0) }
    for submit in submits {
      let status = try await submit.ended(within: .seconds(300))
      if submit.error.contains("it is a file of the submitter") {
        // Its only store died before the second one had it: that is not promised, but told.
        trial.note("run \(number) is done again: its text was lost")
        try FileManager.default.removeItem(atPath: folder)
        return try await run(cluster, number)
      }
      trial.expect(status == 0, "S153: \(status) \(submit.output) \(submit.error)")
    }
    let graph = submits[0].output.filter { $0.isNumber }
    try await cluster.call("fetch", "\(graph)/merge", "-o", "\(folder)/merged")
    var found: [String: Data] = [:]
    for name in ["1.png", "2.png", "3.png", "contact-sheet.png", "merged"] {
      found[name] = FileManager.default.contents(atPath: "\(folder)/\(name)")
    }
    return found
  }
  var quiet = trial.shape(workers: 1)
  quiet.program = "opexampleworker"
  var wanted: [String: Data] = [:]
  try await Cluster.with(quiet) { wanted = try await run($0, 0) }
  trial.expect(wanted.count == 5, "a quiet run leaves \(wanted.keys.sorted())")
  var shape = try apart(trial)
  shape.program = "opexampleworker"
  let rounds = trial.scale.count(40, short: 1)
  try await Cluster.with(shape) { [wanted] cluster in
    let end = Flag()
    let killer = Task {
      for round in 0... where !end.isSet {
        let pause = trial.scale.isShort ? 1.0 : 10
        let start = Moment.now
        while Moment.now.seconds(since: start) < pause {
          if end.isSet { return }
          try await Task.sleep(for: .milliseconds(50))
        }
        if trial.scale.isShort, round > 0 { return }
        try await bury("w\(round % 3 + 1)", cluster, trial)
      }
    }
    for round in 0..<rounds {
      let found = try await run(cluster, round)
      let others = wanted.filter { found[$0.key] != $0.value }.keys.sorted()
      trial.expect(others.isEmpty, "G41: \(others) have other bytes in run \(round)")
    }
    end.set()
    try await killer.value
  }
}

private final class Flag: Sendable {
  private let value = Atomic<Bool>(false)
  var isSet: Bool { value.load(ordering: .relaxed) }
  func set() { value.store(true, ordering: .relaxed) }
}

private let tests = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)

/// What a run of the workflow came to.
private struct Workflow {
  var outcome: String
  /// Operation, name and digest of each file.
  var files: [String]
  /// The graphs in which an operation ran again.
  var again: Int
  /// What is said of operations that failed.
  var failures: [String]

  /// Hands the cluster over until the graph has ended.
  static func run(
    on shape: Cluster.Shape, _ size: Double, _ time: Double,
    _ body: @escaping @Sendable (Cluster, () async throws -> Bool) async throws -> Void
  ) async throws -> Workflow {
    var result: Workflow?
    try await Cluster.with(shape) { cluster in
      try await cluster.call(
        "import", "wfformat", "--declare-files", "--size-scale", "\(size)", "--time-scale",
        "\(time)", trace, "-o", "\(cluster.folder)/graph.yaml")
      try await cluster.call("submit", "\(cluster.folder)/graph.yaml")
      let connection = try await cluster.reach()
      func state() async throws -> GraphRow.State? {
        try await connection.graphs(.graph(GraphID(1))).first?.state
      }
      try await body(cluster) { try await state().map { $0 != .running } ?? false }
      try await eventually("the workflow ends", within: .seconds(1_800)) {
        try await state().map { $0 != .running } ?? false
      }
      let graphs = try await connection.graphs(Selection(graphs: .all))
      let listed = try await cluster.call("files", "1", "-o", "jsonl")
      let failed = try await connection.operations(Selection(graphs: .all)).filter {
        $0.outcome != .succeeded && $0.outcome != .skipped
      }
      result = Workflow(
        outcome: try await state().map { "\($0)" } ?? "gone",
        files: listed.split(separator: "\n").map { line in
          // Who has it differs.
          let end = line.firstRange(of: #","workers":"#)?.lowerBound ?? line.endIndex
          return String(line[..<end])
        }.sorted(),
        again: graphs.count - 1,
        failures: failed.map { row in
          let reason = row.result.map { "\($0.cause) \($0.diagnostic)" } ?? ""
          return "\(row.id.numbered) \(row.name) \(row.state.rawValue): \(reason)"
        })
    }
    guard let result else { throw Trouble("the workflow did not run") }
    return result
  }

  /// A recorded run of 52 tasks, whose largest files have a gigabyte.
  private static var trace: String {
    return tests.joined(separator: "/")
      + "/OpClusterManifestTests/Fixtures/1000genome-chameleon-2ch-100k-001.json"
  }
}

extension Cluster {
  @discardableResult
  fileprivate func call(_ words: String...) async throws -> String {
    let program = try startOpbatch(words)
    let status = try await program.ended()
    if status != 0 { throw Trouble("opbatch \(words[0]): \(status), \(program.error)") }
    return program.output
  }
}

/// F70: what one worker left comes to another that cannot connect to it.
private func closedStores(_ trial: Trial) async throws {
  let hosts = Hosts(workers: 3)
  var shape = try hosts.shape(of: trial)
  let port: UInt16 = 7_000
  shape.workerFlags = [[String]](repeating: ["--store-address", "tcp://*:\(port)"], count: 3)
  let lines = trial.scale.isShort ? 200_000 : 20_000_000
  // So slow that it is seen on its way.
  shape.workerFlags[0] += ["--upload-limit", "\(lines * 2)"]
  try await Cluster.with(shape) { cluster in
    // A refusal takes no time; a packet that is dropped takes the patience of those who wait.
    for (round, closed) in ["w1", "w1", "w2", "w2"].enumerated() {
      if round % 2 == 0 {
        try await hosts.close(port: port, of: closed, isSilent: !trial.scale.isShort)
        trial.injected("packets to the store of \(closed) are dropped")
      }
      let start = Moment.now
      let why = try await carry(lines + round, round, on: cluster, trial)
      let seconds = Moment.now.seconds(since: start)
      trial.note("round \(round + 1): \(Moment.text(seconds)) s, \(why.count) ways seen")
      // Of each kind the first search takes its time; from then on it is known.
      if round % 2 == 0 {
        trial.expect(
          why.contains { $0.contains("cannot connect to who has it") },
          "S154: round \(round + 1): nobody said how the file comes: \(why)")
      } else if closed == "w2" {
        trial.expect(
          !why.contains { $0.contains("w1 sends it there") },
          "S154: round \(round + 1): what is known to fail was tried again: \(why)")
      }
    }
    try await fetchFromClosed(lines, on: cluster, trial)
  }
}

/// A program that reads what `w1` has connects to it as little as others do.
private func fetchFromClosed(_ lines: Int, on cluster: Cluster, _ trial: Trial) async throws {
  let graph = """
    version: 1
    operations:
      alone:
        run: seq 2 \(lines) > data
        outputs: {files: {data: data}}
        require: {worker: w1}

    """
  try write(graph, to: "\(cluster.folder)/alone.yaml")
  try await cluster.call("submit", "--wait", "\(cluster.folder)/alone.yaml")
  let start = Moment.now
  try await cluster.call("fetch", "last/alone", "-o", "\(cluster.folder)/fetched")
  trial.note("fetched by a program: \(Moment.text(Moment.now.seconds(since: start))) s")
  try await Surroundings.run(
    "sh", "-c", "seq 2 \(lines) | cmp - \(cluster.folder)/fetched", in: cluster.folder)
}

/// Has a file made at `w1` and read at `w2`; returns what was said of the reader meanwhile.
private func carry(
  _ lines: Int, _ round: Int, on cluster: Cluster, _ trial: Trial
) async throws -> Set<String> {
  let graph = """
    version: 1
    operations:
      make:
        run: seq \(lines) > data && echo \(round) >> \(cluster.folder)/made
        outputs: {files: {data: data}}
        require: {worker: w1}
      read:
        needs: {make: {files: [data]}}
        run: sha256sum < "$OP_INPUTS/make/data" > \(cluster.folder)/read-\(round)
        require: {worker: w2}

    """
  let path = "\(cluster.folder)/graph.yaml"
  try write(graph, to: path)
  let said = try await cluster.opbatch("submit", path, "-o", "name")
  guard said.status == 0, let id = UInt32(said.output.filter(\.isNumber)) else {
    throw Trouble("submit: \(said.status) \(said.output) \(said.error)")
  }
  let connection = try await cluster.reach()
  var why: Set<String> = []
  try await eventually("the file of round \(round + 1) is read", within: .seconds(180)) {
    for line in try await cluster.opbatch("why", "\(id)/read").output.split(separator: "\n")
    where line.contains("connect") {
      why.insert(String(line))
    }
    return try await connection.graphs(.graph(GraphID(id))).first.map(\.state) != .running
  }
  let state = try await connection.graphs(.graph(GraphID(id))).first?.state
  await connection.close()
  trial.expect(state == .succeeded, "G41: round \(round + 1) did not succeed")
  let sum = "\(cluster.folder)/sum"
  try await Surroundings.run(
    "sh", "-c", "seq \(lines) | sha256sum > \(sum)", in: cluster.folder)
  trial.expect(
    text(of: "\(cluster.folder)/read-\(round)") == text(of: sum), "G41: other bytes were read")
  trial.expect(
    text(of: "\(cluster.folder)/made").split(separator: "\n").count == round + 1,
    "G42: the file was made again")
  return why
}
