// Rows beyond the fault table: the guarantees about bounds (G29, G30), measured against real
// daemons. They are named by their guarantee. Any task.

import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster

let boundRows: [FaultRow] =
  floodRows + [
    FaultRow(
      number: "G29-MEMORY", name: "memory at full size", promise: "G29",
      injection: "as many operations, bytes, names, outputs and subscribers as may be",
      run: memoryAtFullSize),
    FaultRow(
      number: "G30", name: "an idle coordinator", promise: "G30 A7",
      injection: "a thousand silent connections; more than there are descriptors",
      run: idleProcessor),
  ]

private let floodRows: [FaultRow] = Flood.allCases.map { flood in
  FaultRow(
    number: "G29-\(flood.rawValue.uppercased())", name: "a client that floods: \(flood.title)",
    promise: "G29",
    injection: "as much as it can, beside another client; compared with a process that burns as "
      + "much processor outside of the cluster"
  ) { trial in try await others(beside: flood, trial) }
}

/// G29: others keep at least 80 % of what they get done.
private func others(beside flood: Flood, _ trial: Trial) async throws {
  let rounds = trial.scale.count(15, short: 1)
  let seconds = trial.scale.isShort ? 0.2 : 1.0
  try await Cluster.with(trial.shape()) { cluster in
    let connection = try await cluster.reach()
    _ = try await connection.request(.submit(Flood.large(templates: 20_000)))
    var pairs: [Pursuit: Pairs] = [:]
    for pursuit in Pursuit.allCases { _ = try await pursuit.rate(connection, seconds: 0.2) }
    var shares = Series()
    for _ in 0..<rounds {
      let (beside, share) = try await measured(
        connection, seconds, cluster, ["--neighbour", flood.rawValue, cluster.address])
      shares.add(share)
      // With as little processor left as before.
      let (alone, _) = try await measured(
        connection, seconds, cluster, ["--burn", "\(min(share, 1))"])
      for (pursuit, rate) in alone {
        pairs[pursuit, default: Pairs()].add(alone: rate, beside: beside[pursuit] ?? 0)
      }
      trial.injected("flood", times: 1)
    }
    trial.note("processors used by the flood, and burnt in comparison: \(shares.text)")
    for pursuit in Pursuit.allCases {
      guard let pair = pairs[pursuit] else { continue }
      trial.note("\(pursuit.rawValue): \(pair.text)")
      trial.expect(
        pair.ratio >= 0.8, "G29: \(pursuit.rawValue) beside it: \(Moment.text(pair.ratio))")
    }
    await connection.close()
  }
}

/// What another client gets done beside a program, and how much processor that uses.
private func measured(
  _ connection: ClusterConnection, _ seconds: Double, _ cluster: Cluster, _ arguments: [String]
) async throws -> ([Pursuit: Double], Double) {
  let program = try cluster.startClient("FaultRows", arguments)
  defer { program.signal(SIGKILL) }
  try await Task.sleep(for: .milliseconds(500))
  let (start, used) = (Moment.now, Surroundings.processorSeconds(program.process))
  var rates: [Pursuit: Double] = [:]
  for pursuit in Pursuit.allCases {
    rates[pursuit] = try await pursuit.rate(connection, seconds: seconds)
  }
  let share =
    (Surroundings.processorSeconds(program.process) - used) / Moment.now.seconds(since: start)
  if let end = program.end { throw Trouble("the flood ended with \(end): \(program.error)") }
  program.signal(SIGKILL)
  try await program.ended()
  try await Task.sleep(for: .milliseconds(300))
  return (rates, share)
}
