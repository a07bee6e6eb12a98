// Which contents have to stay in stores: those that outputs and submissions of living graphs name,
// and of ended graphs those that living ones read. Follows from outputs, submissions and edges
// alone, so that a replay finds the same.

import OpClusterModel

/// Contents that are needed, and by how many outputs. Each method costs the contents that it is
/// given.
struct ContentPins: Sendable {
  private struct Pin {
    var size: Int64
    var outputs: UInt32
  }
  private var pins: [ContentDigest: Pin] = [:]
  /// Those that somebody needs since the last `takeChanges`, and those that nobody does.
  private var changes = Changes()

  /// Some may have changed back since.
  struct Changes {
    var claimed: [ContentDigest] = []
    var freed: [ContentDigest] = []
    var isEmpty: Bool { claimed.isEmpty && freed.isEmpty }
  }

  var isEmpty: Bool { pins.isEmpty }
  var count: Int { pins.count }
  func contains(_ digest: ContentDigest) -> Bool { pins[digest] != nil }

  mutating func pinAll(_ contents: [StoredContent]) {
    for content in contents {
      if pins[content.digest] == nil { changes.claimed.append(content.digest) }
      pins[content.digest, default: Pin(size: content.size, outputs: 0)].outputs += 1
    }
  }

  mutating func unpinAll(_ contents: [StoredContent]) {
    for content in contents {
      guard let outputs = pins[content.digest]?.outputs else { continue }
      pins[content.digest]?.outputs = outputs - 1
      if outputs > 1 { continue }
      pins[content.digest] = nil
      changes.freed.append(content.digest)
    }
  }

  mutating func takeChanges() -> Changes {
    defer { if !changes.isEmpty { changes = Changes() } }
    return changes
  }

  /// For a comparison with what the outputs name.
  var counts: [ContentDigest: UInt32] { pins.mapValues(\.outputs) }
}
