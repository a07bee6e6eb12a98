// What becomes of good bytes on the way: bits, cuts, doubled pieces, huge numbers. Knows nothing of
// their form; `WireMutation` does.

extension MessageGenerator {
  /// One to four changes: a bit, a byte, a cut, a doubled piece, a huge varint; or mere noise.
  package mutating func mutated(_ good: [UInt8]) -> [UInt8] {
    if below(16) == 0 { return bytes(200) }
    var bytes = good
    for _ in 0..<(below(4) + 1) where !bytes.isEmpty {
      let at = below(bytes.count)
      switch below(6) {
      case 0: bytes[at] ^= 1 << UInt8(below(8))
      case 1: bytes[at] = UInt8(truncatingIfNeeded: bits())
      case 2: bytes.removeLast(bytes.count - at)
      case 3: bytes.insert(contentsOf: bytes[at..<min(at + below(20), bytes.count)], at: at)
      case 4: bytes.remove(at: at)
      default: bytes.insert(contentsOf: Array(repeating: 0xff, count: below(10)) + [1], at: at)
      }
    }
    return bytes
  }
}
