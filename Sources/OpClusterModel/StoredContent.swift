// Bytes that lie in the store of a worker: their name everywhere is their digest. The coordinator
// knows what exists and who has it, and never sees a byte of it.

/// The SHA-256 digest of some bytes.
public struct ContentDigest: Hashable, Sendable, Comparable, CustomStringConvertible {
  public static let byteCount = 32
  /// The bytes from the first, as big-endian words, so that the order of words is that of the text.
  /// Four fields: a vector has an alignment that the memory of tasks does not give, and its users
  /// crash there.
  private let first, second, third, fourth: UInt64

  /// nil unless there are exactly 32 bytes.
  public init?(bytes: some Collection<UInt8>) {
    guard bytes.count == Self.byteCount else { return nil }
    var rest = bytes[...]
    func next() -> UInt64 {
      defer { rest = rest.dropFirst(8) }
      return rest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
    (first, second, third, fourth) = (next(), next(), next(), next())
  }

  /// nil unless it is 64 hexadecimal digits, small ones.
  public init?(_ text: some StringProtocol) {
    guard text.utf8.count == Self.byteCount * 2 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Self.byteCount)
    var high: UInt8?
    for character in text.utf8 {
      let digit: UInt8
      switch character {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = character - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = character - UInt8(ascii: "a") + 10
      default: return nil
      }
      if let first = high { bytes.append(first << 4 | digit) }
      high = high == nil ? digit : nil
    }
    self.init(bytes: bytes)
  }

  /// The first byte, a number that divides many contents into parts of one size.
  package var leadingByte: UInt8 { UInt8(truncatingIfNeeded: first >> 56) }

  public var bytes: [UInt8] {
    [first, second, third, fourth].flatMap { word in
      (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - $0 * 8)) }
    }
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
    (one.first, one.second, one.third, one.fourth)
      < (other.first, other.second, other.third, other.fourth)
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
