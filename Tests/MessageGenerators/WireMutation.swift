// Changes to a message that keep it protobuf, so that they get past the parser and reach what lies
// behind it: fields lost, doubled, swapped and renumbered; numbers at and past their limits;
// columns of unequal length; text that is none; nesting and lengths beyond reason. Needs no schema.

/// One field as it stands on the wire.
struct WireField {
  enum Value {
    case varint(UInt64)
    case fixed64(UInt64)
    case fixed32(UInt32)
    case bytes([UInt8])
    /// Written as it is, tag and all: for what no field can be.
    case raw([UInt8])
  }
  var number: UInt64
  var value: Value

  /// The fields of a message; nil where the bytes are none.
  static func fields(of bytes: [UInt8]) -> [WireField]? {
    var reader = WireReader(bytes: bytes)
    var fields: [WireField] = []
    while !reader.isAtEnd {
      guard let tag = reader.varint(), tag >> 3 > 0, let value = reader.value(tag & 7) else {
        return nil
      }
      fields.append(WireField(number: tag >> 3, value: value))
    }
    return fields
  }

  /// The numbers of a packed column; nil where the bytes are none.
  static func column(of bytes: [UInt8]) -> [UInt64]? {
    var reader = WireReader(bytes: bytes)
    var numbers: [UInt64] = []
    while !reader.isAtEnd {
      guard let number = reader.varint() else { return nil }
      numbers.append(number)
    }
    return numbers
  }

  static func bytes(of fields: [WireField]) -> [UInt8] {
    var bytes: [UInt8] = []
    for field in fields {
      switch field.value {
      case .varint(let number):
        bytes.appendVarint(field.number << 3)
        bytes.appendVarint(number)
      case .fixed64(let number):
        bytes.appendVarint(field.number << 3 | 1)
        for at in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: number >> (8 * UInt64(at)))) }
      case .fixed32(let number):
        bytes.appendVarint(field.number << 3 | 5)
        for at in 0..<4 { bytes.append(UInt8(truncatingIfNeeded: number >> (8 * UInt32(at)))) }
      case .bytes(let content):
        bytes.appendVarint(field.number << 3 | 2)
        bytes.appendVarint(UInt64(content.count))
        bytes += content
      case .raw(let content): bytes += content
      }
    }
    return bytes
  }
}

private struct WireReader {
  let bytes: [UInt8]
  var at = 0
  var isAtEnd: Bool { at == bytes.count }

  mutating func varint() -> UInt64? {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while at < bytes.count, shift < 64 {
      let byte = bytes[at]
      at += 1
      value |= UInt64(byte & 0x7f) << shift
      if byte < 0x80 { return value }
      shift += 7
    }
    return nil
  }

  mutating func value(_ kind: UInt64) -> WireField.Value? {
    switch kind {
    case 0: return varint().map { .varint($0) }
    case 1: return fixed(8).map { .fixed64($0) }
    case 5: return fixed(4).map { .fixed32(UInt32(truncatingIfNeeded: $0)) }
    case 2:
      guard let length = varint(), length <= UInt64(bytes.count - at) else { return nil }
      defer { at += Int(length) }
      return .bytes(Array(bytes[at..<(at + Int(length))]))
    default: return nil
    }
  }

  private mutating func fixed(_ count: Int) -> UInt64? {
    guard bytes.count - at >= count else { return nil }
    var value: UInt64 = 0
    for byte in bytes[at..<(at + count)].reversed() { value = value << 8 | UInt64(byte) }
    at += count
    return value
  }
}

extension [UInt8] {
  package mutating func appendVarint(_ number: UInt64) {
    var rest = number
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(truncatingIfNeeded: rest))
  }
}

extension MessageGenerator {
  /// One to three changes of the message's own kind, anywhere in it.
  package mutating func mutatedFields(_ good: [UInt8]) -> [UInt8] {
    var bytes = good
    for _ in 0..<(below(3) + 1) { bytes = changed(bytes, depth: 0) }
    return bytes
  }

  private mutating func changed(_ bytes: [UInt8], depth: Int) -> [UInt8] {
    guard var fields = WireField.fields(of: bytes), !fields.isEmpty else {
      return changedContent(bytes)
    }
    let at = below(fields.count)
    // Mostly something further down: the shell of a message is quickly told.
    if depth < 6, below(4) > 0, case .bytes(let inner) = fields[at].value, !inner.isEmpty {
      fields[at].value = .bytes(changed(inner, depth: depth + 1))
      return WireField.bytes(of: fields)
    }
    switch below(8) {
    case 0: fields.remove(at: at)
    case 1: fields.insert(fields[at], at: below(fields.count + 1))
    case 2: fields.swapAt(at, below(fields.count))
    case 3: fields[at].number = below(2) == 0 ? UInt64(below(32) + 1) : 1 << UInt64(below(29))
    default: fields[at].value = changed(fields[at].value)
    }
    return WireField.bytes(of: fields)
  }

  private mutating func changed(_ value: WireField.Value) -> WireField.Value {
    switch value {
    case .varint(let number): .varint(changed(number))
    case .fixed64(let number):
      one(of: [
        .fixed64(Double.nan.bitPattern), .fixed64((-Double.infinity).bitPattern),
        .fixed64((-1.0).bitPattern), .fixed64(changed(number)),
      ])
    case .fixed32(let number):
      one(of: [.fixed32(Float.nan.bitPattern), .fixed32(number &+ 1), .fixed32(.max)])
    case .bytes(let content): changedBytes(content)
    case .raw: value
    }
  }

  /// At a limit, next to it, far beyond it.
  private mutating func changed(_ number: UInt64) -> UInt64 {
    switch below(7) {
    case 0: number &+ 1
    case 1: number &- 1
    case 2: one(of: [0, 1, 2, 3])
    case 3: 1 << UInt64(below(64))
    case 4: (1 << UInt64(below(64))) &- 1
    case 5: one(of: [UInt64(UInt32.max), UInt64(Int64.max), 1 << 32, .max, UInt64(bitPattern: -2)])
    default: bits()
    }
  }

  private mutating func changedBytes(_ content: [UInt8]) -> WireField.Value {
    switch below(12) {
    // A length that no message has: 2³², 2⁶³.
    case 0:
      var raw: [UInt8] = [0x0a]
      raw.appendVarint(one(of: [1 << 32, 1 << 63, .max, UInt64(Int32.max)]))
      return .raw(raw + content)
    case 1: return .bytes(nested(below(50) == 0 ? 10_000 : below(200)))
    case 2: return .bytes([])
    case 3: return .bytes([0xff, 0xfe, 0xc0, 0x80])
    case 4: return .bytes(content + content)
    case 5 where below(50) == 0:
      return .bytes(Array(repeating: 0x41, count: one(of: [1_025, 65_537, 300_000])))
    default: return .bytes(changedContent(content))
    }
  }

  /// A column, perhaps: a value more, fewer, changed; or bytes of no form.
  private mutating func changedContent(_ content: [UInt8]) -> [UInt8] {
    guard var numbers = WireField.column(of: content), !numbers.isEmpty, below(5) > 0 else {
      return mutated(content)
    }
    let at = below(numbers.count)
    switch below(5) {
    case 0: numbers.remove(at: at)
    case 1: numbers.insert(numbers[at], at: at)
    case 2: numbers.swapAt(at, below(numbers.count))
    default: numbers[at] = changed(numbers[at])
    }
    var column: [UInt8] = []
    for number in numbers { column.appendVarint(number) }
    return column
  }

  /// Messages in messages, so deep.
  private mutating func nested(_ depth: Int) -> [UInt8] {
    let field = UInt64(below(8) + 1)
    var reversed: [UInt8] = []
    for _ in 0..<depth {
      var head: [UInt8] = []
      head.appendVarint(field << 3 | 2)
      head.appendVarint(UInt64(reversed.count))
      reversed += head.reversed()
    }
    return reversed.reversed()
  }
}
