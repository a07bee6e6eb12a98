// What a peer of another release may say: fields that nobody here knows, and numbers that no
// enumeration here has. Needs no schema.

package enum FutureMessages {
  /// The same message with fields of a later release: at its top, and in what it wraps.
  package static func withUnknownFields(_ bytes: [UInt8]) -> [UInt8] {
    guard var fields = WireField.fields(of: bytes) else { return bytes }
    // A message wraps one body, which is a message itself.
    if fields.count == 1, case .bytes(let body) = fields[0].value,
      WireField.fields(of: body) != nil
    {
      fields[0].value = .bytes(body + unknown)
    }
    return WireField.bytes(of: fields) + unknown
  }

  private static let unknown = WireField.bytes(of: [
    WireField(number: 1_000, value: .varint(7)),
    WireField(number: 1_001, value: .bytes(Array("later".utf8))),
    WireField(number: 1_002, value: .fixed64(1)), WireField(number: 1_003, value: .fixed32(1)),
  ])

  /// The message once for each number in it, at any depth and in any column, with another number in
  /// its place.
  package static func withEachNumber(_ bytes: [UInt8], replacedBy number: UInt64) -> [[UInt8]] {
    guard let fields = WireField.fields(of: bytes) else {
      guard let column = WireField.column(of: bytes) else { return [] }
      return column.indices.map { at in
        var changed = column
        changed[at] = number
        var bytes: [UInt8] = []
        for number in changed { bytes.appendVarint(number) }
        return bytes
      }
    }
    var all: [[UInt8]] = []
    for (at, field) in fields.enumerated() {
      var changed = fields
      switch field.value {
      case .varint:
        changed[at].value = .varint(number)
        all.append(WireField.bytes(of: changed))
      case .bytes(let inner):
        for other in withEachNumber(inner, replacedBy: number) {
          changed[at].value = .bytes(other)
          all.append(WireField.bytes(of: changed))
        }
      case .fixed64, .fixed32, .raw: break
      }
    }
    return all
  }

  /// Messages in messages, so deep, in the field of this number.
  package static func nested(_ depth: Int, field: UInt64) -> [UInt8] {
    var layers: [UInt8] = []
    for _ in 0..<depth {
      var head: [UInt8] = []
      head.appendVarint(field << 3 | 2)
      head.appendVarint(UInt64(layers.count))
      layers += head.reversed()
    }
    return layers.reversed()
  }

  /// A length-delimited field that says it holds so many bytes, and does not.
  package static func promise(_ count: UInt64, field: UInt64) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.appendVarint(field << 3 | 2)
    bytes.appendVarint(count)
    return bytes + [1, 2, 3]
  }
}
