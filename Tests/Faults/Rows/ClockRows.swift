// The rows of section clock: F43 and F44. Wall clocks are false by libfaketime, the monotonic clock
// stays. Any task.

import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster

let clockRows: [FaultRow] = [
  FaultRow(
    number: "F43", name: "wall clocks that are wrong, on one side or both", promise: "G31",
    injection: "±1 h and ±10 years at the start, for opcoord, for a worker, for both",
    needs: [.faketime], run: wrongClocks),
  FaultRow(
    number: "F44", name: "wall clock that jumps while running; 2038 and 2106", promise: "G31",
    injection: "another time every few seconds, by hours and by decades", needs: [.faketime],
    run: jumpingClock),
]

private func faked(_ library: String, _ more: [String]) -> Cluster.Launch {
  Cluster.Launch(
    variables: ["LD_PRELOAD=\(library)", "FAKETIME_DONT_FAKE_MONOTONIC=1", "DONT_FAKE_MONOTONIC=1"]
      + more)
}

/// No worker lost, nothing run twice: no clock of the wall has a say.
private func nothingHappened(_ cluster: Cluster, _ load: Load, _ trial: Trial) async throws {
  let journal = JournalModel(try await JournalLine.all(of: cluster))
  trial.expect(journal.workerLosses == 0, "G31: \(journal.workerLosses) workers were lost")
  noRerun(load, trial)
}

/// F43
private func wrongClocks(_ trial: Trial) async throws {
  guard let library = Surroundings.faketime else { throw NotRun(reason: "no libfaketime") }
  let part = LoadShape(
    graphs: trial.scale.count(8, short: 2), operationsPerGraph: 20,
    longest: trial.scale.isShort ? 0.1 : 2)
  for offset in ["+1h", "-1h", "+10y", "-10y"] {
    for victims in [["opcoord"], ["w1"], ["opcoord", "w1", "w2"]] {
      var shape = trial.shape()
      for name in victims { shape.launches[name] = faked(library, ["FAKETIME=\(offset)"]) }
      try await trial.underLoad(shape, load: part) { cluster, load in
        try await cluster.witnessed(part.graphs * part.operationsPerGraph, by: load)
        trial.injected("clock \(offset) for \(victims.joined(separator: ", "))")
        try await nothingHappened(cluster, load, trial)
      }
    }
  }
}

/// F44
private func jumpingClock(_ trial: Trial) async throws {
  guard let library = Surroundings.faketime else { throw NotRun(reason: "no libfaketime") }
  let moments = [
    "@2038-01-19 03:14:05", "+1h", "-1h", "@2106-02-07 06:28:12", "@1971-01-01 00:00:00", "+0",
  ]
  var shape = trial.shape()
  let variables = ["FAKETIME_TIMESTAMP_FILE={folder}/clock", "FAKETIME_NO_CACHE=1"]
  for name in ["opcoord", "w1", "w2"] { shape.launches[name] = faked(library, variables) }
  shape.prepare = { try write("+0\n", to: "\($0)/clock") }
  try await trial.underLoad(shape) { cluster, load in
    let rounds = trial.scale.isShort ? 1 : 3
    for moment in (0..<rounds).flatMap({ _ in moments }) {
      try write("\(moment)\n", to: "\(cluster.folder)/clock")
      trial.injected("jump of every wall clock")
      try await Task.sleep(for: .seconds(trial.scale.isShort ? 0.5 : 5))
    }
    try await nothingHappened(cluster, load, trial)
  }
}
