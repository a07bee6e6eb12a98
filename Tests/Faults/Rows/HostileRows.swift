// The rows of section protocol; those that need more than a few lines are in the folder Hostile.
// Any task.

import FoundationEssentials
import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster

let hostileRows: [FaultRow] = [
  FaultRow(
    number: "F51", name: "flood and vanish while the disk stalls", promise: "G27 G33 G22 A1",
    injection: "every sync takes 2 s; 3,000 submissions without waiting, then kill -9",
    needs: [.compiler], run: floodAndVanish),
  replayRow, greetingRow, keyRow, malformedRow, peerVersionRow, crowdRow, subscriberRow,
  injectionRow,
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
