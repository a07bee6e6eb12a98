// The rows of section protocol: F51 to F55. Those about keys, fuzzing and files are shown by tests
// of their own (Tests/GUARANTEES.md). Any task.

import FoundationEssentials
import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster
import Synchronization

let hostileRows: [FaultRow] = [
  FaultRow(
    number: "F51", name: "flood and vanish while the disk stalls", promise: "G27 G33",
    injection: "every sync takes 2 s; 3,000 submissions without waiting, then kill -9",
    needs: [.compiler], run: floodAndVanish),
  FaultRow(
    number: "F52", name: "recorded messages again, twice and out of order",
    promise: "G12 G13 G14 G19",
    injection: "a tap in the links of a worker and of the client; over restarts of opcoord too",
    isShort: true, run: replayed),
  FaultRow(
    number: "F54", name: "10,000 idle connections", promise: "G29 G30",
    injection: "connections to the socket of the clients that never say a word", run: idleCrowd),
  FaultRow(
    number: "F55", name: "subscriber that does not read", promise: "G28",
    injection: "opbatch watch stopped for 60 s at up to 2,000 events a second",
    run: slowSubscriber),
  elsewhere(
    "F46", "garbage, half greetings, old protocols, NULL", "G33 G35",
    by: "OpClusterZeroMQTests.HostileHandshakeTests"),
  elsewhere(
    "F47", "wrong, unknown and revoked keys, wrong roles", "G35 G36 G37",
    by: "OpClusterZeroMQTests.GateTests"),
  elsewhere("F49", "authorised but malformed", "G33", by: "OpClusterWireTests.FuzzTests"),
  elsewhere(
    "F53", "old and future peers", "G32",
    by: "OpClusterCoordinatorTests.ServiceTests and DoorTests"),
  elsewhere("F58", "injection list", "G38", by: "OpClusterTests.HostileTextTests"),
  elsewhere(
    "F59", "unsafe files", "G39",
    by: "OpClusterTests.ServiceTests.unsafeFoldersAreRefused"),
]

/// A row that needs no cluster under load: a test shows it.
private func elsewhere(
  _ number: String, _ name: String, _ promise: String, by test: String
) -> FaultRow {
  FaultRow(number: number, name: name, promise: promise, injection: "see the test") { _ in
    throw NotRun(reason: "shown by \(test)")
  }
}

/// F51
private func floodAndVanish(_ trial: Trial) async throws {
  let count = trial.scale.count(3_000, short: 300)
  try await FaultDisk.with { disk in
    var shape = trial.shape()
    shape.launches["opcoord"] = disk.launch
    try await trial.underLoad(shape) { cluster, load in
      try await cluster.witnessed(10, by: load)
      disk.slow(milliseconds: 2_000)
      let client = try cluster.startClient("FaultRows", ["--flood", cluster.address, "\(count)"])
      try await eventually("the flood is on its way") { client.output.contains("sent") }
      client.signal(SIGKILL)
      try await client.ended()
      trial.injected("submission of a client that vanished", times: count)
      try await Task.sleep(for: .seconds(5))
      disk.slow(milliseconds: 0)
      trial.expect(cluster.daemon("opcoord")?.end == nil, "G33: opcoord ended")
      let accepted = load.acceptedCount
      try await eventually("others are served", within: .seconds(60)) {
        load.acceptedCount > accepted
      }
      let losses = JournalModel(try await JournalLine.all(of: cluster)).workerLosses
      trial.expect(losses == 0, "G3: \(losses) workers were lost while the disk stalled")
      noRerun(load, trial)
    }
  }
}

/// What `FaultRows --flood` does: submits without waiting, says so, and stays.
func flood(_ address: String, _ count: Int) async throws {
  let connection = try await ClusterConnection.connect(to: address, deadline: .seconds(30))
  for number in 1...count {
    connection.send(.submit(Load.probe("flood-\(number)"))) { _ in }
  }
  try await Task.sleep(for: .milliseconds(200))
  _ = unsafe write(1, "sent\n", 5)
  try await Task.sleep(for: .seconds(600))
  await connection.close()
}

/// F52
private func replayed(_ trial: Trial) async throws {
  let restarts = trial.scale.count(5, short: 1)
  let relays = Mutex<[Relay]>([])
  var shape = trial.shape()
  shape.routes["w1"] = "ipc://{folder}/relay"
  shape.prepare = { folder in
    let made = [
      try Relay(from: "\(folder)/relay", to: "\(folder)/worker"),
      try Relay(from: "\(folder)/front", to: "\(folder)/client"),
    ]
    for relay in made { relay.shape.replay = 0.05 }
    relays.withLock { $0 = made }
  }
  defer { relays.withLock { $0.forEach { $0.end() } } }
  try await trial.underLoad(shape) { cluster, load in
    let mixed = try Load(
      LoadShape(graphs: 1, operationsPerGraph: 1, longest: 0), on: cluster,
      address: "ipc://\(cluster.folder)/front")
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await mixed.probe(9) }
      for round in 1...restarts {
        try await cluster.witnessed(round * 20, by: load)
        try await cluster.kill("opcoord")
        try await cluster.startCoordinator()
      }
      try await cluster.witnessed(load.shape.graphs * load.shape.operationsPerGraph, by: load)
      mixed.stop()
      try await group.waitForAll()
    }
    for relay in relays.withLock({ $0 }) { relay.shape.replay = 0 }
    let counts = relays.withLock { $0.map(\.replayed) }
    trial.injected("message of a worker again or out of order", times: counts[0])
    trial.injected("message of a client again or out of order", times: counts[1])
    let journal = JournalModel(try await JournalLine.all(of: cluster))
    for (key, graph) in mixed.accepted {
      trial.expect(
        journal.graphs[key]?.graph == graph, "G19: \(key) was told \(graph.number)")
    }
    trial.expect(counts[0] > 0 && counts[1] > 0, "nothing was replayed")
  }
}

/// F54
private func idleCrowd(_ trial: Trial) async throws {
  var limit = rlimit()
  guard unsafe getrlimit(__rlimit_resource_t(7), &limit) == 0 else { throw Trouble("getrlimit") }
  let count = min(trial.scale.count(10_000, short: 500), Int(limit.rlim_cur) - 500)
  try await trial.underLoad { cluster, load in
    try await cluster.witnessed(10, by: load)
    let process = try cluster.process("opcoord")
    let before = Surroundings.residentBytes(process)
    let crowd = try Crowd(count, at: "\(cluster.folder)/client")
    trial.injected("connection that says nothing", times: crowd.count)
    let connection = try await cluster.reach()
    var times = Series()
    for _ in 1...50 {
      let start = Moment.now
      _ = try await connection.request(.ping, timeout: .seconds(30))
      times.add(Moment.now.seconds(since: start))
    }
    let used = Surroundings.processorSeconds(process)
    let start = Moment.now
    try await Task.sleep(for: .seconds(2))
    let share =
      (Surroundings.processorSeconds(process) - used) / Moment.now.seconds(since: start)
    let growth = (Surroundings.residentBytes(process) - before) >> 20
    trial.note(
      "\(crowd.count) connections: a ping takes \(times.text); opcoord grew by \(growth) MiB and "
        + "uses \(Moment.text(share)) of a processor under load")
    trial.expect(times.largest < 1, "G29: a good client waited \(times.largest) s")
    trial.expect(growth <= 64, "G29: opcoord grew by \(growth) MiB")
    await connection.close()
    withExtendedLifetime(crowd) {}
  }
}

/// Connections that are open and silent, as long as it lives.
private final class Crowd: Sendable {
  private let files: [Int32]
  var count: Int { files.count }

  init(_ wanted: Int, at path: String) throws {
    var made: [Int32] = []
    for _ in 0..<wanted {
      let file = Relay.connect(to: path)
      if file < 0 { break }
      made.append(file)
    }
    files = made
    if made.count < wanted / 2 { throw Trouble("only \(made.count) connections: \(errno)") }
  }
  deinit { files.forEach { close($0) } }
}

/// F55
private func slowSubscriber(_ trial: Trial) async throws {
  let seconds = trial.scale.isShort ? 3.0 : max(10, 60 * trial.scale.part)
  try await trial.underLoad { cluster, load in
    let connection = try await cluster.reach()
    let process = try cluster.process("opcoord")
    let calm = try await pings(connection, for: 2)
    var submission = GraphSubmission(key: SubmissionKey("load-many"), name: "load-many")
    let work = Work.call(OperationType(name: "noop"))
    submission.templates = [
      OperationTemplate(name: "n", count: UInt32(seconds * 500), work: work)
    ]
    let busyBefore = try await pings(connection, for: 2)
    let before = Surroundings.residentBytes(process)
    let graph = try await load.submit(submission, over: connection)
    let watch = try cluster.startOpbatch(["watch", "\(graph.number)"])
    try await Task.sleep(for: .milliseconds(300))
    watch.signal(SIGSTOP)
    trial.injected("STOP of opbatch watch for \(Moment.text(seconds)) s")
    let busy = try await pings(connection, for: seconds)
    let growth = (Surroundings.residentBytes(process) - before) >> 20
    watch.signal(SIGCONT)
    let status = try await watch.ended(within: .seconds(120))
    trial.note(
      "p99 of others \(calm.milliseconds) ms before, \(busyBefore.milliseconds) ms again, "
        + "\(busy.milliseconds) ms meanwhile; opcoord grew by \(growth) MiB; watch ended with "
        + "\(status)")
    trial.expect(status == 0, "G28: watch ended with \(status): \(watch.error)")
    trial.expect(growth <= 64, "G28: opcoord grew by \(growth) MiB")
    let bound = max(2 * max(calm.p99, busyBefore.p99), 0.02)
    trial.expect(busy.p99 <= bound, "G28: others waited \(busy.p99) s at the 99th percentile")
    await connection.close()
  }
}

private struct Percentile {
  var p99: Double
  var milliseconds: String { Moment.text(p99 * 1000) }
}

/// Round trips of another client for some seconds.
private func pings(
  _ connection: ClusterConnection, for seconds: Double
) async throws -> Percentile {
  let start = Moment.now
  var times: [Double] = []
  while Moment.now.seconds(since: start) < seconds {
    let sent = Moment.now
    _ = try await connection.request(.ping, timeout: .seconds(30))
    times.append(Moment.now.seconds(since: sent))
    try await Task.sleep(for: .milliseconds(5))
  }
  times.sort()
  return Percentile(p99: times[min(times.count - 1, times.count * 99 / 100)])
}
