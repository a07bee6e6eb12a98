// The rows of what operations themselves do: F15 to F20. Any task.

import FoundationEssentials
import Glibc
import OpClusterClient
import OpClusterModel
import OpClusterWire
import RealCluster

let operationRows: [FaultRow] = [
  FaultRow(
    number: "F16", name: "cancelling an operation that daemonised", promise: "G20",
    injection: "setsid sh -c 'sleep 1000 &'; sleep 1000; cancel", isShort: true,
    run: daemonisedCancelled),
  FaultRow(
    number: "F17", name: "operation that ignores TERM", promise: "G20",
    injection: "trap '' TERM; sleep 1000; cancel", isShort: true, run: deafCancelled),
  FaultRow(
    number: "F19", name: "huge and malformed output", promise: "G26",
    injection: "5 GB of zeros, endless yes, one line of 1 GB, invalid UTF-8", run: hugeOutput),
  FaultRow(
    number: "F20", name: "operation that leaves 10,000 orphans", promise: "G20",
    injection: "(setsid sleep 0.n &) 10,000 times", run: orphans),
]

/// Submits one operation and waits until `processes` of its processes have written their ids.
private func started(
  _ text: String, processes: Int, load: Load, _ connection: ClusterConnection
) async throws -> (graph: GraphID, pids: [pid_t]) {
  let name = "load-tree-\(UInt32.random(in: 0 ... .max))"
  var submission = GraphSubmission(key: SubmissionKey(name), name: name)
  submission.templates = [load.shell("tree", "PIDS=\(load.witness).\(name)\n\(text)")]
  submission.templates[0].priority = .veryHigh
  let graph = try await load.submit(submission, over: connection)
  let pids = try await eventually("its processes run") { () -> [pid_t]? in
    let found = numbers(in: "\(load.witness).\(name)")
    return found.count == processes ? found : nil
  }
  return (graph, pids)
}

private func numbers(in path: String) -> [pid_t] {
  text(of: path).split(separator: "\n").compactMap { pid_t($0) }
}

/// Cancels a graph of one operation; answers the seconds until it was told to have ended.
private func cancel(_ graph: GraphID, _ connection: ClusterConnection) async throws -> Double {
  let start = Moment.now
  _ = try await connection.request(.cancel(.selection(.graph(graph)), reason: "", grace: nil))
  try await eventually("it is cancelled", within: .seconds(60)) {
    try await connection.operations(.graph(graph)).allSatisfy { $0.outcome != nil }
  }
  return Moment.now.seconds(since: start)
}

/// F16
private func daemonisedCancelled(_ trial: Trial) async throws {
  let rounds = trial.scale.count(20, short: 2)
  try await trial.underLoad { cluster, load in
    let connection = try await cluster.reach()
    for _ in 1...rounds {
      let (graph, pids) = try await started(
        """
        echo $$ >> $PIDS
        setsid sh -c 'sh -c "echo \\$\\$ >> $0; exec sleep 1000" & wait' $PIDS &
        (setsid sh -c 'echo $$ >> $0; exec sleep 1000' $PIDS &)
        sleep 1000
        """, processes: 3, load: load, connection)
      let seconds = try await cancel(graph, connection)
      let left = pids.filter(Surroundings.isAlive)
      trial.expect(left.isEmpty, "G20: processes \(left) are left after the cancelled record")
      let rows = try await connection.operations(.graph(graph))
      trial.expect(rows.first?.outcome == .cancelled, "G20: it ended as \(rows.map(\.state))")
      trial.injected("cancel of an operation with three processes in three sessions")
      trial.note("gone and told after \(Moment.text(seconds)) s")
    }
    await connection.close()
  }
}

/// F17
private func deafCancelled(_ trial: Trial) async throws {
  let rounds = trial.scale.count(5, short: 1)
  let grace = trial.scale.timing.grace
  try await trial.underLoad { cluster, load in
    let connection = try await cluster.reach()
    for _ in 1...rounds {
      let (graph, pids) = try await started(
        "trap '' TERM; echo $$ >> $PIDS; while true; do sleep 1000; done", processes: 1,
        load: load, connection)
      let seconds = try await cancel(graph, connection)
      trial.injected("cancel of an operation that ignores TERM")
      trial.note("KILL after \(Moment.text(seconds)) s, the grace is \(grace) s")
      // The short form runs beside whatever a test machine does; there only too early is wrong.
      let late = trial.scale.isShort ? 5.0 : 0.5
      trial.expect(
        seconds >= grace - 0.05 && seconds <= grace + late,
        "G20: it was killed after \(seconds) s, not \(grace) s")
      trial.expect(!pids.contains(where: Surroundings.isAlive), "G20: it is still there")
    }
    await connection.close()
  }
}

/// F19
private func hugeOutput(_ trial: Trial) async throws {
  let megabytes = trial.scale.isShort ? 64 : max(64, Int(5_000 * trial.scale.part))
  let kept: UInt64 = 16 << 20
  try await Cluster.with(trial.shape()) { cluster in
    let load = try Load(trial.scale.load, on: cluster)
    let connection = try await cluster.reach()
    let texts = [
      ("zeros", "head -c \(megabytes)M /dev/zero"), ("yes", "timeout 3 yes; true"),
      ("line", "head -c \(megabytes / 5 + 1)M /dev/zero | tr '\\0' a"),
      ("bytes", "head -c 4M /dev/urandom >&2"),
    ]
    var submission = GraphSubmission(key: SubmissionKey("load-huge"), name: "load-huge")
    submission.templates = texts.map { name, text in
      var command = CommandSpecification(
        form: .shell(interpreter: ["/bin/sh", "-c"], text: CommandText(text)))
      command.maximumOutputBytes = kept
      var template = OperationTemplate(name: name, work: .command)
      template.payload = Wire.encode(command: command)
      return template
    }
    let names = ["opcoord", "w1", "w2"]
    let processes = try names.map { try cluster.process($0) }
    let before = processes.map { Surroundings.residentBytes($0) }
    var peaks = before
    let graph = try await load.submit(submission, over: connection)
    try await eventually("all have ended", within: .seconds(300)) {
      for at in processes.indices {
        peaks[at] = max(peaks[at], Surroundings.residentBytes(processes[at]))
      }
      return try await connection.operations(.graph(graph)).allSatisfy { $0.outcome != nil }
    }
    trial.injected("operation with up to \(megabytes) MB of output", times: texts.count)
    for at in names.indices {
      let growth = (peaks[at] - before[at]) >> 20
      trial.note("\(names[at]) grew by \(growth) MiB")
      trial.expect(growth < 32, "G26: \(names[at]) grew by \(growth) MiB")
    }
    for row in try await connection.operations(.graph(graph)) {
      trial.expect(
        row.outcome == .succeeded, "G26: \(row.name) ended as \(row.state): \(row.result as Any)")
      try await keptIsBounded(row, kept, connection, trial)
    }
    await connection.close()
  }
}

/// The log ends within its bound, with the marker.
private func keptIsBounded(
  _ row: OperationRow, _ kept: UInt64, _ connection: ClusterConnection, _ trial: Trial
) async throws {
  let stream: LogStream = row.name == "bytes" ? .standardError : .standardOutput
  guard
    case .log(let end) = try await connection.request(
      .log(
        AttemptSelection(operation: row.id), stream, offset: -200,
        maximumBytes: UInt32(Limits.logChunkBytes)))
  else { return trial.broken("G26: no log of \(row.name)") }
  trial.note("\(row.name): the log has \(end.size) bytes")
  trial.expect(
    end.size <= kept + 65_536, "G26: the log of \(row.name) has \(end.size) bytes")
}

/// F20
private func orphans(_ trial: Trial) async throws {
  let count = trial.scale.isShort ? 300 : max(300, Int(10_000 * trial.scale.part))
  try await trial.underLoad { cluster, load in
    let connection = try await cluster.reach()
    var submission = GraphSubmission(key: SubmissionKey("load-orphans"), name: "load-orphans")
    submission.templates = [
      load.shell(
        "orphans",
        "i=0; while [ $i -lt \(count) ]; do (setsid sleep 0.$((i % 10)) &); i=$((i+1)); done; "
          + "exec $SAY $WITNESS 500")
    ]
    let graph = try await load.submit(submission, over: connection)
    try await eventually("it has ended", within: .seconds(300)) {
      try await connection.operations(.graph(graph)).allSatisfy { $0.outcome != nil }
    }
    trial.injected("process left without a parent", times: count)
    let outcome = try await connection.operations(.graph(graph)).first?.outcome
    trial.expect(outcome == .succeeded, "G25: it ended as \(outcome as Any)")
    let patience = Duration.seconds(trial.scale.time(5))
    try await eventually("no zombies and no orphans are left", within: patience) {
      leftovers(cluster).isEmpty
    }
    await connection.close()
  }
}

/// Zombies whose parent is a worker, and `sleep`s of nobody.
private func leftovers(_ cluster: Cluster) -> [pid_t] {
  let workers = Set(["w1", "w2"].compactMap { cluster.daemon($0)?.process })
  let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
  return names.compactMap { pid_t($0) }.filter { process in
    let stat = text(of: "/proc/\(process)/stat")
    guard let bracket = stat.lastIndex(of: ")") else { return false }
    let words = stat[bracket...].split(separator: " ")
    guard words.count > 2, let parent = pid_t(words[2]) else { return false }
    return workers.contains(parent) && words[1] == "Z"
  }
}
