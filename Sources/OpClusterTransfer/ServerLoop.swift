// The thread of a store's server: takes requests, reads pieces, sends them.

import DequeModule
import Logging
import OpClusterModel
import OpClusterStore
import OpClusterSystem
import OpClusterWire
import OpClusterZeroMQ
import Synchronization

final class ServerLoop {
  private let store: ContentStore
  private let logger: Logger
  private let orders: Mailbox<ServerOrder>
  private let socket: Socket
  let endpoint: Endpoint
  /// Lets in who may read something; nil without TCP.
  private let gate: Gate?
  private var poller = SocketPoller()
  private var grants = ContentGrants()
  /// Who may leave what.
  private var writeGrants = ContentGrants()
  private var transfers: ServedTransfers
  private var uploads: Uploads
  private let mostConnections: Int
  private let unheardBytes: UInt64
  private let allowance: SharedSendAllowance
  private let left: @Sendable (StoredContent) -> Void
  /// Answers that a connection did not take yet, in order: none may get lost, since a writer waits
  /// for each.
  private var unsent: [RoutingID: Deque<[UInt8]>] = [:]
  private var now = Instant(nanoseconds: MonotonicClock.now())
  private var nextSweep = Instant.distantPast
  private var nextTrafficLook = Instant.distantPast
  private var isStopped = false
  /// The readers of `grants` have changed since the gate was told.
  private var areReadersNew = false

  init(
    _ store: ContentStore, at endpoint: Endpoint, _ keys: KeyPair?, domain: String,
    _ orders: Mailbox<ServerOrder>, _ logger: Logger, _ allowance: SharedSendAllowance,
    unheardBytes: UInt64, _ left: @escaping @Sendable (StoredContent) -> Void
  ) throws(SystemError) {
    self.store = store
    self.left = left
    self.allowance = allowance
    self.unheardBytes = unheardBytes
    self.orders = orders
    self.logger = logger
    let descriptors = ProcessLimits.descriptors(raising: false) ?? .max
    let most = allowance.mostTransfers(of: Limits.contentPieceBytes, within: Self.longestGap)
    transfers = ServedTransfers(most: min(Limits.transfers, most, descriptors / 4))
    uploads = Uploads(most: min(Limits.transfers, descriptors / 8))
    mostConnections = min(Limits.peersPerSocket, descriptors / 4)
    gate = keys == nil ? nil : try Gate(domain: domain) { _ in false }
    socket = try Socket(
      role: .router(maximumMessageBytes: Self.requestBytes),
      keys: keys.map { .server($0, domain: domain) }, highWaterMark: Self.waitingPieces)
    try socket.watchConnections()
    self.endpoint = try socket.bind(endpoint)
    _ = poller.add(socket)
    _ = poller.add(descriptor: orders.descriptor)
  }

  /// The largest request brings a piece; whoever sends more is cut off.
  private static let requestBytes = Limits.contentPieceBytes + 1_024
  /// Pieces that libzmq keeps for one connection.
  private static let waitingPieces = 32
  /// The time between tries to send to a connection that took no more: some pieces' time.
  private static let pause = OpClusterModel.Span.milliseconds(2)
  /// A reader gets a piece of each transfer as often as that, also of a store whose network is
  /// limited: who hears nothing for longer gives it up.
  private static let longestGap = OpClusterModel.Span.seconds(5)
  /// The gate closes after this time without a turn.
  private static let gateTime = OpClusterModel.Span.seconds(5)
  private static let turn = OpClusterModel.Span.seconds(1)
  /// A reader that has done nothing for so long has gone, or has other plans.
  private static let silence = OpClusterModel.Span.seconds(60)
  private static let requestsPerTurn = 256
  /// Of one connection: several for each of its transfers.
  private static let unsentAnswers = 8 * Limits.transfersPerReader
  private static let piecesPerTurn = 16

  func run() {
    while !isStopped {
      wait()
      takeOrders()
      if grants.endOld(at: now) { areReadersNew = true }
      if writeGrants.endOld(at: now) { areReadersNew = true }
      tellGate()
      _ = socket.countConnections(most: mostConnections)
      cutUnheard()
      takeRequests()
      endSilent()
      sendAnswers()
      sendPieces()
    }
  }

  private func wait() {
    let isBlocked = transfers.hasBlocked || !unsent.isEmpty
    let pause = isBlocked ? Self.pause : Self.turn
    let due = transfers.hasTurns ? allowance.opens(after: now) : now + pause
    do throws(SystemError) {
      _ = try poller.wait(until: due.nanoseconds)
    } catch {
      logger.error("the store's server ends: \(error)")
      isStopped = true
    }
    now = Instant(nanoseconds: MonotonicClock.now())
  }

  private func takeOrders() {
    var batch: [ServerOrder] = []
    orders.takeAll(into: &batch)
    for order in batch {
      switch order {
      case .stop: isStopped = true
      case .grant(let more):
        for grant in more {
          let isKnown =
            grant.mayWrite
            ? writeGrants.count(of: grant.reader) < Limits.writeGrantsPerClient
              && writeGrants.add(grant) : grants.add(grant)
          if !isKnown {
            logger.warning("too many grants; whoever asks for \(grant.digest.short) is refused")
          }
        }
        areReadersNew = true
      case .revoke(let reader):
        grants.revoke(reader)
        writeGrants.revoke(reader)
        uploads.endAll(of: reader)
        transfers.endAll(of: reader)
        areReadersNew = true
      }
    }
  }

  /// Costs the readers, when these have changed.
  private func tellGate() {
    guard let gate else { return }
    if areReadersNew {
      areReadersNew = false
      var keys: Set<PublicKey> = []
      for case .key(let key) in grants.readers { keys.insert(key) }
      for case .key(let key) in writeGrants.readers { keys.insert(key) }
      gate.admit { [keys] in keys.contains($0) }
    }
    gate.open(until: (now + Self.gateTime).nanoseconds)
  }

  private func endSilent() {
    guard now >= nextSweep else { return }
    nextSweep = now + Self.silence / 6
    transfers.endSilent(since: now - Self.silence)
    uploads.endSilent(at: now)
  }

  /// libzmq bounds what waits in whole messages: one that never ends has to be noticed by the
  /// kernel's count. Costs the connections, once a second.
  private func cutUnheard() {
    guard now >= nextTrafficLook else { return }
    nextTrafficLook = now + Self.turn
    for connection in socket.unheard(beyond: unheardBytes) {
      logger.error(
        """
        a connection to the store is cut: it has sent more than can be heard, as by a message that \
        never ends
        """, metadata: ["address": "\(connection.origin.networkAddress ?? "unknown")"])
      socket.cut(connection.origin)
    }
  }

  // MARK: - Requests

  private func takeRequests() {
    for _ in 0..<Self.requestsPerTurn {
      switch socket.receive() {
      case .nothing: return
      case .message(let bytes, let sender?): take(bytes, from: sender)
      case .message(_, nil), .failed: continue
      case .malformed(let sender):
        if let sender { cut(sender.connection, "sent what is no message") }
      }
    }
  }

  private func take(_ bytes: [UInt8], from sender: Sender) {
    let request: ContentRequest
    do throws(WireError) {
      request = try Wire.decodeContentRequest(bytes)
    } catch {
      return cut(sender.connection, "sent a request that cannot be read: \(error)")
    }
    switch request {
    case .wish(let number, let wish):
      let id = TransferID(connection: sender.connection, number: number)
      if let refusal = begin(id, wish, for: ContentReader(sender)) { answer(id, refusal) }
    case .credit(let number, let bytes):
      transfers.addCredit(bytes, to: TransferID(connection: sender.connection, number: number))
    case .stop(let number):
      let id = TransferID(connection: sender.connection, number: number)
      transfers.end(id)
      uploads.stop(id)
    case .offer(let number, let content):
      let id = TransferID(connection: sender.connection, number: number)
      answer(id, offered(content, id, ContentReader(sender)))
    case .piece(let number, let offset, let bytes):
      take(bytes, at: offset, TransferID(connection: sender.connection, number: number))
    }
  }

  // MARK: - What others leave

  private func offered(
    _ content: StoredContent, _ id: TransferID, _ writer: ContentReader
  ) -> Uploads.Answer {
    guard writeGrants.allows(writer, content.digest, at: now) else {
      return .refused(.notGranted)
    }
    if store.keep(whole: content) { return .kept(content) }
    do throws(StoreError) {
      let (answer, replaced) = try uploads.offer(content, id, by: writer, to: store, at: now)
      if let replaced { self.answer(replaced, ContentRefusal.busy) }
      return answer
    } catch {
      return .refused(refusal(error))
    }
  }

  private func take(_ bytes: [UInt8], at offset: Int64, _ id: TransferID) {
    do throws(StoreError) {
      guard let next = try uploads.take(bytes, at: offset, id, at: now) else {
        return cut(id.connection, "sent bytes that were not wanted")
      }
      answer(id, next)
    } catch {
      answer(id, .refused(refusal(error)))
    }
  }

  private func refusal(_ error: StoreError) -> ContentRefusal {
    switch error {
    case .full: return .full
    case .different: return .damaged
    default:
      logger.error("\(error)")
      return .failed
    }
  }

  private func answer(_ id: TransferID, _ answer: Uploads.Answer) {
    let message: ContentAnswer
    switch answer {
    case .nothing: return
    case .wanted(let offset, let credit):
      message = .wanted(number: id.number, offset: offset, credit: credit)
    case .kept(let content):
      left(content)
      message = .kept(number: id.number)
    case .refused(let refusal): message = .refused(number: id.number, refusal)
    }
    send(message, to: id.connection)
  }

  /// Ends the transfers of a connection that does not keep the rules. Called right after its
  /// message was received.
  private func cut(_ connection: RoutingID, _ reason: String) {
    logger.warning("a reader of the store \(reason); its connection is cut")
    transfers.endAll(of: connection)
    if let origin = socket.lastOrigin() { socket.cut(origin) }
  }

  private func begin(
    _ id: TransferID, _ wish: ContentWish, for reader: ContentReader
  ) -> ContentRefusal? {
    switch transfers.refusal(of: id, for: reader) {
    case .numberInUse:
      cut(id.connection, "used a number twice")
      return nil
    case .tooMany: return .busy
    case nil: break
    }
    guard grants.allows(reader, wish.digest, at: now) else { return .notGranted }
    // Who has a part of it goes on.
    if wish.hearsOfHolders, wish.offset == 0, transfers.isCrowded(wish.digest, at: now) {
      return .busy
    }
    do throws(StoreError) {
      let content = try store.open(wish.digest)
      guard wish.offset <= content.content.size else { return .failed }
      transfers.begin(
        id, content, for: reader, from: wish.offset, credit: wish.credit,
        becomesHolder: wish.hearsOfHolders, at: now)
      return nil
    } catch {
      switch error {
      case .absent: return .absent
      case .damaged:
        logger.error("\(error)")
        return .damaged
      default:
        logger.error("\(error)")
        return .failed
      }
    }
  }

  private func answer(_ id: TransferID, _ refusal: ContentRefusal) {
    send(.refused(number: id.number, refusal), to: id.connection)
  }

  private func send(_ message: ContentAnswer, to connection: RoutingID) {
    let bytes = Wire.encode(message)
    if unsent[connection] == nil {
      switch socket.send(bytes, to: connection) {
      case .sent, .unreachable, .failed: return
      case .wouldBlock: break
      }
    }
    // Who asks more often than that, and takes no answer, will not get one.
    guard unsent[connection]?.count ?? 0 < Self.unsentAnswers else { return }
    unsent[connection, default: []].append(bytes)
  }

  /// Costs the connections that took no more, and what they take now.
  private func sendAnswers() {
    for connection in unsent.keys {
      while let bytes = unsent[connection]?.first {
        if case .wouldBlock = socket.send(bytes, to: connection) { break }
        _ = unsent[connection]?.popFirst()
      }
      if unsent[connection]?.isEmpty == true { unsent[connection] = nil }
    }
  }

  // MARK: - Pieces

  private func sendPieces() {
    transfers.retry()
    for _ in 0..<Self.piecesPerTurn where allowance.isOpen(at: now) {
      guard let piece = transfers.nextPiece() else { return }
      send(piece)
    }
  }

  private func send(_ piece: ServedTransfers.Piece) {
    let id = piece.transfer
    let bytes: [UInt8]
    do throws(StoreError) {
      bytes = try piece.content.read(at: piece.offset, most: piece.count)
    } catch {
      logger.error("\(error)")
      transfers.failed(piece, connectionHasGone: false)
      return answer(id, .failed)
    }
    let message = ContentAnswer.piece(number: id.number, offset: piece.offset, bytes)
    switch socket.send(Wire.encode(message), to: id.connection) {
    case .sent:
      allowance.take(piece.count)
      transfers.sent(piece, at: now)
    case .wouldBlock: transfers.postpone(piece)
    case .unreachable, .failed: transfers.failed(piece, connectionHasGone: true)
    }
  }
}
