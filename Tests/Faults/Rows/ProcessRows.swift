// The rows of daemons that die, stop, restart or come back: F1, F2, F5, F6, F8, F10, F12, F13.
// What operations themselves do wrong is in OperationRows.

import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster

let processRows: [FaultRow] =
  [
    FaultRow(
      number: "F1", name: "coordinator killed at random", promise: "G1 G2 G12 G24",
      injection:
        "kill -9 after 0 to 3 s, started again, 100 times, with 100,000 operations waiting",
      isShort: true, run: coordinatorKilled),
    FaultRow(
      number: "F2", name: "coordinator killed at its n-th data sync", promise: "G1 G2 G3",
      injection: "KILL before or after the n-th fdatasync since its start, n = 1…200",
      needs: [.compiler], isShort: true, run: killedAtSync),
    FaultRow(
      number: "F5", name: "orderly restart with running operations", promise: "G24",
      injection: "kill -TERM, the next one on the same journal", isShort: true,
      run: orderlyRestart),
    FaultRow(
      number: "F6", name: "coordinator paused for longer than a lease", promise: "G22 G24",
      injection: "kill -STOP, 20 s, kill -CONT", isShort: true, run: coordinatorPaused),
    FaultRow(
      number: "F7", name: "worker killed, with daemonised children", promise: "G11 G22 G25",
      injection: "kill -9 of a worker whose operations used setsid, double fork and nohup",
      isShort: true, run: workerKilled),
    FaultRow(
      number: "F8", name: "worker frozen and thawed", promise: "G12 G13 G22",
      injection: "kill -STOP of a worker for longer than its lease, kill -CONT",
      isShort: true, run: workerFrozen),
    FaultRow(
      number: "F10", name: "operations that kill their worker", promise: "G11 G17",
      injection: "3 operations `kill -9 $PPID` among 500 good ones; a coordinator restart",
      run: poisoned),
    FaultRow(
      number: "F12", name: "worker that is killed and started again and again",
      promise: "G11 G14 G17", injection: "50 × kill -9 and start within 10 s",
      isShort: true, run: restartStorm),
    FaultRow(
      number: "F13", name: "client killed while it submits", promise: "G2 G19 G1",
      injection: "opbatch submit --key K killed after 0 to 0.1 s, repeated until it succeeds",
      isShort: true, run: clientKilled),
  ] + operationRows

/// F1
private func coordinatorKilled(_ trial: Trial) async throws {
  let kills = trial.scale.count(100, short: 3)
  let pause = trial.scale.isShort ? 0.3 : 3.0
  let waiting = trial.scale.isShort ? 10_000 : 100_000
  try await trial.underLoad { cluster, load in
    let connection = try await cluster.reach()
    try await load.submit(waitingGraph(waiting), over: connection)
    await connection.close()
    var restarts = Series()
    for _ in 1...kills {
      try await Task.sleep(for: .seconds(Double.random(in: 0...pause)))
      try await cluster.kill("opcoord")
      restarts.add(try await cluster.restartCoordinator())
      trial.injected("kill -9 of opcoord")
    }
    trial.note("from start to the first answer, \(waiting) operations waiting: \(restarts.text)")
    #if !DEBUG
      trial.expect(restarts.largest < 2, "a restart took \(restarts.largest) s, 2 are allowed")
    #endif
    try await resume("load-waiting", of: load, on: cluster)
    noRerun(load, trial)
  }
  if !trial.scale.isShort {
    for hasEdges in [false, true] {
      for keepsAll in [true, false] { try await starts(trial, hasEdges, keepsAll) }
    }
  }
}

/// From the start of a process to its first answer, with 100,000 operations that live.
///
/// - Parameter keepsAll: Whether the journal is read from its first turn, or from its newest
///   snapshot on, as usual.
private func starts(_ trial: Trial, _ hasEdges: Bool, _ keepsAll: Bool) async throws {
  var shape = trial.shape(workers: 0)
  if !keepsAll { shape.timing = trial.scale.timing.flags }
  try await Cluster.with(shape) { cluster in
    let load = try Load(
      LoadShape(graphs: 100, operationsPerGraph: 1_000, longest: 2), on: cluster)
    let connection = try await cluster.reach()
    if hasEdges {
      for number in 1...100 { try await load.submit(load.graph(number), over: connection) }
    } else {
      try await load.submit(waitingGraph(100_000), over: connection)
    }
    await connection.close()
    var (times, used) = (Series(), Series())
    for _ in 1...5 {
      try await cluster.kill("opcoord")
      times.add(try await cluster.restartCoordinator())
      used.add(Surroundings.processorSeconds(try cluster.process("opcoord")))
    }
    let what = hasEdges ? "100 graphs of 1,000 commands with edges" : "an array of 100,000"
    let how = keepsAll ? "every turn replayed" : "snapshots as usual"
    trial.note("start with \(what), \(how): \(times.text); processor \(used.text)")
    #if !DEBUG
      trial.expect(times.middle < 2, "F1: a start with \(what) took \(times.middle) s, 2 allowed")
    #endif
  }
}

/// An array that is accepted and does not start.
private func waitingGraph(_ count: Int) -> GraphSubmission {
  var submission = GraphSubmission(key: SubmissionKey("load-waiting"), name: "waiting")
  let work = Work.call(OperationType(name: "noop"))
  submission.templates = [OperationTemplate(name: "w", count: UInt32(count), work: work)]
  submission.isSuspended = true
  return submission
}

private func resume(_ key: String, of load: Load, on cluster: Cluster) async throws {
  guard let graph = load.accepted[key] else { throw Trouble("\(key) was not accepted") }
  let connection = try await cluster.reach()
  _ = try await connection.request(.suspendGraphs(.graph(graph), false))
  await connection.close()
}

/// G24: nothing ran twice because of the coordinator.
func noRerun(_ load: Load, _ trial: Trial) {
  var starts: [OperationID: Int] = [:]
  for line in WitnessLine.all(in: load.witness) where line.isStart {
    starts[line.operation, default: 0] += 1
  }
  for (id, count) in starts where count > 1 {
    trial.broken("G24: \(id.dotted) was started \(count) times; no worker was lost")
  }
}

/// F2
private func killedAtSync(_ trial: Trial) async throws {
  let last = trial.scale.count(200, short: 20)
  try await FaultDisk.with { disk in
    var shape = trial.shape()
    shape.launches["opcoord"] = disk.launch
    let tally = AckTally()
    try await trial.underLoad(shape) { cluster, load in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for client in 1...3 {
          group.addTask { try await load.probe(client, pause: .zero) }
        }
        for number in 1...last {
          try await cluster.kill("opcoord")
          disk.arm(at: number, number % 2 == 0 ? .killBefore : .killAfter)
          let daemon = try cluster.beginCoordinator()
          try await daemon.ended()
          tally.add(number, load.acceptedCount)
          trial.injected("KILL \(number % 2 == 0 ? "before" : "after") the n-th fdatasync")
        }
        disk.disarm()
        try await cluster.startCoordinator()
        load.stop()
        try await group.waitForAll()
      }
      noRerun(load, trial)
    }
    trial.note("n → acknowledged so far (all recovered): \(tally.text)")
  }
}

/// F5
private func orderlyRestart(_ trial: Trial) async throws {
  let restarts = trial.scale.count(10, short: 2)
  try await trial.underLoad { cluster, load in
    var times = Series()
    for round in 1...restarts {
      try await cluster.witnessed(round * 10, by: load)
      let before = runningNow(load)
      guard let daemon = cluster.daemon("opcoord") else { throw Trouble("no coordinator") }
      daemon.signal(SIGTERM)
      let status = try await daemon.ended()
      trial.expect(status == 0, "G24: opcoord ended with \(status) at TERM")
      trial.expect(
        before.allSatisfy { Surroundings.isAlive($0.process) || hasEnded($0, load) },
        "G24: a process ended with the coordinator")
      times.add(try await cluster.restartCoordinator())
      trial.injected("kill -TERM of opcoord and a start")
    }
    trial.note("from start to the first answer: \(times.text)")
    noRerun(load, trial)
  }
}

private func runningNow(_ load: Load) -> [WitnessLine] {
  let lines = WitnessLine.all(in: load.witness)
  let ended = Set(lines.filter { !$0.isStart }.map(\.process))
  return lines.filter { $0.isStart && !ended.contains($0.process) }
}

private func hasEnded(_ start: WitnessLine, _ load: Load) -> Bool {
  WitnessLine.all(in: load.witness).contains {
    !$0.isStart && $0.operation == start.operation && $0.attempt == start.attempt
  }
}

/// F6
private func coordinatorPaused(_ trial: Trial) async throws {
  let pause = trial.scale.isShort ? trial.scale.timing.lost * 2 : 20
  let rounds = trial.scale.isShort ? 1 : 3
  try await trial.underLoad { cluster, load in
    for round in 1...rounds {
      try await cluster.witnessed(round * 20, by: load)
      cluster.daemon("opcoord")?.signal(SIGSTOP)
      try await Task.sleep(for: .seconds(pause))
      cluster.daemon("opcoord")?.signal(SIGCONT)
      trial.injected("STOP of opcoord for \(Moment.text(pause)) s")
      try await Task.sleep(for: .seconds(trial.scale.timing.suspect))
    }
    let losses = JournalModel(try await JournalLine.all(of: cluster)).workerLosses
    trial.expect(losses == 0, "G22: \(losses) workers were declared lost by the pause")
    noRerun(load, trial)
  }
}

/// F7
private func workerKilled(_ trial: Trial) async throws {
  try await trial.underLoad { cluster, load in
    let connection = try await cluster.reach()
    var submission = GraphSubmission(key: SubmissionKey("load-daemons"), name: "load-daemons")
    submission.templates = [
      load.shell(
        "daemons",
        """
        [ $OP_ATTEMPT = 1 ] || exec $SAY $WITNESS 1
        echo $$ >> $WITNESS.pids
        setsid sh -c 'echo $$ >> "$0"; sleep 1000' $WITNESS.pids &
        (setsid nohup sh -c 'echo $$ >> "$0"; sleep 1000' $WITNESS.pids >/dev/null 2>&1 &)
        sleep 1000
        """)
    ]
    let graph = try await load.submit(submission, over: connection)
    let pids = try await eventually("its three processes") { () -> [pid_t]? in
      let found = text(of: "\(load.witness).pids").split(separator: "\n").compactMap { pid_t($0) }
      return found.count == 3 ? found : nil
    }
    let rows = try await connection.operations(.graph(graph))
    guard let victim = rows.first?.workerName, !victim.isEmpty else { throw Trouble("no worker") }
    let start = Moment.now
    try await cluster.kill(victim)
    trial.injected("kill -9 of a worker")
    try await eventually("its processes are gone (G25)", within: .seconds(trial.scale.time(2))) {
      !pids.contains(where: Surroundings.isAlive)
    }
    trial.note(
      "setsid, double-fork and nohup children gone after "
        + "\(Moment.text(Moment.now.seconds(since: start))) s")
    try await noticed(victim, since: start, over: connection, trial)
    try cluster.startWorker(victim)
    await connection.close()
  }
}

/// Waits until the coordinator has given a worker up, and judges the time (G22).
func noticed(
  _ worker: String, since start: Moment, over connection: ClusterConnection, _ trial: Trial,
  lost: Double? = nil
) async throws {
  let lost = lost ?? trial.scale.timing.lost
  let patience = Duration.seconds(trial.scale.time(lost * 3 + 5))
  try await eventually("\(worker) is lost (G22)", within: patience) {
    try await !connection.workers().contains { $0.name == worker }
  }
  let seconds = Moment.now.seconds(since: start)
  trial.note("loss of a worker noticed after \(Moment.text(seconds)) s, the lease is \(lost) s")
  trial.expect(
    seconds <= trial.scale.time(lost + 1),
    "G22: the loss of \(worker) was noticed after \(seconds) s")
}

/// F8
private func workerFrozen(_ trial: Trial) async throws {
  let lost = trial.scale.timing.lost
  try await trial.underLoad { cluster, load in
    try await cluster.witnessed(20, by: load)
    let connection = try await cluster.reach()
    let start = Moment.now
    cluster.daemon("w1")?.signal(SIGSTOP)
    trial.injected("STOP of a worker for \(Moment.text(lost + 10)) s")
    try await noticed("w1", since: start, over: connection, trial)
    let rest = lost + (trial.scale.isShort ? 1 : 10) - Moment.now.seconds(since: start)
    try await Task.sleep(for: .seconds(max(0, rest)))
    cluster.daemon("w1")?.signal(SIGCONT)
    try await eventually("the thawed worker is back") {
      try await connection.workers().contains { $0.name == "w1" && $0.state == .connected }
    }
    await connection.close()
  }
}

/// F10
private func poisoned(_ trial: Trial) async throws {
  let good = trial.scale.count(500, short: 40)
  let load = LoadShape(
    graphs: max(1, good / 40), operationsPerGraph: 40, longest: trial.scale.isShort ? 0.1 : 2)
  try await trial.underLoad(load: load) { cluster, load in
    try await cluster.witnessed(10, by: load)
    let connection = try await cluster.reach()
    var submission = GraphSubmission(key: SubmissionKey("load-poison"), name: "load-poison")
    submission.templates = (1...3).map {
      load.shell("poison\($0)", "kill -9 $PPID; sleep 100")
    }
    let graph = try await load.submit(submission, over: connection)
    trial.injected("an operation that kills its worker", times: 3)
    var deaths = 0
    var isRestarted = false
    try await eventually("the poisoned ones have been given up (G17)", within: .seconds(600)) {
      for name in ["w1", "w2"] where cluster.daemon(name)?.end != nil {
        deaths += 1
        try cluster.startWorker(name)
      }
      if deaths >= 6, !isRestarted {
        isRestarted = true
        try await cluster.kill("opcoord")
        try await cluster.startCoordinator()
        trial.injected("kill -9 of opcoord in between")
      }
      return try await connection.operations(.graph(graph)).allSatisfy { $0.outcome == .lost }
    }
    trial.injected("death of a worker by it", times: deaths)
    trial.note("3 poisoned operations cost \(deaths) workers")
    // Those that died with the last attempts.
    for name in ["w1", "w2"] where cluster.daemon(name)?.end != nil {
      try cluster.startWorker(name)
    }
    try await trial.settle(load, cluster)
    for (key, graph) in load.accepted where key.hasPrefix("load") && key != "load-poison" {
      for row in try await connection.operations(.graph(graph)) where row.outcome != .succeeded {
        trial.broken("G17: the good operation \(row.id.dotted) ended as \(row.state.rawValue)")
      }
    }
    await connection.close()
  }
}

/// F12
private func restartStorm(_ trial: Trial) async throws {
  let rounds = trial.scale.count(50, short: 6)
  try await trial.underLoad { cluster, load in
    try await cluster.witnessed(10, by: load)
    let coordinator = try cluster.process("opcoord")
    let (start, used) = (Moment.now, Surroundings.processorSeconds(coordinator))
    for _ in 1...rounds {
      try await cluster.kill("w2")
      try cluster.startWorker("w2")
      try await Task.sleep(for: .milliseconds(200))
      trial.injected("kill -9 and start of a worker")
    }
    let share =
      (Surroundings.processorSeconds(coordinator) - used) / Moment.now.seconds(since: start)
    trial.note("the coordinator used \(Moment.text(share)) of a processor meanwhile")
    trial.expect(share < 1, "the coordinator used \(share) processors during the storm")
  }
}

/// F13
private func clientKilled(_ trial: Trial) async throws {
  let keys = trial.scale.count(200, short: 5)
  try await Cluster.with(trial.shape()) { cluster in
    try write(
      "version: 1\noperations:\n  a: {run: \"true\"}\n  b: {needs: a, run: \"true\"}\n",
      to: "\(cluster.folder)/graph.yaml")
    for number in 1...keys {
      for attempt in 1... {
        let client = try cluster.startOpbatch(
          ["submit", "--key", "key-\(number)", "\(cluster.folder)/graph.yaml"])
        // The first tries are cut short, at any moment of a submission.
        if attempt <= 3 {
          try await Task.sleep(for: .milliseconds(Int.random(in: 0..<100)))
          client.signal(SIGKILL)
          trial.injected("kill -9 of opbatch submit")
        }
        let status = try await client.ended()
        if status == 0 { break }
        if attempt > 3 { throw Trouble("opbatch submit ended with \(status): \(client.error)") }
      }
    }
    let journal = JournalModel(try await JournalLine.all(of: cluster))
    for violation in journal.violations { trial.broken(violation) }
    for number in 1...keys {
      let graph = journal.graphs["key-\(number)"]
      trial.expect(graph != nil, "G1: key-\(number) was acknowledged and is not there")
      if let graph, graph.operations != 2 {
        trial.broken("G2: key-\(number) has \(graph.operations) operations")
      }
    }
    trial.note("\(keys) keys, \(journal.graphs.count) graphs")
    trial.expect(journal.graphs.count == keys, "G19: \(journal.graphs.count) graphs")
    try await conflict(cluster, trial)
  }
}

/// G19: the same key with other content is refused.
private func conflict(_ cluster: Cluster, _ trial: Trial) async throws {
  try write("version: 1\noperations:\n  c: {run: \"true\"}\n", to: "\(cluster.folder)/other.yaml")
  let other = try await cluster.opbatch("submit", "--key", "key-1", "\(cluster.folder)/other.yaml")
  trial.expect(other.status != 0, "G19: other content was accepted under a used key")
  trial.note("other content under a used key: opbatch ends with \(other.status)")
}
