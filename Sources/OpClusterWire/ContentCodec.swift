// Converts what a reader and a holder of contents say to each other. Pieces are large and many, so
// that they are neither built nor read as a tree: their one long field is copied once.

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
    case .credit(let number, let bytes):
      proto.credit = ProtoContentCredit()
      proto.credit.number = number
      proto.credit.bytes = bytes
    case .stop(let number):
      proto.stop = ProtoContentStop()
      proto.stop.number = number
    }
    return proto
  }

  init(proto: ProtoContentRequest) throws(WireError) {
    switch proto.body {
    case .wish(let wish):
      guard let digest = ContentDigest(bytes: wish.digest) else {
        throw WireError("wish.digest", .outOfRange)
      }
      self = .wish(
        number: wish.number,
        ContentWish(
          digest: digest, offset: try contentBytes(wish.offset, "wish.offset"),
          credit: try contentBytes(wish.credit, "wish.credit")))
    case .credit(let credit):
      self = .credit(
        number: credit.number, bytes: try contentBytes(credit.bytes, "credit.bytes"))
    case .stop(let stop): self = .stop(number: stop.number)
    case nil: throw WireError("body", .missing)
    }
  }
}

/// A number of bytes of a content, or a position in one.
func contentBytes(_ number: Int64, _ field: String) throws(WireError) -> Int64 {
  guard number >= 0, number <= Limits.contentBytes else { throw WireError(field, .outOfRange) }
  return number
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
    self = .piece(
      number: proto.number, offset: try contentBytes(proto.offset, "answer.offset"),
      try opaque(proto.piece, Limits.contentPieceBytes, "answer.piece"))
  }
}
