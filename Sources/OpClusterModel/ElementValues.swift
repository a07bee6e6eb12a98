// Encodes an array element's values. The client writes them, the worker reads them; they are opaque
// in between. Value types only.

/// The values of one element, by position in `CommandSpecification.elementKeys`.
///
/// The encoding depends on the number of keys. One key: the value's UTF-8. Several keys: for each
/// value its length in bytes as a varint (seven bits per byte, lowest first, top bit set on all
/// bytes but the last), then its UTF-8. No keys: no bytes.
public enum ElementValues {
  public static func encode(_ values: [String]) -> [UInt8] {
    if values.count == 1 { return Array(values[0].utf8) }
    var bytes: [UInt8] = []
    for value in values {
      var rest = value.utf8.count
      while rest >= 0x80 {
        bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
        rest >>= 7
      }
      bytes.append(UInt8(rest))
      bytes.append(contentsOf: value.utf8)
    }
    return bytes
  }

  /// Returns nil unless the bytes are exactly `keyCount` values of valid UTF-8.
  public static func decode(_ bytes: [UInt8], keyCount: Int) -> [String]? {
    if keyCount == 1 { return String(validating: bytes, as: UTF8.self).map { [$0] } }
    var values: [String] = []
    var at = 0
    while values.count < keyCount {
      guard let length = readLength(bytes, at: &at), length <= bytes.count - at,
        let value = String(validating: bytes[at..<(at + length)], as: UTF8.self)
      else { return nil }
      values.append(value)
      at += length
    }
    return at == bytes.count ? values : nil
  }

  /// At most three bytes: `Limits.elementArgumentBytes` is below two million.
  private static func readLength(_ bytes: [UInt8], at: inout Int) -> Int? {
    var length = 0
    for shift in [0, 7, 14] {
      guard at < bytes.count else { return nil }
      let byte = bytes[at]
      at += 1
      length |= Int(byte & 0x7F) << shift
      if byte < 0x80 { return length }
    }
    return nil
  }
}
