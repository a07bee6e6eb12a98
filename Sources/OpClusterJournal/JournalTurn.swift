// The unit of durability: a turn of the owner's loop with its rows of history. Written by the owner
// of a journal, read by recovery; values only, no thread.

/// One turn of the owner's loop: opaque bytes that become durable as a whole or not at all (G2).
public struct JournalTurn: Sendable, Hashable {
  /// The commit index: 1 for the first turn of a journal, then without gaps; at most `Int64.max`.
  public var sequence: UInt64
  /// The life of the coordinator that wrote the turn; at most `Int64.max`.
  public var epoch: UInt64
  /// The records of the turn, in the owner's encoding.
  public var body: [UInt8]
  /// Rows of history, written in the same transaction; recovery does not return them.
  public var attachments: [Attachment]

  public init(sequence: UInt64, epoch: UInt64, body: [UInt8], attachments: [Attachment] = []) {
    self.sequence = sequence
    self.epoch = epoch
    self.body = body
    self.attachments = attachments
  }

  /// The bytes that count against the limits of the queue.
  var cost: Int {
    attachments.reduce(body.count + 64) { $0 + $1.body.count + 64 }
  }

  /// Whether every number fits the signed 64-bit integers of SQLite.
  var isRepresentable: Bool {
    let largest = UInt64(Int64.max)
    guard sequence <= largest, epoch <= largest else { return false }
    return attachments.allSatisfy { attachment in
      switch attachment {
      case .stream(let first, let count, _): first <= largest - UInt64(count)
      case .chapter(let subject, _, _, _): subject <= largest
      case .document(let subject, _, _), .erasure(let subject): subject <= largest
      }
    }
  }
}

/// A row of history that comes with a turn. Subjects are the owner's numbers, up to `Int64.max`.
public enum Attachment: Sendable, Hashable {
  /// The events `first ..< first + count`; each row begins at the end of the previous one.
  case stream(first: UInt64, count: UInt32, body: [UInt8])
  /// The ends of the members `first ... last` of a subject; chapters may overlap.
  case chapter(subject: UInt64, first: UInt32, last: UInt32, body: [UInt8])
  /// The document of this kind about a subject; replaces the former one.
  case document(subject: UInt64, kind: Int, body: [UInt8])
  /// Removes all documents about a subject. Its chapters may be many; `Journal.forget` removes them
  /// later.
  case erasure(subject: UInt64)

  /// The bytes of the row.
  var body: [UInt8] {
    switch self {
    case .stream(_, _, let body), .chapter(_, _, _, let body), .document(_, _, let body): body
    case .erasure: []
    }
  }
}
