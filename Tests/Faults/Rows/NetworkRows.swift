// The rows of section network: F34 to F40. Partitions are cables that are pulled out between
// network namespaces, where the machine allows it; elsewhere, and for bad links, a relay in user
// space on sockets of this machine, which needs neither root nor a kernel with netem.

import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster
import Synchronization

let networkRows: [FaultRow] = [
  FaultRow(
    number: "F34", name: "partition shorter than the lease", promise: "G12 G22 G34",
    injection: "the cable of a worker (veth of its network namespace) is out for half a lease",
    isShort: true, run: shortPartition),
  FaultRow(
    number: "F35", name: "partition longer than the lease, healed", promise: "G12 G13 G22 G16",
    injection: "the cable of a worker is out for four leases; exclusive operations run on it",
    run: longPartition),
  FaultRow(
    number: "F37", name: "bad link", promise: "G22",
    injection: "50 ms, 50 ms of jitter, 5 % pauses of 0.2 to 0.4 s (a stream's loss)",
    run: badLink),
  FaultRow(
    number: "F40", name: "thin pipe full of output", promise: "G22",
    injection: "32 KB a second, logs asked for all the time", run: thinPipe),
]

extension Trial {
  /// The load while `w1` is behind a relay.
  fileprivate func behindRelay(
    load: LoadShape? = nil, shape link: LinkShape = LinkShape(), flags: [String] = [],
    _ fault: @escaping @Sendable (Relay, Cluster, Load) async throws -> Void
  ) async throws {
    let box = Mutex<Relay?>(nil)
    var shape = self.shape()
    shape.routes["w1"] = "ipc://{folder}/relay"
    shape.timing += flags
    shape.prepare = { folder in
      let relay = try Relay(from: "\(folder)/relay", to: "\(folder)/worker")
      relay.shape = link
      box.withLock { $0 = relay }
    }
    defer { box.withLock { $0?.end() } }
    try await underLoad(shape, load: load) { cluster, load in
      guard let relay = box.withLock({ $0 }) else { throw Trouble("no relay") }
      try await fault(relay, cluster, load)
    }
  }
}

/// A link that can be cut: `true` cuts it.
private typealias Cut = @Sendable (Bool) async throws -> Void

extension Trial {
  /// The load while the link of `w1` can be cut, by its cable or, where there are no namespaces, by
  /// a relay.
  fileprivate func behindCable(
    _ timing: Times, fence: Double? = nil,
    _ fault: @escaping @Sendable (@escaping Cut, Cluster, Load) async throws -> Void
  ) async throws {
    let flags = timing.flags + (fence.map { ["--fence", "\($0)"] } ?? [])
    guard Surroundings.hasOwnMounts, Surroundings.program("ip") != nil else {
      note("the link is a relay: network namespaces need root")
      return try await behindRelay(flags: flags) { relay, cluster, load in
        try await fault({ relay.shape.isCut = $0 }, cluster, load)
      }
    }
    let hosts = Hosts()
    var shape = try hosts.shape(of: self)
    shape.timing += flags
    note("the link is the cable between two network namespaces")
    try await underLoad(shape) { cluster, load in
      try await fault({ try await hosts.connect("w1", !$0) }, cluster, load)
    }
  }
}

/// F34
private func shortPartition(_ trial: Trial) async throws {
  let times = trial.scale.timing
  let rounds = trial.scale.count(5, short: 1)
  try await trial.behindCable(times) { cut, cluster, load in
    for round in 1...rounds {
      try await cluster.witnessed(round * 20, by: load)
      try await cut(true)
      try await Task.sleep(for: .seconds(times.lost * 8 / 15))
      try await cut(false)
      trial.injected(
        "partition of \(Moment.text(times.lost * 8 / 15)) s, the lease is \(times.lost) s")
      try await Task.sleep(for: .seconds(times.heartbeat * 2))
    }
    let losses = JournalModel(try await JournalLine.all(of: cluster)).workerLosses
    trial.expect(losses == 0, "G22: \(losses) workers were declared lost")
    noRerun(load, trial)
  }
}

/// F35
private func longPartition(_ trial: Trial) async throws {
  // A fence needs some seconds of lease (G16).
  let times =
    trial.scale.isShort
    ? Times(heartbeat: 0.3, suspect: 1.5, lost: 4, resync: 8, grace: 1) : trial.scale.timing
  let fence = trial.scale.isShort ? 1.8 : 10
  try await trial.behindCable(times, fence: fence) { cut, cluster, load in
    try await cluster.witnessed(20, by: load)
    let connection = try await cluster.reach()
    let graph = try await load.submit(exclusives(load, seconds: times.lost * 2), over: connection)
    let victims = try await eventually("exclusive operations run at w1") { () -> [OperationID]? in
      let rows = try await connection.operations(.graph(graph))
      let own = rows.filter { $0.isExecuting && $0.workerName == "w1" }
      return own.isEmpty ? nil : own.map(\.id)
    }
    let start = Moment.now
    try await cut(true)
    trial.injected("partition of \(Moment.text(times.lost * 4)) s, the lease is \(times.lost) s")
    trial.injected("exclusive operation at the worker that is cut off", times: victims.count)
    try await noticed("w1", since: start, over: connection, trial, lost: times.lost)
    let left = times.lost * 4 - Moment.now.seconds(since: start)
    try await Task.sleep(for: .seconds(max(0, left)))
    try await cut(false)
    let healed = Moment.now
    try await eventually("the worker is back") {
      try await connection.workers().contains { $0.name == "w1" && $0.state == .connected }
    }
    trial.note("back \(Moment.text(Moment.now.seconds(since: healed))) s after it was healed")
    try await eventually("the exclusive ones have ended", within: .seconds(times.lost * 12)) {
      try await connection.operations(.graph(graph)).allSatisfy { $0.outcome != nil }
    }
    for row in try await connection.operations(.graph(graph)) where row.outcome != .succeeded {
      trial.broken("G16: the exclusive operation \(row.id.dotted) ended as \(row.state.rawValue)")
    }
    await connection.close()
    overlaps(load, since: start, victims, trial)
  }
}

/// Operations of two processes in two sessions, which write down all the time that they are there.
private func exclusives(_ load: Load, seconds: Double) -> GraphSubmission {
  var submission = GraphSubmission(key: SubmissionKey("load-only"), name: "load-only")
  let time = Int(seconds * 1_000)
  submission.templates = (1...6).map { number in
    var template = load.shell(
      "only\(number)",
      "setsid $SAY --beat $WITNESS.only \(time) & $SAY --beat $WITNESS.only \(time); wait")
    template.isExclusive = true
    template.priority = .veryHigh
    return template
  }
  return submission
}

/// G16: by their own lines, no two attempts of one operation were there at one moment.
private func overlaps(
  _ load: Load, since start: Moment, _ victims: [OperationID], _ trial: Trial
) {
  var spans: [OperationID: [UInt32: (first: Moment, last: Moment)]] = [:]
  let lines = WitnessLine.all(in: "\(load.witness).only")
  for line in lines {
    let known = spans[line.operation]?[line.attempt]
    spans[line.operation, default: [:]][line.attempt] = (
      min(known?.first ?? line.time, line.time), max(known?.last ?? line.time, line.time)
    )
  }
  var (again, killed) = (Series(), Series())
  for (id, attempts) in spans {
    let ordered = attempts.sorted { $0.key < $1.key }
    for (old, new) in zip(ordered, ordered.dropFirst()) {
      again.add(new.value.first.seconds(since: old.value.last))
      killed.add(old.value.last.seconds(since: start))
      trial.expect(
        old.value.last < new.value.first,
        "G16: attempts \(old.key) and \(new.key) of \(id.dotted) overlap")
    }
    if victims.contains(id) {
      trial.expect(ordered.count > 1, "G16: \(id.dotted) was at the worker that was cut off")
    }
  }
  trial.note(
    "\(lines.count) lines of exclusive operations; last one of an old attempt after the cut: "
      + "\(killed.text); from it to the first of the next attempt: \(again.text)")
}

/// F37
private func badLink(_ trial: Trial) async throws {
  let load = LoadShape(
    graphs: trial.scale.count(30, short: 6), operationsPerGraph: 40,
    longest: trial.scale.isShort ? 1 : 2)
  var seconds: [Double] = []
  for isBad in [false, true] {
    let link = isBad ? LinkShape(delay: 0.05, jitter: 0.05, loss: 0.05) : LinkShape()
    let start = Moment.now
    try await trial.behindRelay(load: load, shape: link) { relay, cluster, load in
      try await cluster.witnessed(load.shape.graphs * load.shape.operationsPerGraph * 2, by: load)
      if isBad { trial.injected("byte that passed a bad link", times: relay.passed) }
      let losses = JournalModel(try await JournalLine.all(of: cluster)).workerLosses
      trial.expect(losses == 0, "G22: \(losses) false losses")
    }
    seconds.append(Moment.now.seconds(since: start))
  }
  trial.note(
    "the same load took \(Moment.text(seconds[0])) s by a clean link, "
      + "\(Moment.text(seconds[1])) s by the bad one")
  trial.expect(seconds[1] <= seconds[0] * 2, "the bad link halved the throughput and more")
}

/// F40
private func thinPipe(_ trial: Trial) async throws {
  let seconds = trial.scale.isShort ? 5.0 : max(20, 120 * trial.scale.part)
  try await trial.behindRelay(shape: LinkShape(bytesPerSecond: 32_768)) { relay, cluster, load in
    let connection = try await cluster.reach()
    var submission = GraphSubmission(key: SubmissionKey("load-chatty"), name: "load-chatty")
    submission.templates = (1...4).map {
      load.shell("chatty\($0)", "timeout \(Int(seconds)) yes chatty; exec $SAY $WITNESS 1")
    }
    let graph = try await load.submit(submission, over: connection)
    let start = Moment.now
    var pieces = 0
    try await withThrowingTaskGroup(of: Int.self) { group in
      for index in 0..<4 {
        group.addTask {
          let id = OperationID(graph: graph, index: UInt32(index))
          var count = 0
          while Moment.now.seconds(since: start) < seconds {
            let request = ClientRequest.log(
              AttemptSelection(operation: id), .standardOutput, offset: -65_536,
              maximumBytes: UInt32(Limits.logChunkBytes))
            if case .log? = try? await connection.request(request, timeout: .seconds(20)) {
              count += 1
            } else {
              try await Task.sleep(for: .milliseconds(50))
            }
          }
          return count
        }
      }
      for try await count in group { pieces += count }
    }
    trial.injected("piece of a log through 32 KB a second", times: pieces)
    trial.note("\(relay.passed) bytes passed in \(Moment.text(seconds)) s")
    let losses = JournalModel(try await JournalLine.all(of: cluster)).workerLosses
    trial.expect(losses == 0, "G22: \(losses) workers were lost behind their own output")
    await connection.close()
  }
}
