// Decides when a snapshot is due, and divides its records into parts that the journal's thread
// encodes one by one. Pure except for the counter that the journal's thread updates.

import OpClusterModel
import OpClusterWire
import Synchronization

struct SnapshotPolicy {
  private let turns: Int
  private let bytes: Int
  private var turnsSince = 0
  private var bytesSince = 0
  private(set) var isRunning = false
  /// The size of the last snapshot.
  private var lastSize: SnapshotSize?

  init(turns: Int, bytes: Int) {
    self.turns = max(turns, 1)
    self.bytes = max(bytes, 1)
  }

  mutating func appended(bytes count: Int) {
    turnsSince += 1
    bytesSince += count
  }

  /// Whether a snapshot is due. A large state is written less often.
  var isDue: Bool {
    guard !isRunning, turnsSince > 0 else { return false }
    let size = lastSize?.bytes ?? 0
    return bytesSince >= max(bytes, 2 * size) || (turnsSince >= turns && bytesSince >= size / 4)
  }

  mutating func began(_ size: SnapshotSize) {
    isRunning = true
    turnsSince = 0
    bytesSince = 0
    lastSize = size
  }

  mutating func ended() { isRunning = false }
}

/// Counts the bytes of a snapshot. Any thread.
final class SnapshotSize: Sendable {
  private let count = Atomic<Int>(0)
  var bytes: Int { count.load(ordering: .relaxed) }
  func add(_ bytes: Int) { count.wrappingAdd(bytes, ordering: .relaxed) }
}

/// The records of a snapshot in parts of moderate size; each large graph is a part of its own.
struct SnapshotParts: Sendable {
  private let records: [Record]
  /// The end of each part in `records`.
  private let ends: [Int]
  /// The weight of a part in records; a living graph weighs as much as its operations.
  private static let weightOfPart = 4_096

  init(_ records: [Record]) {
    self.records = records
    var ends: [Int] = []
    var weight = 0
    for at in records.indices {
      weight += Self.weight(records[at])
      if weight >= Self.weightOfPart {
        ends.append(at + 1)
        weight = 0
      }
    }
    if ends.last != records.count { ends.append(records.count) }
    self.ends = ends
  }

  var count: Int { ends.count }

  /// The bytes of a part.
  func encoded(_ part: Int) -> [UInt8] {
    Wire.encode(records: Array(records[(part == 0 ? 0 : ends[part - 1])..<ends[part]]))
  }

  private static func weight(_ record: Record) -> Int {
    switch record {
    case .restoredGraph(let state): 1 + state.phases.count
    case .restoredEnding(let ended): 1 + ended.outcomes.count / 64
    case .restoredKeys(let kept): 1 + kept.count / 4
    default: 1
    }
  }
}
