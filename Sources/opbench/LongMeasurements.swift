// Ten million operations through one coordinator: whether its last million is as fast as its first,
// and what it keeps of what has ended, in memory and on disk.

import FoundationEssentials
import OpClusterClient

extension Measurements {
  /// Graphs of 100,000 no-ops one after the other. The figures of each million: its rate, and the
  /// coordinator's resident memory and the size of its state folder behind it.
  static func manyMillions(_ millions: Int) async throws -> [(String, Double)] {
    let graph = Graphs.independent(100_000)
    return try await MeasuredCluster.use { cluster in
      let process = cluster.processes[0].number
      var figures: [(String, Double)] = []
      var rates: [Double] = []
      for million in 1...millions {
        let time = try await seconds {
          for _ in 0..<10 { try await Follower(cluster.connection).run(graph) }
        }
        rates.append(1_000_000 / time)
        let name = million < 10 ? "million 0\(million)" : "million \(million)"
        figures += [
          ("\(name), per second", 1_000_000 / time),
          ("\(name), MiB of memory", Double(residentBytes(of: process)) / 1_048_576),
          ("\(name), MiB on disk", Double(bytes(below: cluster.stateFolder)) / 1_048_576),
        ]
      }
      let kept = rates[millions - 1] / rates[0] * 100
      return figures + [("the last million, percent of the rate of the first", kept)]
    }
  }

  /// The sizes of the files in a folder without folders.
  private static func bytes(below folder: String) -> Int {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.reduce(0) { sum, name in
      let attributes = try? FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")
      return sum + ((attributes?[.size] as? Int) ?? 0)
    }
  }
}
