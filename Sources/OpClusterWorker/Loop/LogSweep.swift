// Limits the disk usage of the logs of ended attempts: removes the oldest first. Runs on a thread
// of its own and walks over all log files twice: first to weigh them by age, then, if there is too
// much, to remove. Its memory does not depend on the number of files.

import OpClusterAttempts
import OpClusterModel

struct LogSweep: Sendable {
  /// The worker's folder: a folder of logs for each graph.
  let folder: String
  /// Maximum bytes of all logs.
  let bytes: Int64
  /// The log names of running attempts, without the suffix of the stream.
  let running: Set<String>

  struct Outcome: Equatable, Sendable {
    /// The bytes before the removal.
    var bytes: Int64 = 0
    var removedBytes: Int64 = 0
    var removedFiles = 0
  }

  /// A file in each graph's folder from which logs were removed, so that a missing log is not taken
  /// for an empty one.
  static let mark = "swept"

  private static let minutes = 60 * 24 * 30
  /// Younger logs, in minutes, may still be written.
  private static let youngest = 1

  /// Bytes by age in minutes; the last entry has everything older.
  private struct Weights {
    var bytes = [Int64](repeating: 0, count: LogSweep.minutes)
  }

  static func name(_ attempt: AttemptID) -> String {
    "\(attempt.operation.graph.number)/\(attempt.operation.index).\(attempt.attempt)"
  }

  /// - Parameter now: Seconds since 1970.
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

  /// Makes room for a tenth more, so that not every sweep has to remove something.
  private func firstToGo(_ weights: Weights) -> Int {
    var kept: Int64 = 0
    for age in weights.bytes.indices {
      kept = kept.saturatingAdd(weights.bytes[age])
      if kept > bytes / 10 * 9 { return max(age, Self.youngest) }
    }
    return weights.bytes.count
  }

  /// Calls `body` with the graph, the file, its disk usage, and its age in minutes.
  private func forEachLog(_ now: Int64, _ body: (String, String, Int64, Int) -> Void) {
    for graph in Folders.names(in: folder) where UInt32(graph) != nil {
      for name in Folders.names(in: "\(folder)/\(graph)") where name != Self.mark {
        guard let weight = Folders.weight(of: "\(folder)/\(graph)/\(name)") else { continue }
        body(graph, name, weight.bytes, Self.age(weight.changed, now))
      }
    }
  }

  /// A file's owner can set any time: a time in the future counts as the oldest.
  private static func age(_ changed: Int64, _ now: Int64) -> Int {
    let seconds = now.saturatingSubtract(changed)
    if seconds < -60 { return minutes - 1 }
    return Int(min(max(seconds, 0) / 60, Int64(minutes - 1)))
  }

  private static func attempt(of name: String) -> Substring {
    guard let dot = name.lastIndex(of: ".") else { return name[...] }
    return name[..<dot]
  }

  /// The default limit of logs: a tenth of the disk, at most 10 GiB.
  static func usualBytes(of folder: String) -> Int64 {
    let most = Limits.logBytesPerWorker
    return min(most, (Folders.diskBytes(of: folder) ?? .max) / 10)
  }
}
