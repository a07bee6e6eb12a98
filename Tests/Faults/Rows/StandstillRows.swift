// The rows of a worker whose loop hangs while its other threads live (G23, A11), and of an
// operation that forks without end (F15). Any task.

import FoundationEssentials
import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster
import Synchronization

let standstillRows: [FaultRow] = [
  FaultRow(
    number: "G23", name: "worker whose loop hangs while libzmq's thread lives",
    promise: "G12 G13 G14 G22 G23 A11",
    injection: "one thread of a worker is held by ptrace for longer than the lease",
    needs: [.tracing], isShort: true, run: loopHangs),
  FaultRow(
    number: "F15", name: "fork bomb", promise: "G20 G40",
    injection: ":(){ :|:& };: as a user of its own: alone, until its limit, and cancelled",
    needs: [.processLimits], run: forkBomb),
]

/// G23
private func loopHangs(_ trial: Trial) async throws {
  let lost = trial.scale.timing.lost
  let length = lost + (trial.scale.isShort ? 3 : 10)
  try await trial.underLoad { cluster, load in
    try await cluster.witnessed(20, by: load)
    let connection = try await cluster.reach()
    let worker = try cluster.process("w1")
    let holder = try cluster.startClient(
      "FaultOperation", ["--hold", "\(worker)", "\(Int(length * 1_000))"])
    try await eventually("the thread is held", within: .seconds(10)) {
      if let end = holder.end { throw Trouble("no thread can be held here: \(end)") }
      return holder.output.contains("held")
    }
    let start = Moment.now
    trial.injected("hold of the loop's thread of a worker for \(Moment.text(length)) s")
    let held = Surroundings.threads(worker)
    trial.note(
      "threads meanwhile: \(held.map { "\($0.name) \($0.state)" }.joined(separator: ", "))")
    trial.expect(
      held.contains { $0.name.hasPrefix("ZMQ") && $0.state != "t" && $0.state != "T" },
      "G23: libzmq's thread does not live")
    try await noticed("w1", since: start, over: connection, trial)
    try await holder.ended(within: .seconds(length + 30))
    try await eventually("the worker is back") {
      try await connection.workers().contains { $0.name == "w1" && $0.state == .connected }
    }
    await connection.close()
    // The other worker may be busy with operations of its own when the lost one is back.
    try await eventually("something is given to another worker (G22)", within: .seconds(60)) {
      !startedAgain(load).isEmpty
    }
    zombies(load, heldSince: start, trial)
  }
}

/// The attempts of what has begun more than once, by the operations' own lines.
private func startedAgain(_ load: Load) -> [OperationID: [UInt32]] {
  var starts: [OperationID: [UInt32]] = [:]
  for line in WitnessLine.all(in: load.witness) where line.isStart {
    starts[line.operation, default: []].append(line.attempt)
  }
  return starts.filter { $0.value.count > 1 }
}

/// What the lost worker's operations ended by themselves meanwhile, and who told of it too late.
private func zombies(_ load: Load, heldSince start: Moment, _ trial: Trial) {
  var ended: Set<AttemptID> = []
  for line in WitnessLine.all(in: load.witness) where !line.isStart && line.time > start {
    ended.insert(AttemptID(operation: line.operation, attempt: line.attempt))
  }
  let again = startedAgain(load)
  let stale = again.filter { id, attempts in
    ended.contains(AttemptID(operation: id, attempt: attempts.min() ?? 0))
  }
  trial.note(
    "\(again.count) operations were started again, \(stale.count) of them had ended at the worker "
      + "that hung, whose late results made no second end")
  trial.expect(!again.isEmpty, "G22: nothing was given to another worker")
}

/// A group of processes that holds whatever a row may let loose, so that a bomb stays in the row.
struct Fold: Sendable {
  /// Where groups can be made that bound the number of processes; nil: nowhere.
  static let place: String? = {
    guard geteuid() == 0 else { return nil }
    if FileManager.default.fileExists(atPath: "/sys/fs/cgroup/pids/cgroup.procs") {
      return "/sys/fs/cgroup/pids"
    }
    let controllers = text(of: "/sys/fs/cgroup/cgroup.subtree_control")
    return controllers.contains("pids") ? "/sys/fs/cgroup" : nil
  }()

  let path: String

  /// - Parameter most: processes and threads that all of it may have at once.
  init(most: Int) throws {
    guard let place = Self.place else { throw NotRun(reason: "no pids controller") }
    path = "\(place)/fault-rows-\(String(UInt32.random(in: 0 ... .max), radix: 36))"
    guard unsafe mkdir(path, 0o755) == 0 else { throw Trouble("cannot make \(path): \(errno)") }
    // A file of the kernel's: it cannot be replaced, as a usual write would.
    let file = unsafe open("\(path)/pids.max", O_WRONLY | O_CLOEXEC)
    defer { close(file) }
    let words = Array("\(most)".utf8)
    guard unsafe write(file, words, words.count) == words.count else {
      throw Trouble("cannot bound \(path): \(errno)")
    }
  }

  /// A program that goes in and becomes the one behind it.
  var launch: Cluster.Launch {
    Cluster.Launch(
      through: [
        "/bin/sh", "-c", "echo $$ > '\(path)/cgroup.procs' && exec \"$@\"", "in-the-fold",
      ])
  }

  /// Times that a process was refused in the groups inside that these are in.
  func refusals(of processes: [pid_t]) -> Int {
    groups.reduce(0) { sum, group in
      let inside = text(of: "\(group)/cgroup.procs").split(separator: "\n").compactMap { pid_t($0) }
      return inside.contains(where: processes.contains) ? sum + Self.events(of: group) : sum
    }
  }
  /// The same for all of it together: 0 while every bomb stays in its operation's own limit.
  var ownRefusals: Int { Self.events(of: path) }

  private static func events(of group: String) -> Int {
    let line = text(of: "\(group)/pids.events").split(separator: "\n")
      .first { $0.hasPrefix("max ") }
    return line.flatMap { Int($0.dropFirst(4)) } ?? 0
  }

  private var groups: [String] {
    let inside = (try? FileManager.default.subpathsOfDirectory(atPath: path)) ?? []
    return inside.filter { $0.hasSuffix("pids.events") && $0.contains("/") }
      .map { "\(path)/\($0.dropLast("/pids.events".count))" }
  }

  /// Kills what is left in it and takes it away.
  func remove() {
    for _ in 0..<200 {
      for group in groups + [path] {
        for process in text(of: "\(group)/cgroup.procs").split(separator: "\n") {
          if let process = pid_t(process), process > 0 { kill(process, SIGKILL) }
        }
      }
      try? Surroundings.runNow("find", path, "-depth", "-type", "d", "-delete", in: "/tmp")
      if !FileManager.default.fileExists(atPath: path) { return }
      usleep(20_000)
    }
  }
}

/// F15
private func forkBomb(_ trial: Trial) async throws {
  let limit = 200
  // All of the row may have so many, whatever the worker's own limit does.
  let fold = try Fold(most: 1_500)
  defer { fold.remove() }
  var shape = trial.shape(workers: 1, slots: 6)
  shape.launches["w1"] = fold.launch
  shape.workerFlags = [["--processes", "\(limit)"]]
  try await trial.underLoad(shape) { cluster, load in
    try await cluster.witnessed(20, by: load)
    let worker = try cluster.process("w1")
    for kind in Bomb.allCases {
      try await explode(kind, limit, fold, cluster, load, trial)
      trial.expect(
        cluster.daemon("w1")?.end == nil && cluster.daemon("w1")?.process == worker,
        "F15: the worker has ended")
    }
    trial.expect(fold.ownRefusals == 0, "F15: a bomb went beyond the limit of its operation")
    noRerun(load, trial)
    for (key, graph) in load.accepted where key.hasPrefix("load-") && !key.contains("bomb") {
      let connection = try await cluster.reach()
      for row in try await connection.operations(.graph(graph)) {
        if let outcome = row.outcome, outcome != .succeeded {
          trial.broken("F15: \(row.id.dotted), beside the bomb, ended as \(outcome)")
        }
      }
      await connection.close()
    }
  }
}

/// What follows the bomb in its first process.
private enum Bomb: String, CaseIterable {
  /// Nothing: it ends at once, and what it left is taken away before it has grown.
  case alone = ""
  /// It stays until processes are refused.
  case grown = "; sleep 2"
  /// It stays, and is cancelled.
  case cancelled = "; trap \"\" TERM; sleep 1000; sleep 1000"
}

private func explode(
  _ kind: Bomb, _ limit: Int, _ fold: Fold, _ cluster: Cluster, _ load: Load, _ trial: Trial
) async throws {
  // Nobody else is this user: it tells the bomb's processes from all others.
  let user = UInt32.random(in: 100_000..<1_000_000)
  let connection = try await cluster.reach()
  let name = "load-bomb-\(kind)"
  var submission = GraphSubmission(key: SubmissionKey(name), name: name)
  submission.templates = [
    load.shell(
      "bomb",
      "ulimit -p 1000 && exec setpriv --reuid=\(user) --regid=\(user) --clear-groups "
        + "bash -c ':(){ :|:& };:\(kind.rawValue)'")
  ]
  submission.templates[0].priority = .veryHigh
  let graph = try await load.submit(submission, over: connection)
  trial.injected("fork bomb, \(kind)")
  try await eventually("it runs", within: .seconds(60)) {
    try await connection.operations(.graph(graph)).allSatisfy { $0.isExecuting || $0.isFinished }
  }
  var (most, refused) = (0, 0)
  var start = Moment.now
  if kind != .alone {
    try await eventually("the limit refuses processes (pids.events)", within: .seconds(60)) {
      let processes = Surroundings.processes(of: user)
      (most, refused) = (processes.count, fold.refusals(of: processes))
      return refused > 0
    }
    start = Moment.now
  }
  if kind == .cancelled {
    _ = try await connection.request(.cancel(.selection(.graph(graph)), reason: "", grace: nil))
  }
  try await eventually("its tree is gone (F15)", within: .seconds(60)) {
    let rows = try await connection.operations(.graph(graph))
    return rows.allSatisfy { $0.outcome != nil } && Surroundings.processes(of: user).isEmpty
  }
  let seconds = Moment.now.seconds(since: start)
  let row = try await connection.operations(.graph(graph)).first
  await connection.close()
  trial.note(
    "\(kind): \(most) processes, pids.events max \(refused), gone and told after "
      + "\(Moment.text(seconds)) s: \(row?.state.rawValue ?? "") \(row?.result?.diagnostic ?? "")")
  trial.expect(most <= limit, "F15: it has \(most) processes, \(limit) are allowed")
  let bound = trial.scale.timing.grace + 2 + (kind == .grown ? 2 : 0)
  trial.expect(seconds <= bound, "F15: the tree was removed after \(seconds) s, \(bound) allowed")
  switch kind {
  case .alone: break
  case .grown: trial.expect(row?.outcome == .failed, "F15: it ended as \(row?.state as Any)")
  case .cancelled:
    trial.expect(row?.outcome == .cancelled, "F15: it ended as \(row?.state as Any)")
  }
}
