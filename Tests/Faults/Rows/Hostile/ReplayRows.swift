// F52: what workers and a client say is recorded on its way to the coordinator and said again:
// at once, after the next word, in another session, and in another life of the coordinator. Any
// task.

import OpClusterClient
import OpClusterModel
import OpClusterWire
import RealCluster
import Synchronization

let replayRow = FaultRow(
  number: "F52", name: "recorded messages again, twice and out of order",
  promise: "G12 G13 G14 G19 G34",
  injection: "hellos, ends, acknowledgements of orders, submissions and cancellations, by a tap in "
    + "the links of both workers and of a client; over sessions of workers and lives of opcoord",
  isShort: true, run: replayed)

/// What is said to the coordinator, by what F52 names.
private func workerKinds(_ bytes: [UInt8]) -> [String] {
  guard let message = try? Wire.decodeWorkerMessage(bytes) else { return [] }
  switch message {
  case .hello: return ["hello"]
  case .report(let report):
    var kinds: [String] = []
    for entry in report.entries {
      switch entry {
      case .finished: kinds.append("finish")
      case .started: kinds.append("start")
      default: break
      }
    }
    if report.ordersTaken > 0 { kinds.append("acknowledgement") }
    return Set(kinds).sorted()
  case .logChunk, .goodbye: return []
  }
}

private func clientKinds(_ bytes: [UInt8]) -> [String] {
  guard let message = try? Wire.decodeClientMessage(bytes) else { return [] }
  switch message {
  case .hello: return ["client hello"]
  case .request(_, .submit): return ["submit"]
  case .request(_, .cancel): return ["cancel"]
  default: return []
  }
}

/// The taps of one run.
private final class Taps: Sendable {
  private let all = Mutex<[Relay]>([])
  var relays: [Relay] { all.withLock { $0 } }

  func open(in folder: String) throws {
    let made = [
      try Relay(
        from: "\(folder)/tap-w1", to: "\(folder)/worker", recorder: Recorder(workerKinds)),
      try Relay(
        from: "\(folder)/tap-w2", to: "\(folder)/worker", recorder: Recorder(workerKinds)),
      try Relay(
        from: "\(folder)/front", to: "\(folder)/client", recorder: Recorder(clientKinds)),
    ]
    all.withLock { $0 = made }
    mix(0.15)
    made[2].shape.replay = 0.3
  }

  func mix(_ share: Double) { for relay in relays { relay.shape.replay = share } }
  func beginLife() { for relay in relays { relay.recorder.beginLife() } }
  func end() { for relay in relays { relay.end() } }
}

/// F52
private func replayed(_ trial: Trial) async throws {
  let rounds = trial.scale.count(6, short: 1)
  let taps = Taps()
  var shape = trial.shape()
  shape.routes = ["w1": "ipc://{folder}/tap-w1", "w2": "ipc://{folder}/tap-w2"]
  shape.prepare = { folder in try taps.open(in: folder) }
  defer { taps.end() }
  try await trial.underLoad(shape) { cluster, load in
    let mixed = try Load(
      LoadShape(graphs: 1, operationsPerGraph: 1, longest: 0), on: cluster,
      address: "ipc://\(cluster.folder)/front")
    let all = load.shape.graphs * load.shape.operationsPerGraph
    let canceller = Counter()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await submitAndCancel(mixed, cluster, canceller) }
      for round in 1...rounds {
        try await cluster.witnessed(all * round / (rounds + 1), by: load)
        try await cluster.kill("opcoord")
        taps.beginLife()
        try await cluster.startCoordinator()
        let worker = "w\(1 + round % 2)"
        try await cluster.kill(worker)
        try cluster.startWorker(worker)
      }
      try await cluster.witnessed(all, by: load)
      mixed.stop()
      try await group.waitForAll()
    }
    taps.mix(0)
    trial.injected("restart of opcoord and of a worker by kill -9", times: rounds)
    trial.injected("graph submitted and cancelled over the tap", times: canceller.count)
    report(taps, trial)
    let journal = JournalModel(try await JournalLine.all(of: cluster))
    for (key, graph) in mixed.accepted {
      trial.expect(
        journal.graphs[key]?.graph == graph, "G19: \(key) was told \(graph.number)")
    }
  }
}

/// Submits small graphs, and held ones that it cancels, over one connection: its requests have
/// numbers of their own in every session.
private func submitAndCancel(_ load: Load, _ cluster: Cluster, _ count: Counter) async throws {
  let connection = try await cluster.reach("ipc://\(cluster.folder)/front")
  var number = 0
  while !load.isOver {
    number += 1
    try await load.submit(Load.probe("probe-9-\(number)"), over: connection)
    var held = Load.probe("held-9-\(number)")
    held.templates[0].isHeld = true
    let graph = try await load.submit(held, over: connection)
    try await cancel(graph, over: connection)
    _ = count.next()
    try await Task.sleep(for: .milliseconds(20))
  }
  await connection.close()
}

/// Asks until it is answered. An answer may be lost with a coordinator that has carried the request
/// out: it then refuses the same request as one about a graph that has ended.
private func cancel(_ graph: GraphID, over connection: ClusterConnection) async throws {
  var isAskedAgain = false
  try await eventually("\(graph.number) is cancelled") {
    defer { isAskedAgain = true }
    do throws(ClientError) {
      _ = try await connection.request(
        .cancel(.selection(.graph(graph)), reason: "F52", grace: nil), timeout: .seconds(10))
      return true
    } catch {
      guard case .refused(let refusal) = error.kind else { return false }
      if refusal.code == .alreadyFinished, isAskedAgain { return true }
      if refusal.code == .busy { return false }
      throw error
    }
  }
}

/// In full, every kind was said again in every age.
private func report(_ taps: Taps, _ trial: Trial) {
  let recorders = taps.relays.map(\.recorder)
  let mixed = recorders.reduce(0) { $0 + $1.mixed }
  trial.injected("message doubled or after the next one", times: mixed)
  let replayed = recorders.reduce(0) { $0 + $1.replayed }
  for kind in ["hello", "start", "finish", "acknowledgement", "client hello", "submit", "cancel"] {
    for age in RecordedAge.allCases {
      let count = recorders.reduce(0) { $0 + $1.replayed(kind, age) }
      trial.injected("\(kind) \(age.rawValue) again", times: count)
      // A client has one session in each life.
      let isClient = ["client hello", "submit", "cancel"].contains(kind)
      if !trial.scale.isShort, !isClient || age != .otherSession {
        trial.expect(count > 0, "no \(kind) \(age.rawValue) was said again")
      }
    }
  }
  trial.note("\(replayed) recorded messages said again, \(mixed) doubled or out of order")
  trial.expect(recorders.allSatisfy { $0.replayed > 0 }, "nothing was said again on one link")
}
