// The transfers that a holder has in hand, and whose turn it is: a piece for each connection in
// rotation, and for each transfer of a connection, so that a large content does not keep small ones
// waiting, nor a slow reader quick ones. A value; the server of the store owns it and does the
// reading and sending.

import DequeModule
import OpClusterModel
import OpClusterStore
import OpClusterZeroMQ

/// Names a transfer: its number on its connection.
struct TransferID: Hashable, Sendable {
  var connection: RoutingID
  var number: UInt64
}

/// Each method costs the same, however many transfers there are; the end of a connection costs
/// those of the connection.
struct ServedTransfers {
  private struct Transfer {
    var content: OpenContent
    var next: Int64
    var credit: Int64
    /// It stands in `ready` of its connection.
    var isReady = false
    var left: Int64 { content.content.size - next }
  }

  private struct Connection {
    var reader: ContentReader
    /// When it last asked for a content, or took bytes: credit alone keeps nobody.
    var lastActive: Instant
    var transfers: [UInt64: Transfer] = [:]
    /// Those that have credit and bytes left; some have ended since.
    var ready: Deque<UInt64> = []
    /// It stands in `turns` or in `blocked`.
    var isInLine = false
  }

  private struct LargeTransfer {
    var id: TransferID
    var owner: TransferOwner
    var began: Instant
  }

  /// The piece to send next.
  struct Piece {
    var transfer: TransferID
    var content: OpenContent
    var offset: Int64
    var count: Int
  }

  enum Refused: Hashable { case tooMany, numberInUse }

  private var connections: [RoutingID: Connection] = [:]
  /// The connections with something to send; some have ended since.
  private var turns: Deque<RoutingID> = []
  /// Those of them that took no more.
  private var blocked: [RoutingID] = []
  private(set) var count = 0
  private var counts: [TransferOwner: Int] = [:]
  /// The transfers of each large content to those who become holders, and when they began; oldest
  /// first.
  private var ofLarge: [ContentDigest: [LargeTransfer]] = [:]
  /// The most transfers of all.
  private let most: Int

  /// - Parameter most: As many transfers as there are descriptors for.
  init(most: Int = Limits.transfers) { self.most = most }

  /// Whether there is something to send to a connection that may take it.
  var hasTurns: Bool { !turns.isEmpty }
  /// Whether a connection took no more.
  var hasBlocked: Bool { !blocked.isEmpty }
  func count(of connection: RoutingID) -> Int { connections[connection]?.transfers.count ?? 0 }

  /// Why another transfer cannot begin; nil: it can.
  func refusal(of id: TransferID, for reader: ContentReader) -> Refused? {
    if connections[id.connection]?.transfers[id.number] != nil { return .numberInUse }
    let own = counts[TransferOwner(reader, over: id.connection)] ?? 0
    return count >= most || own >= Limits.transfersPerReader ? .tooMany : nil
  }

  /// Whether so many have begun to read it that a further one should read it from one of these,
  /// later. Those that take long do not count: they may be slow ones.
  func isCrowded(_ digest: ContentDigest, at now: Instant) -> Bool {
    guard let readers = ofLarge[digest], readers.count >= Limits.readersOfLargeContent else {
      return false
    }
    return now - readers[readers.count - Limits.readersOfLargeContent].began
      < Limits.timeOfFewReaders
  }

  /// A reader counts once, however often it asks: one that means ill has one of the places. Costs
  /// the transfers of the content, at most those of all.
  private mutating func enterLarge(
    _ id: TransferID, _ digest: ContentDigest, _ owner: TransferOwner, at now: Instant
  ) {
    if ofLarge[digest]?.contains(where: { $0.owner == owner }) == true { return }
    ofLarge[digest, default: []].append(LargeTransfer(id: id, owner: owner, began: now))
  }

  /// Costs the transfers of the content, at most those of all.
  private mutating func leaveLarge(_ id: TransferID, _ content: StoredContent) {
    guard let at = ofLarge[content.digest]?.firstIndex(where: { $0.id == id }) else { return }
    ofLarge[content.digest]?.remove(at: at)
    if ofLarge[content.digest]?.isEmpty == true { ofLarge[content.digest] = nil }
  }

  private mutating func adjust(_ change: Int, _ reader: ContentReader, _ connection: RoutingID) {
    count += change
    let owner = TransferOwner(reader, over: connection)
    let own = (counts[owner] ?? 0) + change
    counts[owner] = own > 0 ? own : nil
  }

  /// Begins a transfer; the position must lie in the content, or at its end.
  ///
  /// - Parameter becomesHolder: Others can read from the reader what it has read.
  mutating func begin(
    _ id: TransferID, _ content: OpenContent, for reader: ContentReader, from offset: Int64,
    credit: Int64, becomesHolder: Bool = false, at now: Instant
  ) {
    adjust(1, reader, id.connection)
    if becomesHolder, content.content.size >= Limits.largeContentBytes {
      enterLarge(id, content.content.digest, TransferOwner(reader, over: id.connection), at: now)
    }
    var connection = connections[id.connection] ?? Connection(reader: reader, lastActive: now)
    connection.lastActive = now
    connection.transfers[id.number] = Transfer(content: content, next: offset, credit: credit)
    connections[id.connection] = connection
    makeReady(id)
  }

  private mutating func makeReady(_ id: TransferID) {
    guard let transfer = connections[id.connection]?.transfers[id.number], !transfer.isReady,
      // A content of which nothing is left is told by an empty piece.
      transfer.credit > 0 || transfer.left == 0
    else { return }
    connections[id.connection]?.transfers[id.number]?.isReady = true
    connections[id.connection]?.ready.append(id.number)
    enterLine(id.connection)
  }

  private mutating func enterLine(_ number: RoutingID) {
    guard connections[number]?.isInLine == false else { return }
    connections[number]?.isInLine = true
    turns.append(number)
  }

  mutating func addCredit(_ bytes: Int64, to id: TransferID) {
    guard let credit = connections[id.connection]?.transfers[id.number]?.credit else { return }
    connections[id.connection]?.transfers[id.number]?.credit =
      min(credit + bytes, Limits.contentBytes)
    makeReady(id)
  }

  mutating func end(_ id: TransferID) {
    guard let transfer = connections[id.connection]?.transfers.removeValue(forKey: id.number),
      let reader = connections[id.connection]?.reader
    else { return }
    adjust(-1, reader, id.connection)
    leaveLarge(id, transfer.content.content)
    forgetIfIdle(id.connection)
  }

  mutating func endAll(of connection: RoutingID) {
    guard let known = connections[connection] else { return }
    adjust(-known.transfers.count, known.reader, connection)
    for (number, transfer) in known.transfers {
      leaveLarge(TransferID(connection: connection, number: number), transfer.content.content)
    }
    connections[connection]?.transfers = [:]
    connections[connection]?.ready = []
    forgetIfIdle(connection)
  }

  /// A connection in line is remembered until its turn: it must not get into line twice.
  private mutating func forgetIfIdle(_ number: RoutingID) {
    guard let known = connections[number], known.transfers.isEmpty, !known.isInLine else { return }
    connections[number] = nil
  }

  private mutating func leaveLine(_ number: RoutingID) {
    connections[number]?.isInLine = false
    forgetIfIdle(number)
  }

  /// Ends the transfers of a reader. Costs all connections; keys are removed rarely.
  mutating func endAll(of reader: ContentReader) {
    for number in connections.filter({ $0.value.reader == reader }).keys { endAll(of: number) }
  }

  /// Ends the transfers of connections that have done nothing since a moment: nobody tells a router
  /// that a reader has gone. Costs all connections; call it every few seconds.
  mutating func endSilent(since moment: Instant) {
    for number in connections.filter({ $0.value.lastActive < moment }).keys { endAll(of: number) }
  }

  /// The piece whose turn it is. Tell `sent`, `postpone` or `failed` what became of it.
  mutating func nextPiece() -> Piece? {
    while let number = turns.popFirst() {
      while let next = connections[number]?.ready.popFirst() {
        guard let transfer = connections[number]?.transfers[next] else { continue }
        connections[number]?.transfers[next]?.isReady = false
        let count = min(transfer.left, transfer.credit, Int64(Limits.contentPieceBytes))
        return Piece(
          transfer: TransferID(connection: number, number: next), content: transfer.content,
          offset: transfer.next, count: Int(count))
      }
      leaveLine(number)
    }
    return nil
  }

  /// The piece has been sent; a transfer of which all is sent has ended.
  mutating func sent(_ piece: Piece, at now: Instant) {
    let id = piece.transfer
    connections[id.connection]?.lastActive = now
    defer { giveTurn(id.connection) }
    guard var transfer = connections[id.connection]?.transfers[id.number] else { return }
    transfer.next += Int64(piece.count)
    transfer.credit -= Int64(piece.count)
    connections[id.connection]?.transfers[id.number] = transfer
    if transfer.left == 0 { end(id) } else { makeReady(id) }
  }

  /// Puts the connection whose turn it was behind the others, if it has more.
  private mutating func giveTurn(_ number: RoutingID) {
    if connections[number]?.ready.isEmpty == false {
      turns.append(number)
    } else {
      leaveLine(number)
    }
  }

  /// The piece cannot be read, or its connection has gone: the transfer has ended.
  mutating func failed(_ piece: Piece, connectionHasGone: Bool) {
    if connectionHasGone {
      endAll(of: piece.transfer.connection)
    } else {
      end(piece.transfer)
    }
    giveTurn(piece.transfer.connection)
  }

  /// The connection took no more: it has no turn until `retry`.
  mutating func postpone(_ piece: Piece) {
    let id = piece.transfer
    guard connections[id.connection]?.transfers[id.number] != nil else {
      return giveTurn(id.connection)
    }
    connections[id.connection]?.transfers[id.number]?.isReady = true
    connections[id.connection]?.ready.prepend(id.number)
    blocked.append(id.connection)
  }

  /// Lets the connections that took no more have a turn again.
  mutating func retry() {
    turns.append(contentsOf: blocked)
    blocked.removeAll(keepingCapacity: true)
  }
}
