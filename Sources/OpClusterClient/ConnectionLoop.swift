// The thread of one connection: owns the DEALER, steps the pure part (ClientConversation) and
// carries its messages to and from the socket. Started by ClusterConnection.connect; ends on
// `close`.

import OpClusterModel
import OpClusterSystem
import OpClusterWire
import OpClusterZeroMQ
import Synchronization

struct ConnectionLoop: ~Copyable {
  private let endpoint: Endpoint
  private let keys: ClusterKeys?
  private let servers: LocalServers
  private let shared: ConnectionShared
  private var socket: Socket?
  private var socketItem: SocketPoller.Item?
  private var poller = SocketPoller()
  private var mind: ClientConversation
  /// The thread's own messages that the socket had no room for.
  private var unsentWords: [(id: RequestID?, bytes: [UInt8])] = []
  private var orders: [ConnectionOrder] = []
  private var lastOwnRequest: UInt64 = 0
  private var isClosing = false
  private var socketOpenedAt = Instant.zero
  /// Handshakes in a row that the peer broke off.
  private var hangUps = 0
  /// Applies to the first connection only.
  private let openingDeadline: Instant
  /// For the first welcome, once somebody is reached who has the coordinator's key or its socket.
  private let greetingTime: Span

  init(
    endpoint: Endpoint, keys: ClusterKeys?, servers: LocalServers, shared: ConnectionShared,
    openingTime: Span, greetingTime: Span, patience: Span
  ) {
    self.endpoint = endpoint
    self.keys = keys
    self.servers = servers
    self.shared = shared
    let now = Instant.now
    mind = ClientConversation(address: shared.address, link: Link(at: now, patience: patience))
    openingDeadline = now + openingTime
    self.greetingTime = greetingTime
  }

  /// The thread's own requests have even numbers, the owner's odd ones.
  static let requestStep: UInt64 = 2

  mutating func run() {
    while !isClosing { turn() }
    socket = nil
    // Orders posted before `end` still get their answer.
    shared.end(with: .closed)
    takeOrders()
    mind.requests.failAll(shared.endError)
    mind.subscriptions.failAll(shared.endError)
    shared.opened.fill(.failure(shared.endError))
    shared.ended.fill(.success(()))
  }

  /// One turn: sleeps until there is work, then does all of it once.
  private mutating func turn() {
    sleep()
    takeOrders()
    readConnectionEvents()
    readMessages()
    attendToTime()
    flush()
  }

  private mutating func sleep() {
    let now = Instant.now
    poller.removeAll()
    _ = poller.add(descriptor: shared.mailbox.descriptor)
    socketItem = nil
    if socket != nil {
      // Wait for room only if there is something to send, and it may be sent now.
      let isFull =
        mind.link.isOpen && mind.isInBounds && !mind.requests.isPaused(at: now)
        && (!unsentWords.isEmpty || mind.nextRequest(at: now) != nil)
      socketItem = poller.add(socket!, for: isFull ? [.readable, .writable] : .readable)
    }
    var moment = mind.link.nextDeadline(isAwaited: mind.isAwaited)
    if let deadline = mind.requests.nextDeadline { moment = min(moment, deadline) }
    if let sending = mind.requests.nextSending(at: now) { moment = min(moment, sending) }
    do throws(SystemError) {
      _ = try poller.wait(until: moment.nanoseconds)
    } catch {
      loseSocket(.unreachable(shared.address, error.description))
    }
  }

  // Orders of the owner

  private mutating func takeOrders() {
    shared.mailbox.takeAll(into: &orders)
    for order in orders {
      switch order {
      case .request(let request): mind.requests.add(request)
      case .abandon(let id): mind.requests.abandon(id)
      case .subscribe(let wish, let sink): mind.subscriptions.add(wish, sink: sink)
      case .look: break
      case .close: isClosing = true
      }
    }
    orders.removeAll(keepingCapacity: true)
  }

  // Input of the socket

  private mutating func readConnectionEvents() {
    while socket != nil, let event = socket!.nextConnectionEvent() {
      switch event {
      case .connected:
        mind.link.connected(greetingUntil: mind.hasOpened ? .distantPast : .now + greetingTime)
        hangUps = 0
        unsentWords = [(nil, Wire.encode(ClientMessage.hello(ClientHello(build: clientBuild))))]
        sendUnsent()
      case .refused:
        loseSocket(.unreachable(shared.address, "nobody listens there"))
      case .disconnected:
        loseSocket(.unreachable(shared.address, "it ended the connection"))
      case .handshakeFailed(.protocolViolation):
        loseSocket(
          ClientError(
            .protocolViolation,
            "what listens at \(shared.address) does not speak ZeroMQ's protocol",
            hint: "check the port: a coordinator serves clients at 7420 unless told otherwise"))
      case .handshakeFailed(.notAuthorized):
        loseSocket(.keyRefused(shared.address, keys?.name ?? "none"))
      case .handshakeFailed(.foreignServer(let user)):
        loseSocket(.foreignServer(shared.address, user: user), isFinal: !mind.hasOpened)
      case .handshakeFailed(.broken): handshakeBroke()
      }
    }
  }

  /// A coordinator with another key hangs up silently (A6). So does a coordinator that is killed at
  /// that moment; therefore one hang-up is no proof.
  private mutating func handshakeBroke() {
    let isHangUp = Instant.now - socketOpenedAt < Self.handshakePatience
    guard keys != nil, isHangUp else {
      // libzmq gives each handshake 2 s; a coordinator on a starved machine may need longer.
      return loseSocket(
        .unreachable(shared.address, "the handshake came to nothing"),
        isFinal: !mind.hasOpened && Instant.now >= openingDeadline)
    }
    hangUps += 1
    loseSocket(.wrongServerKey(shared.address), isFinal: hangUps >= 2 && !mind.hasOpened)
  }

  /// A handshake without an answer ends after 2 s (`HANDSHAKE_IVL`); a hang-up comes earlier.
  private static let handshakePatience = Span.milliseconds(1_500)

  private mutating func readMessages() {
    for _ in 0..<Limits.framesPerTurn where socket != nil {
      switch socket!.receive() {
      case .message(let bytes, _): take(bytes)
      case .nothing: return
      case .malformed:
        loseSocket(mind.violation("it sent a message of several frames"))
      case .failed(let error):
        loseSocket(.unreachable(shared.address, error.description))
      }
    }
  }

  private mutating func take(_ bytes: [UInt8]) {
    let answer: ClientAnswer
    do {
      answer = try Wire.decodeClientAnswer(bytes)
    } catch {
      return loseSocket(mind.violation("\(error)"))
    }
    let heard = mind.take(answer, at: .now, chance: Double.random(in: 0...1))
    if let postponement = mind.requests.takePostponement() { shared.tell(postponement) }
    if let wait = mind.takeDiskWait() { shared.tell(diskWait: wait) }
    switch heard {
    case .nothing: break
    case .welcomed(let version, let build, let life):
      shared.welcome.withLock {
        $0 = WelcomeValues(version: version, build: build, epoch: life.epoch)
      }
      shared.opened.fill(.success(()))
    case .broken(let error): loseSocket(error)
    }
  }

  // Time

  private mutating func attendToTime() {
    let now = Instant.now
    mind.requests.expire(at: now, address: shared.address)
    switch mind.link.due(at: now, isAwaited: mind.isAwaited) {
    case .nothing: break
    case .openSocket: openSocket(at: now)
    case .ping: say(.ping)
    case .giveUpSocket(let why): loseSocket(.unreachable(shared.address, why))
    case .failWaiting:
      let error = ClientError.unreachable(
        shared.address, "it has been away for \(mind.link.patience.wholeSeconds) seconds")
      mind.requests.failAll(error)
      mind.subscriptions.failImpatient(error)
    }
  }

  private mutating func openSocket(at now: Instant) {
    do throws(SystemError) {
      let fresh = try Socket(
        role: .dealer(maximumMessageBytes: Limits.messageBytes), keys: keys?.socketKeys)
      try fresh.connect(endpoint, servedBy: servers)
      socket = consume fresh
      socketOpenedAt = now
      mind.link.socketOpened(
        deadline: mind.hasOpened ? mind.link.reconnectDeadline(at: now) : openingDeadline)
    } catch {
      loseSocket(.unreachable(shared.address, error.description))
    }
  }

  /// Drops the socket. Everything continues on a fresh one, or ends if there never was a welcome.
  private mutating func loseSocket(_ error: ClientError, isFinal decided: Bool? = nil) {
    socket = nil
    unsentWords = []
    mind.socketLost(at: .now, chance: Double.random(in: 0...1))
    let isFinal =
      switch error.kind {
      case _ where decided != nil: decided ?? false
      case .versionMismatch, .keyRefused: true
      case .refused(let refusal) where refusal.code == .forbidden: true
      default: !mind.hasOpened
      }
    guard isFinal else { return }
    shared.end(with: error)
    shared.opened.fill(.failure(error))
    isClosing = true
  }

  // Output

  /// Sends as much as the socket takes and the coordinator allows.
  private mutating func flush() {
    guard mind.link.isOpen else { return }
    let now = Instant.now
    // The coordinator is too busy: the thread's own messages wait, too.
    guard !mind.requests.isPaused(at: now) else { return }
    for (id, request) in mind.dueOwnRequests(&lastOwnRequest) { say(request, as: id) }
    // Subscriptions go before requests, so that an observer sees its own later submissions from
    // their beginning.
    sendUnsent()
    guard unsentWords.isEmpty else { return }
    while mind.isInBounds, let request = mind.nextRequest(at: now), send(request.bytes) {
      mind.requests.markNextSent()
    }
  }

  private mutating func sendUnsent() {
    var sent = 0
    while mind.isInBounds, sent < unsentWords.count, send(unsentWords[sent].bytes) {
      if let id = unsentWords[sent].id { mind.ownInFlight.insert(id) }
      sent += 1
    }
    // The list is empty if the socket was lost.
    unsentWords.removeFirst(min(sent, unsentWords.count))
  }

  private mutating func nextOwnRequest() -> RequestID {
    lastOwnRequest += Self.requestStep
    return RequestID(lastOwnRequest)
  }

  /// Sends a message, or keeps it until there is room. Bounded: one ping per 3 s, and few messages
  /// per subscription and grant.
  private mutating func say(_ request: ClientRequest, as id: RequestID? = nil) {
    let number = id ?? nextOwnRequest()
    unsentWords.append((number, Wire.encode(ClientMessage.request(number, request))))
    sendUnsent()
  }

  /// Sends bytes; returns whether the socket took them.
  private mutating func send(_ bytes: [UInt8]) -> Bool {
    guard socket != nil else { return false }
    switch socket!.send(bytes) {
    case .sent: return true
    case .wouldBlock: return false
    case .unreachable:
      loseSocket(.unreachable(shared.address, "it ended the connection"))
    case .failed(let error):
      loseSocket(.unreachable(shared.address, error.description))
    }
    return false
  }
}

/// The name of our build for the coordinator.
let clientBuild = "opcluster-client/1"
