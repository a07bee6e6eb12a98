// A dictionary that grows without a pause, for the same reason as `PagedArray`.

/// Many small dictionaries. Looked up, never iterated.
struct PartitionedDictionary<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// With few keys there is one part.
  private var parts: [[Key: Value]] = [[:]]
  private(set) var count = 0
  private static var keysOfOnePart: Int { 1_024 }
  private static var partCount: Int { 256 }

  var isEmpty: Bool { count == 0 }

  subscript(key: Key) -> Value? {
    get { parts[part(of: key)][key] }
    set {
      let part = part(of: key)
      let before = parts[part].count
      parts[part][key] = newValue
      count += parts[part].count - before
      if parts.count == 1, count > Self.keysOfOnePart { divide() }
    }
  }

  private func part(of key: Key) -> Int {
    // Bits by which the dictionary of a part does not tell its keys apart.
    parts.count == 1 ? 0 : Int(UInt(bitPattern: key.hashValue) >> 32) % parts.count
  }

  private mutating func divide() {
    let whole = parts[0]
    parts = Array(repeating: [:], count: Self.partCount)
    for (key, value) in whole { parts[part(of: key)][key] = value }
  }
}
