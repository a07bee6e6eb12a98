// The rows of section protocol; those that need more than a few lines are in the folder Hostile.
// Any task.

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
  greetingRow, keyRow, malformedRow, peerVersionRow, crowdRow, subscriberRow, injectionRow,
  unsafeFileRow,
]

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
