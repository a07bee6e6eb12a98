// The rows of section network: F34 to F40. The link between the coordinator and a worker is a relay
// in user space, on sockets of this machine: what it does to the bytes is what the guarantees speak
// of, and it needs neither root nor a kernel with netem.

import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster
import Synchronization

let networkRows: [FaultRow] = [
  FaultRow(
    number: "F34", name: "partition shorter than the lease", promise: "G12 G22 G34",
    injection: "the link of a worker passes nothing for half a lease, both ways",
    isShort: true, run: shortPartition),
  FaultRow(
    number: "F35", name: "partition longer than the lease, healed", promise: "G12 G13 G22",
    injection: "the link of a worker passes nothing for four leases, both ways", isShort: true,
    run: longPartition),
  FaultRow(
    number: "F37", name: "bad link", promise: "G22",
    injection: "50 ms, 50 ms of jitter, 5 % pauses of 0.2 to 0.4 s (a stream's loss)",
    run: badLink),
  FaultRow(
    number: "F40", name: "thin pipe full of output", promise: "G22 G27",
    injection: "32 KB a second, logs asked for all the time", run: thinPipe),
]

extension Trial {
  /// The load while `w1` is behind a relay.
  fileprivate func behindRelay(
    load: LoadShape? = nil, shape link: LinkShape = LinkShape(),
    _ fault: @escaping @Sendable (Relay, Cluster, Load) async throws -> Void
  ) async throws {
    let box = Mutex<Relay?>(nil)
    var shape = self.shape()
    shape.routes["w1"] = "ipc://{folder}/relay"
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

/// F34
private func shortPartition(_ trial: Trial) async throws {
  let times = trial.scale.timing
  let rounds = trial.scale.count(5, short: 1)
  try await trial.behindRelay { relay, cluster, load in
    for round in 1...rounds {
      try await cluster.witnessed(round * 20, by: load)
      relay.shape.isCut = true
      try await Task.sleep(for: .seconds(times.lost * 8 / 15))
      relay.shape.isCut = false
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
  let times = trial.scale.timing
  try await trial.behindRelay { relay, cluster, load in
    try await cluster.witnessed(20, by: load)
    let connection = try await cluster.reach()
    let start = Moment.now
    relay.shape.isCut = true
    trial.injected("partition of \(Moment.text(times.lost * 4)) s, the lease is \(times.lost) s")
    try await noticed("w1", since: start, over: connection, trial)
    let left = times.lost * 4 - Moment.now.seconds(since: start)
    try await Task.sleep(for: .seconds(max(0, left)))
    relay.shape.isCut = false
    let healed = Moment.now
    try await eventually("the worker is back") {
      try await connection.workers().contains { $0.name == "w1" && $0.state == .connected }
    }
    trial.note("back \(Moment.text(Moment.now.seconds(since: healed))) s after it was healed")
    await connection.close()
  }
}

/// F37
private func badLink(_ trial: Trial) async throws {
  let load = LoadShape(
    graphs: trial.scale.count(30, short: 6), operationsPerGraph: 40,
    longest: trial.scale.isShort ? 0.1 : 2)
  var link = LinkShape(delay: 0.05, jitter: 0.05, loss: 0.05)
  var seconds: [Double] = []
  for isBad in [false, true] {
    if !isBad {
      link = LinkShape()
    } else {
      link = LinkShape(delay: 0.05, jitter: 0.05, loss: 0.05)
    }
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
