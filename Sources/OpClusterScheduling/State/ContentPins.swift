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
    /// The stores in which it is to lie: the most that one of them wants.
    var copies: UInt8
  }
  private var pins: [ContentDigest: Pin] = [:]
  /// Those that somebody needs since the last `takeChanges`, and those that nobody does.
  private var changes = Changes()

  /// Some may have changed back since.
  struct Changes {
    var claimed: [ContentDigest] = []
    var freed: [ContentDigest] = []
    /// Those that are to lie in several stores, or in more than before.
    var dear: [ContentDigest] = []
    /// Those among the freed that were to lie in several stores, and in how many.
    var dearFreed: [(content: StoredContent, copies: UInt8)] = []
    var isEmpty: Bool { claimed.isEmpty && freed.isEmpty && dear.isEmpty }
  }

  var isEmpty: Bool { pins.isEmpty }
  var count: Int { pins.count }
  func contains(_ digest: ContentDigest) -> Bool { pins[digest] != nil }

  /// In how many stores it is to lie; 0: nobody needs it.
  func copies(of digest: ContentDigest) -> Int { Int(pins[digest]?.copies ?? 0) }
  func size(of digest: ContentDigest) -> Int64? { pins[digest]?.size }

  /// - Parameter copies: The stores in which they are to lie, at least 1.
  mutating func pinAll(_ contents: [StoredContent], copies: UInt8 = 1) {
    for content in contents {
      var pin = pins[content.digest] ?? Pin(size: content.size, outputs: 0, copies: 1)
      if pin.outputs == 0 { changes.claimed.append(content.digest) }
      pin.outputs += 1
      if copies > pin.copies {
        pin.copies = copies
        changes.dear.append(content.digest)
      }
      pins[content.digest] = pin
    }
  }

  mutating func unpinAll(_ contents: [StoredContent]) {
    for content in contents {
      guard let pin = pins[content.digest] else { continue }
      pins[content.digest]?.outputs = pin.outputs - 1
      if pin.outputs > 1 { continue }
      pins[content.digest] = nil
      changes.freed.append(content.digest)
      if pin.copies > 1 { changes.dearFreed.append((content, pin.copies)) }
    }
  }

  mutating func takeChanges() -> Changes {
    defer { if !changes.isEmpty { changes = Changes() } }
    return changes
  }

  /// For a comparison with what the outputs name.
  var counts: [ContentDigest: UInt32] { pins.mapValues(\.outputs) }
}
