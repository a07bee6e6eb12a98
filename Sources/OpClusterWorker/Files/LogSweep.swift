// Bounds what the logs of ended attempts take on the disk: the oldest go first. On a thread of its
// own, which walks over all log files twice: once to weigh them by age, and where they are too much
// once more to remove. What it keeps in mind is the same for ten files as for ten million.

import OpClusterModel

struct LogSweep: Sendable {
  /// The worker's folder: a folder of logs for each graph.
  let folder: String
  /// What all logs may take.
  let bytes: Int64
  /// Names of the logs of attempts that run, without what tells the streams apart.
  let running: Set<String>

  struct Outcome: Equatable, Sendable {
    /// Before anything was removed.
    var bytes: Int64 = 0
    var removedBytes: Int64 = 0
    var removedFiles = 0
  }

  /// In the folder of a graph of which logs were removed: so that one that is missing is not taken
  /// for one that was empty.
  static let mark = "swept"

  private static let minutes = 60 * 24 * 30
  /// Younger ones may still be written.
  private static let youngest = 1

  /// By age in minutes; the last has all that is older.
  private struct Weights {
    var bytes = [Int64](repeating: 0, count: LogSweep.minutes)
  }

  static func name(_ attempt: AttemptID) -> String {
    "\(attempt.operation.graph.number)/\(attempt.operation.index).\(attempt.attempt)"
  }

  /// - Parameter now: seconds since 1970.
  func run(now: Int64) -> Outcome {
    var weights = Weights()
    forEachLog(now) { _, _, size, age in
      weights.bytes[age] = weights.bytes[age].saturatingAdd(size)
    }
    var outcome = Outcome()
    outcome.bytes = weights.bytes.reduce(0) { $0.saturatingAdd($1) }
    guard outcome.bytes > bytes else { return outcome }
    let oldest = firstToGo(weights)
    var swept = ""
    forEachLog(now) { graph, name, size, age in
      guard age >= oldest, !running.contains("\(graph)/\(Self.attempt(of: name))") else { return }
      if swept != graph {
        Folders.touch("\(folder)/\(graph)/\(Self.mark)")
        swept = graph
      }
      Folders.remove("\(folder)/\(graph)/\(name)")
      outcome.removedFiles += 1
      outcome.removedBytes = outcome.removedBytes.saturatingAdd(size)
    }
    return outcome
  }

  /// A tenth is made room for, so that not every sweep has to remove something.
  private func firstToGo(_ weights: Weights) -> Int {
    var kept: Int64 = 0
    for age in weights.bytes.indices {
      kept = kept.saturatingAdd(weights.bytes[age])
      if kept > bytes / 10 * 9 { return max(age, Self.youngest) }
    }
    return weights.bytes.count
  }

  /// Calls `body` with the graph, the file, what it takes, and its age in minutes.
  private func forEachLog(_ now: Int64, _ body: (String, String, Int64, Int) -> Void) {
    for graph in Folders.names(in: folder) where UInt32(graph) != nil {
      for name in Folders.names(in: "\(folder)/\(graph)") where name != Self.mark {
        guard let weight = Folders.weight(of: "\(folder)/\(graph)/\(name)") else { continue }
        body(graph, name, weight.bytes, Self.age(weight.changed, now))
      }
    }
  }

  /// Whoever owns a file sets its time as he likes: what comes from the future is the oldest.
  private static func age(_ changed: Int64, _ now: Int64) -> Int {
    let seconds = now.saturatingSubtract(changed)
    if seconds < -60 { return minutes - 1 }
    return Int(min(max(seconds, 0) / 60, Int64(minutes - 1)))
  }

  private static func attempt(of name: String) -> Substring {
    guard let dot = name.lastIndex(of: ".") else { return name[...] }
    return name[..<dot]
  }

  /// What logs may take where nobody says it: a tenth of the disk, at most 10 GiB.
  static func usualBytes(of folder: String) -> Int64 {
    let most = Limits.logBytesPerWorker
    return min(most, (Folders.diskBytes(of: folder) ?? .max) / 10)
  }
}
