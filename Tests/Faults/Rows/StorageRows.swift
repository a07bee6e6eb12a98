// The rows about what lies on the disk, and what nobody watches: F60 to F63. Any task.

import FoundationEssentials
import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster

let storageRows: [FaultRow] = [
  FaultRow(
    number: "F60", name: "how long the write-ahead log gets", promise: "G27 G8",
    injection: "20,000 turns beside readers of the history, on a disk that has room for the "
      + "journal and not for a log that only grows",
    needs: [.ownNamespaces], run: logLength),
  FaultRow(
    number: "F61", name: "write-ahead log lost after a kill", promise: "G1 G6",
    injection: "kill -9; the log removed, emptied, cut to a half, taken from an earlier moment; "
      + "then put back", isShort: true, run: logLost),
  FaultRow(
    number: "F62", name: "damaged pages of the history", promise: "G6",
    injection: "pages of indexes and tables of a stopped coordinator emptied, one at a time",
    isShort: true, run: historyDamaged),
  FaultRow(
    number: "F63", name: "state folder taken away", promise: "G1 G7",
    injection: "rm -rf, mv, and the database or its log removed, under a serving coordinator, "
      + "idle and asked", isShort: true, run: folderTaken),
]

extension Cluster {
  fileprivate var state: String { "\(folder)/state" }
  fileprivate var database: String { "\(state)/journal.db" }
  fileprivate var log: String { "\(state)/journal.db-wal" }
}

private func size(_ path: String) -> Int {
  var status = stat()
  return unsafe stat(path, &status) == 0 ? Int(status.st_size) : 0
}

private func contents(_ path: String) -> [UInt8] {
  [UInt8](FileManager.default.contents(atPath: path) ?? Data())
}

private func put(_ bytes: [UInt8], at path: String) throws {
  try Data(bytes).write(to: URL(filePath: path))
  guard unsafe chmod(path, 0o600) == 0 else { throw Trouble("chmod \(path): \(errno)") }
}

// MARK: - F60

private func logLength(_ trial: Trial) async throws {
  // Of few turns `LogLengthTests` tells more.
  let turns = UInt64(trial.scale.count(20_000, short: 1_000))
  let room = trial.scale.isShort ? 32 : 640
  var shape = trial.shape(workers: 0)
  shape.timing += ["--disk-reserve", "\(8 << 20)"]
  shape.prepare = { folder in
    guard unsafe mkdir("\(folder)/state", 0o700) == 0,
      unsafe mount("none", "\(folder)/state", "tmpfs", 0, "size=\(room)m,mode=0700") == 0
    else { throw Trouble("cannot mount a tmpfs: \(errno)") }
  }
  shape.cleanUp = { unsafe umount2("\($0)/state", Int32(MNT_DETACH)) }
  try await Cluster.with(shape) { cluster in
    let isOver = Switch()
    let (first, last, longest) = try await withThrowingTaskGroup(of: Int.self) { group in
      group.addTask {
        var longest = 0
        while !isOver.isOn {
          longest = max(longest, size(cluster.log))
          try await Task.sleep(for: .milliseconds(2))
        }
        return longest
      }
      group.addTask {
        // Who reads the history holds the log for as long as an answer takes.
        let connection = try await cluster.reach()
        while !isOver.isOn {
          _ = try await connection.graphs(Selection(graphs: .all))
          try await Task.sleep(for: .milliseconds(50))
        }
        await connection.close()
        return 0
      }
      defer { isOver.turnOn() }
      let ends = try await write(turns, on: cluster)
      isOver.turnOn()
      return (ends.first, ends.last, try await group.reduce(0, max))
    }
    trial.injected("turn of the journal", times: Int(last - first))
    trial.note(
      "\(last - first) turns: the log had \(longest / 1_000) kB at most, the database "
        + "\(size(cluster.database) >> 20) MiB in the end, on a disk of \(room) MiB")
    trial.expect(longest > 0, "there was no log")
    trial.expect(longest < 10_000_000, "G27: the log had \(longest) bytes")
    trial.expect(cluster.daemon("opcoord")?.end == nil, "G8: opcoord ended")
  }
}

/// Changes something, one turn after the other, by tasks that do not wait for each other.
private func write(
  _ turns: UInt64, on cluster: Cluster
) async throws -> (first: UInt64, last: UInt64) {
  let connection = try await cluster.reach()
  let commit: @Sendable () async throws -> UInt64 = {
    guard case .pong(let commit, _, _) = try await connection.request(.ping) else {
      throw Trouble("ping?")
    }
    return commit.number
  }
  var long = GraphSubmission(name: String(repeating: "n", count: Limits.nameBytes))
  long.templates = [OperationTemplate(name: "n", work: .nothing)]
  long.origin = String(repeating: "o", count: 3_000)
  let submission = long
  let first = try await commit()
  var last = first
  while last < first + turns {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          for _ in 0..<50 {
            let reply = try await connection.request(.submit(submission), timeout: .seconds(60))
            guard case .accepted = reply else {
              throw Trouble(
                "G8: \(reply); the log has \(size(cluster.log)) bytes, the database "
                  + "\(size(cluster.database))")
            }
          }
        }
      }
      try await group.waitForAll()
    }
    last = try await commit()
  }
  await connection.close()
  return (first, last)
}

// MARK: - F61

private func logLost(_ trial: Trial) async throws {
  try await Cluster.with(trial.shape(workers: 0)) { cluster in
    let load = try Load(trial.scale.load, on: cluster)
    let connection = try await cluster.reach()
    var early: [UInt8] = []
    for number in 1...12 {
      try await load.submit(Load.probe("probe-\(number)"), over: connection)
      if number == 6 { early = contents(cluster.log) }
    }
    await connection.close()
    try await cluster.kill("opcoord")
    let whole = contents(cluster.log)
    guard whole.count > 3 * 4_120 else { throw Trouble("the log has \(whole.count) bytes") }
    let losses: [(what: String, log: [UInt8]?)] = [
      ("removed", nil), ("emptied", []), ("cut to a half", Array(whole.prefix(whole.count / 2))),
      ("taken from an earlier moment", early),
    ]
    for (what, log) in losses {
      _ = unsafe unlink(cluster.log)
      if let log { try put(log, at: cluster.log) }
      for round in 1...2 {
        let daemon = try cluster.beginCoordinator()
        let status = try await daemon.ended(within: .seconds(30))
        let said = daemon.error.suffix(1_200)
        trial.injected("start with the log \(what)")
        trial.expect(status == 65, "G6: the log \(what): ended with \(status): \(said)")
        trial.expect(
          said.contains("is damaged at turn")
            && (said.contains("journal cut") || said.contains("restore a backup")),
          "G6: the log \(what), start \(round): no turn and no next step: \(said)")
      }
    }
    try put(whole, at: cluster.log)
    try await cluster.startCoordinator()
    try await areKnown(load, cluster, trial)
    trial.note("with the log put back all \(load.acceptedCount) acknowledged graphs are there")
  }
}

/// Every graph that was acknowledged is known by its key.
private func areKnown(_ load: Load, _ cluster: Cluster, _ trial: Trial) async throws {
  let connection = try await cluster.reach()
  for (key, graph) in load.accepted {
    guard let submission = load.submissions[key] else { continue }
    let reply = try await connection.request(.submit(submission), timeout: .seconds(30))
    guard case .accepted(graph, _, repeated: true) = reply else {
      trial.broken("G1: \(key) was graph \(graph.number), and is \(reply)")
      continue
    }
  }
  await connection.close()
}

// MARK: - F62

private func historyDamaged(_ trial: Trial) async throws {
  try await Cluster.with(trial.shape(workers: 1)) { cluster in
    let bystander = try await Bystander(on: cluster)
    for _ in 0..<trial.scale.count(60, short: 15) { _ = try await bystander.isServed() }
    await bystander.end()
    let before = try await cluster.opbatch("ls", "-a", "-o", "json").output
    guard let first = cluster.daemon("opcoord") else { throw Trouble("no coordinator") }
    first.signal(SIGTERM)
    try await first.ended()
    let whole = contents(cluster.database)
    let page = 4_096
    // Leaves of tables and of indexes; `meta` holds the format, without which nothing is a journal.
    let leaves = stride(from: page, to: whole.count, by: page).filter { start in
      (whole[start] == 10 || whole[start] == 13)
        && !whole[start..<(start + page)].contains(Array("format".utf8))
    }
    let chosen = trial.scale.isShort ? Array(leaves.shuffled().prefix(8)) : leaves
    var seen: [Sight: Int] = [:]
    for start in chosen {
      var bytes = whole
      (bytes[start + 3], bytes[start + 4]) = (0, 0)
      try put(bytes, at: cluster.database)
      _ = unsafe unlink(cluster.log)
      let sight = try await look(cluster, before, "page \(start / page + 1)", trial)
      seen[sight, default: 0] += 1
      trial.injected("page of \(whole[start] == 10 ? "an index" : "a table") without its cells")
    }
    trial.note(
      Sight.allCases.map { "\(seen[$0] ?? 0) \($0.rawValue)" }.joined(separator: ", "))
    try put(whole, at: cluster.database)
    try await cluster.startCoordinator()
    let after = try await cluster.opbatch("ls", "-a", "-o", "json").output
    trial.expect(before == after, "G6: the whole database does not say what it said")
  }
}

/// What becomes of a damaged page.
private enum Sight: String, CaseIterable {
  case atStart = "refused at the start"
  case whenAsked = "refused when asked"
  case unused = "changed no answer"
}

/// Starts on the damage, and asks for everything that has ended.
private func look(
  _ cluster: Cluster, _ before: String, _ what: String, _ trial: Trial
) async throws -> Sight {
  let verified = try await verify(cluster)
  let daemon = try cluster.beginCoordinator()
  try await eventually("it serves or ends") {
    if daemon.end != nil { return true }
    guard let connection = try? await cluster.connect(within: .seconds(3)) else { return false }
    await connection.close()
    return true
  }
  if let status = daemon.end {
    trial.expect(
      status == 65 && daemon.error.contains("damaged"),
      "G6: \(what): opcoord ended with \(status): \(daemon.error.suffix(400))")
    trial.expect(verified == 65, "G6: \(what): verify says \(verified)")
    return .atStart
  }
  let asked = try await cluster.opbatch("ls", "-a", "-o", "json")
  let isSame = asked.status == 0 && asked.output == before
  if asked.status == 0, !isSame {
    trial.broken("G6: \(what): another list, with exit 0: \(asked.output.prefix(300))")
  }
  if asked.status != 0 {
    trial.expect(asked.error.contains("damaged"), "G6: \(what): \(asked.error)")
    let doctor = try await cluster.opbatch("doctor")
    trial.expect(
      doctor.status != 0 && (doctor.output + doctor.error).contains("damaged"),
      "G6: \(what): doctor says \(doctor.status) \(doctor.output)")
    trial.expect(daemon.error.contains("damaged"), "G6: \(what): no line in the log")
  } else if verified == 65 {
    // Nobody asked for what it held; the slices come to it while the coordinator serves.
    try await eventually("\(what) is named in the log", within: .seconds(120)) {
      daemon.error.contains("damaged") || daemon.end != nil
    }
  }
  trial.expect(
    verified == 65 || isSame, "G6: \(what): verify says \(verified), ls \(asked.status)")
  daemon.signal(SIGKILL)
  try await daemon.ended()
  return isSame ? .unused : .whenAsked
}

private func verify(_ cluster: Cluster) async throws -> Int32 {
  let tool = try cluster.startClient(
    "opcoord", ["journal", "verify", "--state", "\(cluster.folder)/state"])
  return try await tool.ended(within: .seconds(60))
}

// MARK: - F63

/// How it is taken, and whether it can be put back.
private let takings: [(what: String, take: @Sendable (Cluster) throws -> Void, isBack: Bool)] = [
  ("rm -rf of the folder", { try FileManager.default.removeItem(atPath: $0.state) }, false),
  (
    "mv of the folder",
    { try FileManager.default.moveItem(atPath: $0.state, toPath: "\($0.folder)/away") }, true
  ),
  ("rm of the database", { try FileManager.default.removeItem(atPath: $0.database) }, false),
  ("rm of its log", { try FileManager.default.removeItem(atPath: $0.log) }, false),
]

private func folderTaken(_ trial: Trial) async throws {
  var ends = Series()
  for (what, take, isBack) in takings {
    for isAsked in [false, true] {
      try await Cluster.with(trial.shape(workers: 0)) { cluster in
        let load = try Load(trial.scale.load, on: cluster)
        let connection = try await cluster.reach()
        for number in 1...5 {
          try await load.submit(Load.probe("probe-\(number)"), over: connection)
        }
        guard let daemon = cluster.daemon("opcoord") else { throw Trouble("no coordinator") }
        try take(cluster)
        let start = Moment.now
        trial.injected("\(what) under \(isAsked ? "an asked" : "an idle") coordinator")
        if isAsked {
          let reply = try? await connection.request(
            .submit(Load.probe("late")), timeout: .seconds(1))
          if case .accepted(let graph, _, _)? = reply {
            trial.broken("G1: graph \(graph.number) was acknowledged after \(what)")
          }
        }
        let status = try await daemon.ended(within: .seconds(60))
        // An asked one has been waited for already.
        if !isAsked { ends.add(Moment.now.seconds(since: start)) }
        trial.expect(status == 74, "G7: after \(what) it ended with \(status): \(daemon.error)")
        trial.expect(
          daemon.error.contains(cluster.state), "G7: after \(what): \(daemon.error.suffix(400))")
        await connection.close()
        guard isBack else { return }
        try FileManager.default.moveItem(atPath: "\(cluster.folder)/away", toPath: cluster.state)
        try await cluster.startCoordinator()
        try await areKnown(load, cluster, trial)
      }
    }
  }
  trial.note("from the loss to the end of the process: \(ends.text)")
}
