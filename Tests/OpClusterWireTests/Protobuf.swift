// Protobuf by hand: what a foreign or hostile peer may put on the wire.

enum Protobuf {
  static func varint(_ value: UInt64) -> [UInt8] {
    var rest = value
    var bytes: [UInt8] = []
    while rest >= 0x80 {
      bytes.append(UInt8(rest & 0x7f) | 0x80)
      rest >>= 7
    }
    return bytes + [UInt8(rest)]
  }
  static func number(_ field: UInt64, _ value: UInt64) -> [UInt8] {
    varint(field << 3) + varint(value)
  }
  /// A message, text, bytes or packed column.
  static func block(_ field: UInt64, _ content: [UInt8]) -> [UInt8] {
    varint(field << 3 | 2) + varint(UInt64(content.count)) + content
  }
  static func block(_ field: UInt64, _ text: String) -> [UInt8] { block(field, Array(text.utf8)) }
  static func column(_ field: UInt64, _ values: [UInt64]) -> [UInt8] {
    block(field, values.flatMap { varint($0) })
  }
}
