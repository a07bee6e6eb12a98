// What cases read off a trace of gates, and off the coordinator itself.

import OpClusterClient
import OpClusterModel
import RealCluster

extension [Line] {
  /// Gates that have begun, in order.
  var begun: [String] { names(endingWith: "+") }

  /// Gates that have begun and not ended, in order of their beginning.
  var running: [String] {
    let ended = Set(names(endingWith: "-"))
    return begun.filter { !ended.contains($0) }
  }

  /// The most gates that were begun and not ended at one time.
  var peak: Int {
    var (now, most) = (0, 0)
    for line in self {
      if line.text.hasSuffix("+") { now += 1 }
      if line.text.hasSuffix("-") { now -= 1 }
      most = Swift.max(most, now)
    }
    return most
  }

  private func names(endingWith mark: String) -> [String] {
    compactMap { $0.text.hasSuffix(mark) ? String($0.text.dropLast()) : nil }
  }
}

extension ClusterConnection {
  /// The newest entry of the coordinator's log.
  func commit() async throws -> UInt64 {
    guard case .pong(let commit, _, _) = try await request(.ping) else { throw Trouble("ping?") }
    return commit.number
  }
}
