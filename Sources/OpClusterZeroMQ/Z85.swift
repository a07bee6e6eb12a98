// Z85, the printable spelling of 32-byte keys that ZeroMQ's own tools use (ZeroMQ RFC 32). Pure.

/// Groups of four bytes as five printable characters, none of them a blank, a quote or a backslash.
enum Z85 {
  private static let alphabet = Array(
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#".utf8)

  /// The value of each character; 255 for those that are not in the alphabet.
  private static let values: [UInt8] = {
    var values = [UInt8](repeating: .max, count: 256)
    for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
    return values
  }()

  /// The text of a whole number of groups.
  static func encode(_ bytes: [UInt8]) -> String {
    precondition(bytes.count.isMultiple(of: 4), "Z85 knows groups of four bytes only")
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count / 4 * 5)
    for start in stride(from: 0, to: bytes.count, by: 4) {
      let word = bytes[start..<start + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      var divisor: UInt32 = 85 * 85 * 85 * 85
      for _ in 0..<5 {
        text.append(alphabet[Int(word / divisor % 85)])
        divisor /= 85
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// The bytes of a text; nil if it is not the spelling of a whole number of groups.
  static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    guard text.count.isMultiple(of: 5) else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count / 5 * 4)
    var word: UInt64 = 0
    var inGroup = 0
    for character in text {
      let value = values[Int(character)]
      guard value != .max else { return nil }
      word = word * 85 + UInt64(value)
      inGroup += 1
      guard inGroup == 5 else { continue }
      guard let group = UInt32(exactly: word) else { return nil }
      for shift in [24, 16, 8, 0] as [UInt32] {
        bytes.append(UInt8(truncatingIfNeeded: group >> shift))
      }
      word = 0
      inGroup = 0
    }
    return bytes
  }
}
