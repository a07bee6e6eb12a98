// The checksum of all stored rows, over two numbers and a body. Pure; any thread.

/// A 64-bit checksum similar to FNV-1a, with eight bytes per step instead of one.
///
/// Each step is `hash = (hash ^ word) * prime; hash ^= hash >> 32`. For a given hash a step is a
/// bijection of words, so it always detects damage within one aligned word of eight bytes; it
/// misses other damage with a probability of about 2^-64. The checksum protects against failing
/// disks, not against people. The length is mixed in, and the last word is padded with zeros.
enum Checksum {
  private static let basis: UInt64 = 0xcbf2_9ce4_8422_2325
  private static let prime: UInt64 = 0x9e37_79b9_7f4a_7c15

  @inline(__always)
  private static func mix(_ hash: UInt64, _ word: UInt64) -> UInt64 {
    let product = (hash ^ word) &* prime
    return product ^ (product >> 32)
  }

  /// The checksum as SQLite stores it.
  static func of(_ first: Int64, _ second: Int64, _ body: UnsafeRawBufferPointer) -> Int64 {
    var hash = mix(mix(basis, UInt64(bitPattern: first)), UInt64(bitPattern: second))
    hash = mix(hash, UInt64(body.count))
    let whole = body.count & ~7
    var offset = 0
    while offset < whole {
      let word = unsafe body.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      hash = mix(hash, UInt64(littleEndian: word))
      offset += 8
    }
    var tail: UInt64 = 0
    var shift: UInt64 = 0
    while offset < body.count {
      tail |= unsafe UInt64(body[offset]) << shift
      shift += 8
      offset += 1
    }
    return Int64(bitPattern: mix(hash, tail))
  }

  static func of(_ first: Int64, _ second: Int64, _ body: [UInt8]) -> Int64 {
    unsafe body.withUnsafeBytes { unsafe of(first, second, $0) }
  }
}
