// Counts the message fields of a message before anything is allocated for it: two bytes on the wire
// can become a few hundred in memory.

import OpClusterModel

/// The message fields of a message and the maximum count of each. Everything else is skipped.
struct Shape: Sendable {
  struct Field: Sendable {
    let number: UInt64
    let limit: Int
    let shape: Shape
  }
  let fields: [Field]
  init(_ fields: [Field] = []) { self.fields = fields }

  /// A message that occurs once.
  static func one(_ number: UInt64, _ fields: Field...) -> Field {
    Field(number: number, limit: 1, shape: Shape(fields))
  }
  /// Messages that occur up to `limit` times.
  static func many(_ number: UInt64, _ limit: Int, _ fields: Field...) -> Field {
    Field(number: number, limit: limit, shape: Shape(fields))
  }
}

extension Shape {
  private static func resources(_ number: UInt64) -> Field {
    one(number, many(4, Limits.customResources))
  }
  private static func selection(_ number: UInt64) -> Field {
    one(number, many(8, Limits.labelsPerThing))
  }
  private static let template = many(
    3, Limits.templatesPerGraph, one(4), one(6), resources(13),
    many(14, Limits.labelsPerThing), one(15, many(2, WireLimits.retryReasons)),
    many(23, Limits.labelsPerThing), many(24, WireLimits.typesPerWorker))
  /// An `OperationTarget`.
  private static func target(_ number: UInt64) -> Field {
    one(number, selection(1), one(2), one(3))
  }
  private static let submission = one(
    2, template, one(4), one(5), one(6),
    many(7, Limits.queuesPerGraph, one(2, many(5, Limits.labelsPerThing))),
    many(13, Limits.labelsPerThing), one(15, one(2)), many(16, Limits.failureScopesPerGraph))

  /// `WorkerMessage`
  static let workerMessage = Shape([
    one(
      1, one(1), resources(5), many(6, Limits.labelsPerThing),
      many(7, WireLimits.typesPerWorker), one(8), one(9)),
    one(2, one(1), one(5), one(7), resources(12)),
    one(3), one(4),
  ])
  /// `CoordinatorMessage`
  static let coordinatorMessage = Shape([
    one(1), one(2),
    one(
      3,
      many(
        4, Limits.entriesPerMessage, one(7), one(9), resources(11),
        many(16, WireLimits.typesPerWorker)), one(5)),
    one(4),
  ])
  /// `ClientMessage`
  static let clientMessage = Shape([
    one(1),
    one(
      2, submission, one(3), one(4, target(4)), one(5), one(6, selection(1)),
      one(7, many(5, Limits.labelsPerThing)), one(8, one(7, many(1, Limits.labelsPerThing))),
      one(10), one(11), one(12, target(3)), one(14, selection(1)), one(15, selection(1)),
      one(16, many(8, Limits.labelsPerThing)), one(17, many(8, Limits.labelsPerThing)),
      one(18), one(19), one(20), one(21), one(22), one(23, selection(2)), one(24),
      one(26, target(1)), one(27, target(1)), one(28, one(1)), one(29, one(1), one(2)),
      one(30), one(32)),
  ])
  /// `Blocks`
  static let blocks = Shape([
    many(1, Limits.blocksPerOperation, one(1), one(2, one(1)), one(3, one(1), one(2)))
  ])
  /// `BlockResults`
  static let blockResults = Shape([many(1, Limits.blocksPerOperation, one(3))])
  /// A shape without counts: checks only the structure.
  static let any = Shape()
}

/// The bounds of a message that a shape gives: walks the wire format as far as the shape goes.
struct MessageBounds {
  private let bytes: [UInt8]
  private var at = 0

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  static func check(_ bytes: [UInt8], _ shape: Shape, _ name: String) throws(WireError) {
    var walk = MessageBounds(bytes)
    try walk.walk(shape, until: bytes.count, name)
  }

  private mutating func walk(
    _ shape: Shape, until end: Int, _ name: String
  ) throws(WireError) {
    var seen = [Int](repeating: 0, count: shape.fields.count)
    while at < end {
      let tag = try varint(end, name)
      switch tag & 7 {
      case 0: _ = try varint(end, name)
      case 1: try skip(8, end, name)
      case 5: try skip(4, end, name)
      case 2:
        let length = try varint(end, name)
        guard length <= UInt64(end - at) else { throw WireError(name, .malformed) }
        let inner = at + Int(length)
        if let field = shape.fields.firstIndex(where: { $0.number == tag >> 3 }) {
          seen[field] += 1
          try checkCount(seen[field], shape.fields[field].limit, "\(name).\(tag >> 3)")
          try descend(shape.fields[field].shape, until: inner, name)
        }
        at = inner
      default: throw WireError(name, .malformed)
      }
    }
  }

  private mutating func descend(
    _ shape: Shape, until end: Int, _ name: String
  ) throws(WireError) {
    if !shape.fields.isEmpty { try walk(shape, until: end, name) }
  }

  private mutating func skip(_ count: Int, _ end: Int, _ name: String) throws(WireError) {
    guard end - at >= count else { throw WireError(name, .malformed) }
    at += count
  }

  private mutating func varint(_ end: Int, _ name: String) throws(WireError) -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while at < end && shift < 64 {
      let byte = bytes[at]
      at += 1
      value |= UInt64(byte & 0x7f) << shift
      if byte < 0x80 { return value }
      shift += 7
    }
    throw WireError(name, .malformed)
  }
}
