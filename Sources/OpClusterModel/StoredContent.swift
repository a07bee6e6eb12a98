// Bytes that lie in the store of a worker: their name everywhere is their digest. The coordinator
// knows what exists and who has it, and never sees a byte of it.

/// The SHA-256 digest of some bytes.
public struct ContentDigest: Hashable, Sendable, Comparable, CustomStringConvertible {
  public static let byteCount = 32
  /// The bytes from the first, as big-endian words, so that the order of words is that of the text.
  private let words: SIMD4<UInt64>

  /// nil unless there are exactly 32 bytes.
  public init?(bytes: some Collection<UInt8>) {
    guard bytes.count == Self.byteCount else { return nil }
    var words = SIMD4<UInt64>()
    for (position, byte) in bytes.enumerated() {
      words[position / 8] = words[position / 8] << 8 | UInt64(byte)
    }
    self.words = words
  }

  /// nil unless it is 64 hexadecimal digits, small ones.
  public init?(_ text: some StringProtocol) {
    guard text.utf8.count == Self.byteCount * 2 else { return nil }
    var words = SIMD4<UInt64>()
    for (position, character) in text.utf8.enumerated() {
      let digit: UInt8
      switch character {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = character - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = character - UInt8(ascii: "a") + 10
      default: return nil
      }
      words[position / 16] = words[position / 16] << 4 | UInt64(digit)
    }
    self.words = words
  }

  public var bytes: [UInt8] {
    (0..<Self.byteCount).map { UInt8(truncatingIfNeeded: words[$0 / 8] >> (56 - $0 % 8 * 8)) }
  }

  /// 64 hexadecimal digits.
  public var description: String {
    var text = ""
    text.reserveCapacity(Self.byteCount * 2)
    for byte in bytes {
      text.append(Self.digits[Int(byte >> 4)])
      text.append(Self.digits[Int(byte & 15)])
    }
    return text
  }

  /// The first digits, for people; enough to tell the contents of a cluster apart.
  public var short: Substring { description.prefix(12) }

  private static let digits = Array("0123456789abcdef")

  public static func < (one: Self, other: Self) -> Bool {
    for position in 0..<4 where one.words[position] != other.words[position] {
      return one.words[position] < other.words[position]
    }
    return false
  }
}

/// Some bytes, wherever they lie.
public struct StoredContent: Hashable, Sendable {
  public var digest: ContentDigest
  /// The number of bytes, 0 to `Limits.contentBytes`.
  public var size: Int64

  public init(digest: ContentDigest, size: Int64) {
    self.digest = digest
    self.size = size
  }
}
