// The fetcher's thread: carries out the plan's actions, writes what comes, and tells of ends.

import Glibc
import Logging
import OpClusterModel
import OpClusterStore
import OpClusterSystem
import OpClusterWire
import OpClusterZeroMQ

final class FetcherLoop {
  private let store: ContentStore
  private let keys: KeyPair?
  private let logger: Logger
  private let orders: Mailbox<FetcherOrder>
  private let ended: ContentFetcher.Ended
  private var plan: FetchPlan
  private var links: [HolderLink] = []
  private var incoming: [ContentDigest: IncomingContent] = [:]
  private var wanted: [ContentDigest: StoredContent] = [:]
  private var poller = SocketPoller()
  /// The sockets have changed since the poller was told.
  private var isPollerOld = true
  private var isStopped = false
  private var now = Instant(nanoseconds: MonotonicClock.now())
  private let unheardBytes: UInt64
  private var nextTrafficLook = Instant.zero

  init(
    _ store: ContentStore, _ keys: KeyPair?, _ orders: Mailbox<FetcherOrder>, _ logger: Logger,
    patience: OpClusterModel.Span, hearsOfHolders: Bool, unheardBytes: UInt64,
    _ ended: @escaping ContentFetcher.Ended
  ) {
    self.unheardBytes = unheardBytes
    plan = FetchPlan(patience: patience, hearsOfHolders: hearsOfHolders)
    self.store = store
    self.keys = keys
    self.orders = orders
    self.logger = logger
    self.ended = ended
  }

  /// What is taken of a connection before credit leaves again: a small part of what is on its way,
  /// so that the holder never waits for more.
  private static let messagesPerTurn = 64
  private static let bytesPerTurn = 1 << 20

  func run() {
    while !isStopped {
      wait()
      takeOrders()
      for link in links { takeMessages(of: link) }
      loseUnheard()
      plan.passTime(at: now)
      carryOut()
      for link in links where !link.flush() { lose(link.source) }
      carryOut()
    }
  }

  private func wait() {
    if isPollerOld {
      isPollerOld = false
      poller.removeAll()
      _ = poller.add(descriptor: orders.descriptor)
      for link in links { link.join(&poller) }
    }
    for link in links { link.listen(&poller) }
    do throws(SystemError) {
      let look = links.isEmpty ? nil : nextTrafficLook
      let deadline = [plan.nextDeadline, look].compactMap { $0 }.min()
      _ = try poller.wait(until: deadline?.nanoseconds)
    } catch {
      logger.error("the store's fetcher ends: \(error)")
      isStopped = true
    }
    now = Instant(nanoseconds: MonotonicClock.now())
  }

  private func takeOrders() {
    var batch: [FetcherOrder] = []
    orders.takeAll(into: &batch)
    for order in batch {
      switch order {
      case .stop: isStopped = true
      case .drop(let digest):
        wanted[digest] = nil
        incoming[digest] = nil
        plan.drop(digest, at: now)
      case .fetch(let content, let sources): want(content, sources)
      }
    }
  }

  private func want(_ content: StoredContent, _ sources: [ContentSource]) {
    if store.keep(whole: content) { return ended(content, nil) }
    if wanted[content.digest] == nil {
      do throws(StoreError) {
        // Its room is promised before anybody sends a byte.
        incoming[content.digest] = try store.begin(content)
      } catch {
        return ended(content, .store(StoreProblem(error)))
      }
      wanted[content.digest] = content
    }
    plan.want(content, from: sources, at: now)
  }

  // MARK: - Connections

  private func carryOut() {
    while true {
      let actions = plan.takeActions()
      if actions.isEmpty { return }
      for action in actions {
        switch action {
        case .connect(let source): connect(source)
        case .close(let source): close(source)
        case .send(let source, let request):
          links.first { $0.source == source }?.send(Wire.encode(request))
        case .giveUp(let digest, let failure): end(digest, failure)
        }
      }
    }
  }

  private func connect(_ source: ContentSource) {
    close(source)
    do throws(SystemError) {
      links.append(try HolderLink(to: source, keys))
      isPollerOld = true
    } catch {
      logger.debug("\(error)")
      plan.lost(source, at: now)
    }
  }

  private func close(_ source: ContentSource) {
    links.removeAll { $0.source == source }
    isPollerOld = true
  }

  private func lose(_ source: ContentSource) {
    close(source)
    plan.lost(source, at: now)
  }

  /// Ends connections to holders whose messages never end. Costs the connections, once a second.
  private func loseUnheard() {
    guard now >= nextTrafficLook else { return }
    nextTrafficLook = now + HolderLink.trafficLook
    for link in links where link.hasUnheard(beyond: unheardBytes) {
      logger.error("the store at \(link.source.endpoint) has sent more than can be heard")
      lose(link.source)
    }
  }

  private func takeMessages(of link: HolderLink) {
    while let event = link.nextEvent() {
      switch event {
      case .connected: plan.connected(link.source, at: now)
      case .refused, .handshakeFailed, .disconnected:
        logger.debug("the store at \(link.source.endpoint): \(event)")
        return lose(link.source)
      }
    }
    var bytesTaken = 0
    for _ in 0..<Self.messagesPerTurn where bytesTaken < Self.bytesPerTurn {
      switch link.receive() {
      case .nothing: return
      case .message(let bytes, _):
        guard take(bytes, from: link.source) else { return lose(link.source) }
        bytesTaken += bytes.count
      case .malformed, .failed: return lose(link.source)
      }
    }
  }

  // MARK: - Contents

  /// False: the holder does not keep the rules.
  private func take(_ bytes: [UInt8], from source: ContentSource) -> Bool {
    let answer: ContentAnswer
    do throws(WireError) {
      answer = try Wire.decodeContentAnswer(bytes)
    } catch {
      logger.warning("the store at \(source.endpoint) sent what cannot be read: \(error)")
      return false
    }
    switch answer {
    // Nothing was offered.
    case .wanted, .kept: return false
    case .refused(let number, let refusal):
      plan.refused(refusal, number: number, from: source, at: now)
      return true
    case .piece(let number, let offset, let piece):
      let verdict = plan.take(
        piece: piece.count, at: offset, number: number, from: source, at: now)
      switch verdict {
      case .late: return true
      case .broken:
        logger.warning("the store at \(source.endpoint) sent what was not asked for")
        return false
      case .next(let digest): write(piece, of: digest, isLast: false, from: source)
      case .last(let digest): write(piece, of: digest, isLast: true, from: source)
      }
      return true
    }
  }

  private func write(
    _ piece: [UInt8], of digest: ContentDigest, isLast: Bool, from source: ContentSource
  ) {
    guard let content = incoming[digest] else { return }
    do throws(StoreError) {
      try content.append(piece.span)
      guard isLast else { return }
      _ = try content.finish()
      incoming[digest] = nil
      plan.drop(digest, at: now)
      end(digest, nil)
    } catch {
      incoming[digest] = nil
      switch error {
      case .different: beginAgain(digest, from: source)
      default: fail(digest, error)
      }
    }
  }

  /// Other bytes came than were wanted.
  private func beginAgain(_ digest: ContentDigest, from source: ContentSource) {
    logger.warning(
      "the store at \(source.endpoint) sent other bytes than those of \(digest.short)")
    guard let content = wanted[digest] else { return }
    do throws(StoreError) {
      incoming[digest] = try store.begin(content)
      plan.restart(digest, at: now)
    } catch {
      fail(digest, error)
    }
  }

  private func fail(_ digest: ContentDigest, _ error: StoreError) {
    plan.drop(digest, at: now)
    end(digest, .store(StoreProblem(error)))
  }

  private func end(_ digest: ContentDigest, _ failure: FetchFailure?) {
    incoming[digest] = nil
    if let content = wanted.removeValue(forKey: digest) { ended(content, failure) }
  }
}

extension StoreProblem {
  init(_ error: StoreError) {
    text = error.description
    isLackOfRoom = error.isLackOfRoom
  }
}

/// The connection to one holder.
final class HolderLink {
  let source: ContentSource
  private let socket: Socket
  private var item: SocketPoller.Item?
  /// Requests that the socket did not take yet, in order.
  private var unsent: [[UInt8]] = []
  /// The messages that it took.
  private(set) var sentCount = 0

  /// - Throws: `EINVAL` for an address that is none, or what libzmq answered.
  init(to source: ContentSource, _ keys: KeyPair?) throws(SystemError) {
    self.source = source
    let action = "reach the store at \(source.endpoint)"
    let endpoint: Endpoint
    do throws(EndpointError) {
      endpoint = try Endpoint(source.endpoint)
    } catch {
      throw SystemError(action: action, code: EINVAL, advice: error.description)
    }
    var socketKeys: SocketKeys?
    if let keys, let server = PublicKey(bytes: source.key) {
      socketKeys = .client(keys, server: server)
    }
    socket = try Socket(
      role: .dealer(maximumMessageBytes: Limits.contentPieceBytes + Self.overhead),
      keys: socketKeys, highWaterMark: Self.waitingPieces)
    try socket.connect(endpoint)
  }

  /// What a message has beside its piece.
  private static let overhead = 1_024
  private static let waitingPieces = 64

  func join(_ poller: inout SocketPoller) { item = poller.add(socket) }

  func listen(_ poller: inout SocketPoller) {
    guard let item else { return }
    poller.change(item, to: unsent.isEmpty ? .readable : [.readable, .writable])
  }

  /// How often it is looked whether a message never ends.
  static let trafficLook = OpClusterModel.Span.seconds(1)

  /// Whether it has sent more than this that was not heard: libzmq bounds what waits in whole
  /// messages.
  func hasUnheard(beyond limit: UInt64) -> Bool { socket.unheardOfServer() ?? 0 > limit }

  func nextEvent() -> ConnectionEvent? { socket.nextConnectionEvent() }
  func receive() -> ReceiveResult { socket.receive() }
  func send(_ bytes: [UInt8]) { unsent.append(bytes) }
  /// Whether so many messages wait already.
  func isFull(_ messages: Int) -> Bool { unsent.count >= messages }

  /// Sends what waits, as far as possible; false: the connection has ended.
  func flush() -> Bool {
    var sent = 0
    defer { unsent.removeFirst(sent) }
    while sent < unsent.count {
      switch socket.send(unsent[sent]) {
      case .sent:
        sent += 1
        sentCount += 1
      case .wouldBlock: return true
      case .unreachable, .failed: return false
      }
    }
    return true
  }
}
