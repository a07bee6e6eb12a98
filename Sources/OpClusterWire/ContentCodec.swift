// Converts what a reader and a holder of contents say to each other. Pieces are large and many, so
// that they are neither built nor read as a tree: their one long field is copied once.

import FoundationEssentials
import OpClusterModel
import SwiftProtobuf

extension ContentRequest: WireConvertible {
  var proto: ProtoContentRequest {
    var proto = ProtoContentRequest()
    switch self {
    case .wish(let number, let wish):
      proto.wish = ProtoContentWish()
      proto.wish.number = number
      proto.wish.digest = data(wish.digest.bytes)
      proto.wish.offset = wish.offset
      proto.wish.credit = wish.credit
      proto.wish.hearsOfHolders = wish.hearsOfHolders
    case .credit(let number, let bytes):
      proto.credit = ProtoContentCredit()
      proto.credit.number = number
      proto.credit.bytes = bytes
    case .stop(let number):
      proto.stop = ProtoContentStop()
      proto.stop.number = number
    case .offer(let number, let content):
      proto.offer = ProtoContentOffer()
      proto.offer.number = number
      proto.offer.digest = data(content.digest.bytes)
      proto.offer.size = content.size
    case .piece(let number, let offset, let bytes):
      proto.piece = ProtoContentPiece()
      proto.piece.number = number
      proto.piece.offset = offset
      proto.piece.bytes = data(bytes)
    }
    return proto
  }

  init(proto: ProtoContentRequest) throws(WireError) {
    switch proto.body {
    case .wish(let wish):
      self = .wish(
        number: wish.number,
        ContentWish(
          digest: try digest(wish.digest, "wish.digest"),
          offset: try contentBytes(wish.offset, "wish.offset"),
          credit: try contentBytes(wish.credit, "wish.credit"),
          hearsOfHolders: wish.hearsOfHolders))
    case .credit(let credit):
      self = .credit(
        number: credit.number, bytes: try contentBytes(credit.bytes, "credit.bytes"))
    case .stop(let stop): self = .stop(number: stop.number)
    case .offer(let offer):
      self = .offer(
        number: offer.number,
        StoredContent(
          digest: try digest(offer.digest, "offer.digest"),
          size: try contentBytes(offer.size, "offer.size")))
    case .piece(let piece):
      self = .piece(
        number: piece.number, offset: try contentBytes(piece.offset, "piece.offset"),
        try opaque(piece.bytes, Limits.contentPieceBytes, "piece.bytes"))
    case nil: throw WireError("body", .missing)
    }
  }
}

/// A number of bytes of a content, or a position in one.
func contentBytes(
  _ number: some FixedWidthInteger, _ field: String
) throws(WireError) -> Int64 {
  guard let number = Int64(exactly: number), number >= 0, number <= Limits.contentBytes else {
    throw WireError(field, .outOfRange)
  }
  return number
}

func digest(_ data: Data, _ field: String) throws(WireError) -> ContentDigest {
  guard let digest = ContentDigest(bytes: data) else { throw WireError(field, .outOfRange) }
  return digest
}

/// Digests and keys one behind the other, 32 bytes each.
func digests(_ column: Data, _ limit: Int, _ field: String) throws(WireError) -> [ContentDigest] {
  var digests: [ContentDigest] = []
  for piece in try pieces(column, limit, field) { digests.append(try digest(piece, field)) }
  return digests
}

private func pieces(_ column: Data, _ limit: Int, _ field: String) throws(WireError) -> [Data] {
  let size = ContentDigest.byteCount
  guard column.count % size == 0 else { throw WireError(field, .unequalColumns) }
  try checkCount(column.count / size, limit, field)
  return stride(from: column.startIndex, to: column.endIndex, by: size).map {
    column[$0..<$0 + size]
  }
}

func column(_ digests: [ContentDigest]) -> Data {
  var column = Data(capacity: digests.count * ContentDigest.byteCount)
  for digest in digests { column.append(contentsOf: digest.bytes) }
  return column
}

/// A public key, or none.
func key(_ data: Data, _ field: String) throws(WireError) -> [UInt8] {
  guard data.isEmpty || data.count == Limits.publicKeyBytes else {
    throw WireError(field, .outOfRange)
  }
  return [UInt8](data)
}

extension ContentSource: WireConvertible {
  var proto: ProtoContentSource {
    var proto = ProtoContentSource()
    proto.endpoint = endpoint
    proto.key = data(key)
    proto.worker = worker
    return proto
  }

  init(proto: ProtoContentSource) throws(WireError) {
    self.init(
      endpoint: try text(proto.endpoint, WireLimits.sentenceBytes, "source.endpoint"),
      key: try OpClusterWire.key(proto.key, "source.key"),
      worker: try text(proto.worker, Limits.nameBytes, "source.worker"))
  }
}

extension ProtoContents {
  init(_ contents: [StoredContent]) {
    self.init()
    digests = column(contents.map(\.digest))
    sizes = contents.map { UInt64(clamping: $0.size) }
  }

  func words(_ limit: Int, _ field: String) throws(WireError) -> [StoredContent] {
    try contents(digests, sizes, limit, field)
  }
}

/// Digests one behind the other, and a size for each.
func contents(
  _ column: Data, _ sizes: [UInt64], _ limit: Int, _ field: String
) throws(WireError) -> [StoredContent] {
  let all = try digests(column, limit, field)
  try checkEqual(sizes.count, all.count, field)
  var contents: [StoredContent] = []
  for (digest, size) in zip(all, sizes) {
    contents.append(StoredContent(digest: digest, size: try contentBytes(size, field)))
  }
  return contents
}

/// Each source once: many contents of one message are at few workers.
extension ProtoContentHolders {
  init(_ holders: [ContentHolders]) {
    self.init()
    var positions: [ContentSource: UInt32] = [:]
    for content in holders {
      count.append(UInt32(clamping: content.sources.count))
      for one in content.sources {
        let position = positions[one] ?? UInt32(clamping: sources.count)
        if positions.updateValue(position, forKey: one) == nil { sources.append(one.proto) }
        source.append(position)
      }
    }
    digests = column(holders.map(\.digest))
  }

  func words(_ limit: Int) throws(WireError) -> [ContentHolders] {
    let all = try OpClusterWire.digests(digests, limit, "holders.digests")
    let known: [ContentSource] = try list(sources, limit, "holders.sources")
    // None: nobody has it any more.
    try checkEqual(count.count, all.count, "holders.count")
    var next = 0
    var holders: [ContentHolders] = []
    for (digest, own) in zip(all, count) {
      try checkCount(Int(own), Limits.holdersReported, "holders.count")
      guard Int(own) <= source.count - next else {
        throw WireError("holders.count", .unequalColumns)
      }
      var sources: [ContentSource] = []
      for position in source[next..<next + Int(own)] {
        guard Int(position) < known.count else { throw WireError("holders.source", .outOfRange) }
        sources.append(known[Int(position)])
      }
      next += Int(own)
      holders.append(ContentHolders(digest: digest, sources: sources))
    }
    try checkEqual(next, source.count, "holders.count")
    return holders
  }
}

extension ProtoContentGrants {
  init(_ grants: [GrantOrder]) {
    self.init()
    var positions: [[UInt8]: UInt32] = [:]
    for grant in grants {
      let position = positions[grant.reader] ?? UInt32(clamping: readers.count)
      if positions.updateValue(position, forKey: grant.reader) == nil {
        readers.append(data(grant.reader))
      }
      reader.append(position)
    }
    digests = column(grants.map(\.digest))
    if grants.contains(where: \.mayWrite) { mayWrite = grants.map(\.mayWrite) }
  }

  func words(_ limit: Int) throws(WireError) -> [GrantOrder] {
    let all = try OpClusterWire.digests(digests, limit, "grants.digests")
    try checkCount(readers.count, limit, "grants.readers")
    try checkEqual(reader.count, all.count, "grants.reader")
    if !mayWrite.isEmpty { try checkEqual(mayWrite.count, all.count, "grants.may_write") }
    var keys: [[UInt8]] = []
    for reader in readers { keys.append(try key(reader, "grants.readers")) }
    var grants: [GrantOrder] = []
    for (at, (digest, position)) in zip(all, reader).enumerated() {
      guard Int(position) < keys.count else { throw WireError("grants.reader", .outOfRange) }
      grants.append(
        GrantOrder(
          digest: digest, reader: keys[Int(position)],
          mayWrite: !mayWrite.isEmpty && mayWrite[at]))
    }
    return grants
  }
}

extension WorkerOrders {
  /// Sets the parts that are about contents; without any nothing is sent.
  func setContents(of proto: inout ProtoWorkerOrders) {
    if !holders.isEmpty { proto.holders = ProtoContentHolders(holders) }
    if !grants.isEmpty { proto.grants = ProtoContentGrants(grants) }
    if !released.isEmpty { proto.released = column(released) }
    if !retained.isEmpty { proto.retained = column(retained) }
    if !copies.isEmpty {
      proto.copies = column(copies.map(\.digest))
      proto.copySizes = copies.map { UInt64(clamping: $0.size) }
    }
    if !revoked.isEmpty { proto.revoked = Data(revoked.joined()) }
    if !deliveries.isEmpty {
      proto.deliveries = ProtoContentHolders(deliveries)
      proto.deliverySizes = deliveries.sizes
    }
    if !unobtainable.isEmpty { proto.unobtainable = column(unobtainable) }
  }

  mutating func readContents(of proto: ProtoWorkerOrders, _ limit: Int) throws(WireError) {
    holders = try proto.holders.words(limit)
    grants = try proto.grants.words(limit)
    released = try digests(proto.released, limit, "orders.released")
    retained = try digests(proto.retained, limit, "orders.retained")
    copies = try contents(proto.copies, proto.copySizes, limit, "orders.copies")
    for piece in try pieces(proto.revoked, limit, "orders.revoked") {
      revoked.append([UInt8](piece))
    }
    deliveries = try proto.deliveries.deliveries(proto.deliverySizes, limit, "orders.deliveries")
    unobtainable = try digests(proto.unobtainable, limit, "orders.unobtainable")
  }
}

extension [ContentDelivery] {
  var sizes: [UInt64] { map { UInt64(clamping: $0.content.size) } }
}

/// Deliveries go with one source for each content, the store in which it is left.
extension ProtoContentHolders {
  init(_ deliveries: [ContentDelivery]) {
    self.init(deliveries.map { ContentHolders(digest: $0.content.digest, sources: [$0.to]) })
  }

  func deliveries(
    _ sizes: [UInt64], _ limit: Int, _ field: String
  ) throws(WireError) -> [ContentDelivery] {
    let stores = try words(limit)
    let known = try contents(digests, sizes, limit, field)
    var deliveries: [ContentDelivery] = []
    for (content, own) in zip(known, stores) {
      guard own.sources.count == 1 else { throw WireError(field, .outOfRange) }
      deliveries.append(ContentDelivery(content, to: own.sources[0]))
    }
    return deliveries
  }
}

extension ContentRefusal {
  fileprivate init(proto: ProtoContentAnswer.Refusal) {
    self = ContentRefusal(rawValue: proto.rawValue) ?? .failed
  }
}

extension ContentAnswer {
  /// The number of the field `piece`, which has a length.
  private static let pieceTag: UInt8 = 3 << 3 | 2

  var encoded: [UInt8] {
    var head = ProtoContentAnswer()
    switch self {
    case .refused(let number, let refusal):
      head.number = number
      head.refusal = ProtoContentAnswer.Refusal(rawValue: refusal.rawValue) ?? .failed
      return bytes(of: head)
    case .wanted(let number, let offset, let credit):
      head.number = number
      head.offset = offset
      head.credit = credit
      return bytes(of: head)
    case .kept(let number):
      head.number = number
      head.isKept = true
      return bytes(of: head)
    case .piece(let number, let offset, let piece):
      head.number = number
      head.offset = offset
      let start = bytes(of: head)
      var whole: [UInt8] = []
      whole.reserveCapacity(start.count + piece.count + 11)
      whole += start
      whole.append(Self.pieceTag)
      var length = UInt64(piece.count)
      while length > 0x7f {
        whole.append(UInt8(truncatingIfNeeded: length) | 0x80)
        length >>= 7
      }
      whole.append(UInt8(length))
      whole += piece
      return whole
    }
  }

  init(encoded: [UInt8]) throws(WireError) {
    let proto = try parsed(ProtoContentAnswer.self, encoded, "content answer")
    guard proto.refusal == .unspecified else {
      self = .refused(number: proto.number, ContentRefusal(proto: proto.refusal))
      return
    }
    if proto.isKept {
      self = .kept(number: proto.number)
      return
    }
    if proto.credit != 0 {
      self = .wanted(
        number: proto.number, offset: try contentBytes(proto.offset, "answer.offset"),
        credit: try contentBytes(proto.credit, "answer.credit"))
      return
    }
    self = .piece(
      number: proto.number, offset: try contentBytes(proto.offset, "answer.offset"),
      try opaque(proto.piece, Limits.contentPieceBytes, "answer.piece"))
  }
}
