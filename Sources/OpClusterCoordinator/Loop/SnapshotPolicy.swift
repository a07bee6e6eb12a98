// Decides when a snapshot is due, and divides its records into parts that the journal's thread
// encodes one by one. Pure except for the counter that the journal's thread updates.

import OpClusterJournal
import OpClusterModel
import OpClusterScheduling
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

/// A snapshot in parts of moderate size; each large graph is a part of its own.
struct SnapshotParts: SnapshotContent {
  private let image: ClusterImage
  private let pieces: [ClusterImage.Piece]
  /// The end of each part in `pieces`.
  private let ends: [Int]
  private let size: SnapshotSize
  /// The weight of a part in records; a living graph weighs as much as its operations, and 256
  /// bytes that somebody brought as much as one. Encoding a part takes its bytes three times, and
  /// few graphs may have tens of megabytes.
  private static let weightOfPart = 4_096
  private static let bytesOfRecord = 256

  /// Costs all but the operations of graphs.
  ///
  /// - Parameter size: Counts the bytes of the parts that are encoded.
  init(_ image: ClusterImage, _ size: SnapshotSize) {
    self.image = image
    self.size = size
    pieces = image.pieces
    var ends: [Int] = []
    var weight = 0
    for at in pieces.indices {
      weight += Self.weight(pieces[at], in: image)
      if weight >= Self.weightOfPart {
        ends.append(at + 1)
        weight = 0
      }
    }
    if ends.last != pieces.count { ends.append(pieces.count) }
    self.ends = ends
  }

  var count: Int { ends.count }

  func encoded(_ part: Int) -> [UInt8] {
    let range = (part == 0 ? 0 : ends[part - 1])..<ends[part]
    let bytes = Wire.encode(records: pieces[range].flatMap { image.records(of: $0) })
    size.add(bytes.count)
    return bytes
  }

  private static func weight(_ piece: ClusterImage.Piece, in image: ClusterImage) -> Int {
    switch piece {
    case .graph(let number):
      let (operations, bytes) = image.size(of: number)
      return 2 + operations + bytes / bytesOfRecord
    case .record(.restoredEnding(let ended)): return 1 + ended.outcomes.count / 64
    case .record(.restoredKeys(let kept)): return 1 + kept.count / 4
    case .record(.restoredReusable(let outcomes)):
      return outcomes.reduce(1) { $0 + 1 + $1.output.count / bytesOfRecord }
    case .record: return 1
    }
  }
}
