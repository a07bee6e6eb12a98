// The rows of section files: F64. Hosts share no disk, and workers die with theirs.

import FoundationEssentials
import Glibc
import OpClusterModel
import RealCluster

let fileRows: [FaultRow] = [
  FaultRow(
    number: "F64", name: "workers die with their stores", promise: "G41 G42 S153",
    injection:
      "KILL of one of three workers that share no disk, its store removed, again and again",
    isShort: true, run: lostStores)
]

/// A recorded workflow whose files travel leaves the same bytes, whatever is killed meanwhile.
private func lostStores(_ trial: Trial) async throws {
  // Files of 2 GB in all; in the short form of some megabytes.
  let size = trial.scale.isShort ? 0.002 : 0.8 * trial.scale.part
  // What a second of the record takes; bytes do not depend on it.
  let time = trial.scale.isShort ? 0.01 : 0.1
  let quiet = try await Workflow.run(on: trial.shape(workers: 1), size, 0) { _, _ in }
  let shape: Cluster.Shape
  if Surroundings.hasOwnMounts, Surroundings.program("ip") != nil {
    shape = try Hosts(workers: 3).shape(of: trial)
    trial.note("each daemon has a network namespace of its own")
  } else {
    shape = trial.shape(workers: 3)
    trial.note("the workers share one network: namespaces need root")
  }
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
      let worker = "w\(round % 3 + 1)"
      try await cluster.kill(worker)
      // What it ran may still write while it is being ended.
      try await eventually("the folder of \(worker) is gone") {
        try? FileManager.default.removeItem(atPath: "\(cluster.folder)/scratch-\(worker)")
        return !FileManager.default.fileExists(atPath: "\(cluster.folder)/scratch-\(worker)")
      }
      trial.injected("worker killed, its store removed")
      try cluster.startWorker(worker)
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
    let tests = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
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
