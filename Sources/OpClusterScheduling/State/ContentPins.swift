// Which contents have to stay in stores: those that outputs and submissions of living graphs name,
// and of ended graphs those that living ones read. Follows from outputs, submissions and edges
// alone, so that a replay finds the same.

import OpClusterModel

/// Contents that are needed, by how many outputs, and in how many stores they are to lie. Each
/// method costs the contents that it is given.
struct ContentPins: Sendable {
  private var pins: [ContentDigest: Pin] = [:]
  /// The outputs that want several stores; few contents have any.
  private var dear: [ContentDigest: DearClaims] = [:]
  /// Those that somebody needs since the last `takeChanges`, and those that nobody does.
  private var changes = Changes()

  private struct Pin {
    var size: Int64
    var outputs: UInt32
  }

  /// How many outputs want so many stores, by their number.
  private struct DearClaims: Equatable {
    private var outputs = [UInt32](repeating: 0, count: Int(Limits.replicas) + 1)

    /// The most that one of them wants; 1: none wants several.
    var copies: UInt8 { UInt8(outputs.lastIndex { $0 > 0 } ?? 1) }
    mutating func claim(_ copies: UInt8) { outputs[Int(copies)] += 1 }
    mutating func release(_ copies: UInt8) { outputs[Int(copies)] -= 1 }
  }

  /// Some may have changed back since.
  struct Changes {
    var claimed: [ContentDigest] = []
    var freed: [ContentDigest] = []
    /// Those that are to lie in several stores, or in more than before.
    var dear: [ContentDigest] = []
    /// Those that were to lie in several stores, and need not any more, and in how many.
    var dearFreed: [(content: StoredContent, copies: UInt8)] = []
    var isEmpty: Bool {
      claimed.isEmpty && freed.isEmpty && dear.isEmpty && dearFreed.isEmpty
    }
  }

  var isEmpty: Bool { pins.isEmpty }
  var count: Int { pins.count }
  func contains(_ digest: ContentDigest) -> Bool { pins[digest] != nil }

  /// In how many stores it is to lie, the most that an output wants; 0: nobody needs it.
  func copies(of digest: ContentDigest) -> Int {
    pins[digest] == nil ? 0 : Int(dear[digest]?.copies ?? 1)
  }
  func size(of digest: ContentDigest) -> Int64? { pins[digest]?.size }

  /// - Parameter copies: The stores in which they are to lie, 1 to `Limits.replicas`.
  mutating func pinAll(_ contents: [StoredContent], copies: UInt8) {
    for content in contents {
      var pin = pins[content.digest] ?? Pin(size: content.size, outputs: 0)
      if pin.outputs == 0 { changes.claimed.append(content.digest) }
      pin.outputs += 1
      pins[content.digest] = pin
      guard copies > 1 else { continue }
      if Int(copies) > self.copies(of: content.digest) { changes.dear.append(content.digest) }
      dear[content.digest, default: DearClaims()].claim(copies)
    }
  }

  /// - Parameter copies: As they were pinned.
  mutating func unpinAll(_ contents: [StoredContent], copies: UInt8) {
    for content in contents {
      guard let pin = pins[content.digest] else { continue }
      if copies > 1 { removeDear(content, copies) }
      pins[content.digest]?.outputs = pin.outputs - 1
      if pin.outputs > 1 { continue }
      pins[content.digest] = nil
      changes.freed.append(content.digest)
    }
  }

  private mutating func removeDear(_ content: StoredContent, _ copies: UInt8) {
    dear[content.digest]?.release(copies)
    let left = dear[content.digest]?.copies ?? 1
    if left == 1 { dear[content.digest] = nil }
    if left < copies { changes.dearFreed.append((content, copies)) }
  }

  mutating func takeChanges() -> Changes {
    defer { if !changes.isEmpty { changes = Changes() } }
    return changes
  }

  /// For a comparison with what the outputs name. Sizes are left out: outputs of a faulty worker
  /// may name different ones.
  func isSame(as other: Self) -> Bool {
    pins.mapValues(\.outputs) == other.pins.mapValues(\.outputs) && dear == other.dear
  }
}
