// The rows of section clock: F43 and F44. Wall clocks are false by a library of ours, every other
// clock stays. Any task.

import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster

let clockRows: [FaultRow] = [
  FaultRow(
    number: "F43", name: "wall clocks that are wrong, on one side or both", promise: "G31",
    injection: "±1 h and ±10 years at the start, for opcoord, for a worker, for all three",
    needs: [.compiler], run: wrongClocks),
  FaultRow(
    number: "F44", name: "wall clock that jumps while running; 1971, 2038 and 2106", promise: "G31",
    injection: "another time every few seconds, by hours and by decades", needs: [.compiler],
    isShort: true, run: jumpingClock),
]

/// No worker lost, nothing run twice: no clock of the wall has a say.
private func nothingHappened(_ cluster: Cluster, _ load: Load, _ trial: Trial) async throws {
  let journal = JournalModel(try await JournalLine.all(of: cluster))
  trial.expect(journal.workerLosses == 0, "G31: \(journal.workerLosses) workers were lost")
  noRerun(load, trial)
}

/// The coordinator shows this time, within a minute: the clock is wrong as it should be.
private func shows(_ moment: Int64, _ cluster: Cluster, _ trial: Trial) async throws {
  let connection = try await cluster.reach()
  guard case .configuration(let values) = try await connection.request(.configuration) else {
    throw Trouble("no configuration")
  }
  await connection.close()
  trial.expect(
    abs(values.wall.milliseconds / 1_000 - moment) <= 60,
    "nothing was injected: opcoord shows \(values.wall.milliseconds) ms, not \(moment) s"
  )
}

/// F43
private func wrongClocks(_ trial: Trial) async throws {
  let part = LoadShape(
    graphs: trial.scale.count(8, short: 2), operationsPerGraph: 20,
    longest: trial.scale.isShort ? 0.1 : 2)
  let (hour, years): (Int64, Int64) = (3_600, 3_652 * 86_400)
  try await FaultClock.with { clock in
    for (name, offset) in [("+1 h", hour), ("-1 h", -hour), ("+10 y", years), ("-10 y", -years)] {
      clock.isAhead(by: offset)
      for victims in [["opcoord"], ["w1"], ["opcoord", "w1", "w2"]] {
        var shape = trial.shape()
        for name in victims { shape.launches[name] = clock.launch }
        try await trial.underLoad(shape, load: part) { cluster, load in
          let expected = Int64(time(nil)) + (victims.contains("opcoord") ? offset : 0)
          try await shows(expected, cluster, trial)
          try await cluster.witnessed(part.graphs * part.operationsPerGraph, by: load)
          trial.injected("clock \(name) for \(victims.joined(separator: ", "))")
          try await nothingHappened(cluster, load, trial)
        }
      }
    }
  }
}

/// F44
private func jumpingClock(_ trial: Trial) async throws {
  let hour: Int64 = 3_600
  try await FaultClock.with { clock in
    var shape = trial.shape()
    for name in ["opcoord", "w1", "w2"] { shape.launches[name] = clock.launch }
    try await trial.underLoad(shape) { cluster, load in
      let now = Int64(time(nil))
      // Two seconds before 2^31 and before 2^32, and the beginning of 1971.
      let moments = [2_147_483_646, now + hour, now - hour, 4_294_967_294, 31_536_000, now]
      for moment in (0..<(trial.scale.isShort ? 1 : 3)).flatMap({ _ in moments }) {
        clock.shows(moment)
        trial.injected("jump of every wall clock")
        try await shows(moment, cluster, trial)
        try await Task.sleep(for: .seconds(trial.scale.isShort ? 0.5 : 5))
      }
      try await nothingHappened(cluster, load, trial)
    }
  }
}
