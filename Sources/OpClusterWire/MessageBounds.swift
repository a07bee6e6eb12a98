// Counts the message fields of a message before anything is allocated for it: two bytes on the wire
// can become a few hundred in memory.
// `Wire` calls it for every frame from a socket, and for blocks, which come as opaque bytes inside
// one. It looks at tags and lengths alone: texts, enums and numbers are the business of the codecs.

import OpClusterModel

/// The message fields of a message and the maximum count of each. Everything else is skipped.
struct Shape: Sendable {
  /// One field of message type. A field that the shape does not name is skipped by its length, so
  /// its contents cannot raise a count.
  struct Field: Sendable {
    /// The number in `proto/`; a wrong one here counts nothing, and the message is parsed
    /// unbounded.
    let number: UInt64
    /// Occurrences inside one enclosing message, not in the whole frame.
    let limit: Int
    /// The messages to count inside it; a shape without fields ends the descent.
    let shape: Shape
  }
  let fields: [Field]
  /// Few fields, so `walk` finds one by a linear search.
  init(_ fields: [Field] = []) { self.fields = fields }

  /// A message that occurs once.
  /// More than one of a singular field is legal protobuf, where the last wins or they are merged.
  /// No peer of ours sends that, so a second one throws `beyond`.
  static func one(_ number: UInt64, _ fields: Field...) -> Field {
    Field(number: number, limit: 1, shape: Shape(fields))
  }
  /// Messages that occur up to `limit` times.
  /// The limit is the one that the codec's `list` checks again on the parsed messages.
  static func many(_ number: UInt64, _ limit: Int, _ fields: Field...) -> Field {
    Field(number: number, limit: limit, shape: Shape(fields))
  }
}

extension Shape {
  /// Field 4 of `Resources` is `custom`; the amounts beside it are plain numbers.
  private static func resources(_ number: UInt64) -> Field {
    one(number, many(4, Limits.customResources))
  }
  /// Field 8 of `Selection` is `labels`. The index runs are three packed columns, which cost what
  /// they weigh.
  private static func selection(_ number: UInt64) -> Field {
    one(number, many(8, Limits.labelsPerThing))
  }
  /// Fields of `Template`: 4 index_runs, 6 type, 13 demand, 14 requirements, 15 retry, 23 labels,
  /// 24 block_types.
  private static let template = many(
    3, Limits.templatesPerGraph, one(4), one(6), resources(13),
    many(14, Limits.labelsPerThing), one(15, many(2, WireLimits.retryReasons)),
    many(23, Limits.labelsPerThing), many(24, WireLimits.typesPerWorker),
    many(33, Limits.inputFilesPerOperation))
  /// An `OperationTarget`.
  /// Its fields: 1 selection, 2 operations, 3 dependents_of.
  private static func target(_ number: UInt64) -> Field {
    one(number, selection(1), one(2), one(3))
  }
  /// A `Submission`: 4 to 6 are the edges, each one message of columns; 7 queues with the
  /// requirements of a pool, 13 labels, 15 continued, 16 failure_scopes.
  private static func submission(_ number: UInt64) -> Field {
    one(
      number, template, one(4), one(5), one(6),
      many(7, Limits.queuesPerGraph, one(2, many(5, Limits.labelsPerThing))),
      many(13, Limits.labelsPerThing), one(15, one(2)), many(16, Limits.failureScopesPerGraph))
  }

  /// `WorkerMessage`
  /// Fields: 1 hello, 2 report, 3 log_chunk, 4 goodbye.
  static let workerMessage = Shape([
    one(
      1, one(1), resources(5), many(6, Limits.labelsPerThing),
      many(7, WireLimits.typesPerWorker), one(8), one(9), resources(11), one(12)),
    one(
      2, one(1), one(5), one(7), resources(12), one(13),
      one(15, many(4, Limits.entriesPerMessage)), one(17, many(4, Limits.entriesPerMessage))),
    one(3), one(4),
  ])
  /// `CoordinatorMessage`
  /// Fields: 1 welcome, 2 refused, 3 orders with a list of templates, 4 log_request. Dispatches are
  /// one message of columns, so nothing in them needs a count.
  static let coordinatorMessage = Shape([
    one(1), one(2),
    one(
      3,
      many(
        4, Limits.entriesPerMessage, one(7), one(9), resources(11),
        many(16, WireLimits.typesPerWorker), many(21, Limits.inputFilesPerOperation)), one(5),
      one(15, many(4, Limits.entriesPerMessage)), one(16),
      one(22, many(4, Limits.entriesPerMessage))),
    one(4),
  ])
  /// `ClientMessage`
  /// Fields: 1 hello, 2 request. Inside the request each number is that of a body in `Request`;
  /// bodies that are a plain name or number need no entry.
  static let clientMessage = Shape([
    one(1),
    one(
      2, submission(2), one(3), one(4, target(4)), one(5), one(6, selection(1)),
      one(7, many(5, Limits.labelsPerThing)), one(8, one(7, many(1, Limits.labelsPerThing))),
      one(10), one(11), one(12, target(3)), one(14, selection(1)), one(15, selection(1)),
      one(16, many(8, Limits.labelsPerThing)), one(17, many(8, Limits.labelsPerThing)),
      one(18), one(19), one(20), one(21), one(22), one(23, selection(2)), one(24),
      one(26, target(1)), one(27, target(1)), one(28, one(1)), one(29, one(1), one(2)),
      one(30), one(32), submission(38)),
  ])
  /// `ContentRequest`
  /// Fields: 1 wish, 2 credit, 3 stop, 4 offer, 5 piece.
  static let contentRequest = Shape([one(1), one(2), one(3), one(4), one(5)])
  /// `Blocks`
  /// Fields of a block: 1 command, 2 call with its type, 3 filled_call with its type and input.
  static let blocks = Shape([
    many(1, Limits.blocksPerOperation, one(1), one(2, one(1)), one(3, one(1), one(2)))
  ])
  /// `BlockResults`
  /// Field 3 of a result is `skipped`, an empty message; values and problems are bytes and text.
  static let blockResults = Shape([many(1, Limits.blocksPerOperation, one(3))])
  /// A shape without counts: checks only the structure.
  static let any = Shape()
}

/// The bounds of a message that a shape gives: walks the wire format as far as the shape goes.
struct MessageBounds {
  /// The frame as it was received. Nothing is copied out of it: one pass costs O(bytes).
  private let bytes: [UInt8]
  /// The next byte to read; it never goes back.
  private var at = 0

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Throws `malformed` for bytes that cannot be a message of ours, and `beyond` for too many
  /// messages of one kind. The name becomes the beginning of the error's field.
  static func check(_ bytes: [UInt8], _ shape: Shape, _ name: String) throws(WireError) {
    var walk = MessageBounds(bytes)
    try walk.walk(shape, until: bytes.count, name)
  }

  /// Stays between `at` and `end`, the end of the enclosing message: a length that reaches beyond
  /// it is malformed. Recursion is as deep as the shape, whatever the bytes say.
  private mutating func walk(
    _ shape: Shape, until end: Int, _ name: String
  ) throws(WireError) {
    // Counts begin anew in each enclosing message, as the limits do.
    var seen = [Int](repeating: 0, count: shape.fields.count)
    while at < end {
      let tag = try varint(end, name)
      // The low three bits are the wire type: 0 a varint, 1 eight bytes, 2 a length and bytes, 5
      // four bytes. Types 3 and 4, groups, belong to no message of ours.
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
        // The walk continues behind the field, also where a descent read less: the length counts.
        at = inner
      default: throw WireError(name, .malformed)
      }
    }
  }

  /// A shape without fields needs no walk: the caller skips the field by its length.
  private mutating func descend(
    _ shape: Shape, until end: Int, _ name: String
  ) throws(WireError) {
    if !shape.fields.isEmpty { try walk(shape, until: end, name) }
  }

  /// For numbers of fixed width, whose value bounds nothing.
  private mutating func skip(_ count: Int, _ end: Int, _ name: String) throws(WireError) {
    guard end - at >= count else { throw WireError(name, .malformed) }
    at += count
  }

  /// At most ten bytes, seven bits each from the lowest on; bits beyond the 64th are dropped, as
  /// protobuf parsers do.
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
