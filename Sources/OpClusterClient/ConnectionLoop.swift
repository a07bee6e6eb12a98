// The thread of one connection: owns the DEALER, steps the pure parts (Link, PendingRequests,
// Subscriptions) and carries their words to and from the socket. Started by
// ClusterConnection.connect; ends on `close`.

import OpClusterModel
import OpClusterWire
import OpClusterZeroMQ
import Synchronization

struct ConnectionLoop: ~Copyable {
  private let endpoint: Endpoint
  private let shared: ConnectionShared
  private var socket: Socket?
  private var socketItem: Poller.Item?
  private var poller = Poller()
  private var link: Link
  private var requests = PendingRequests()
  private var subscriptions = Subscriptions()
  /// Words of our own that the socket had no room for.
  private var unsentWords: [(id: RequestID?, bytes: [UInt8])] = []
  /// Requests of our own that are not answered yet.
  private var ownInFlight: Set<RequestID> = []
  private var orders: [ConnectionOrder] = []
  private var lastOwnRequest: UInt64 = 0
  private var isClosing = false
  private var hasOpened = false
  /// For the first connection only.
  private let openingDeadline: Instant

  init(endpoint: Endpoint, shared: ConnectionShared, openingTime: Span, patience: Span) {
    self.endpoint = endpoint
    self.shared = shared
    let now = Instant.now
    link = Link(at: now, patience: patience)
    openingDeadline = now + openingTime
  }

  /// Our own requests have even numbers, those of the owner odd ones.
  static let requestStep: UInt64 = 2

  /// Whether somebody wants to be told when the coordinator stays away.
  private var isAwaited: Bool { !requests.isEmpty || subscriptions.hasImpatient }

  mutating func run() {
    while !isClosing { turn() }
    socket = nil
    // Orders that were posted before `end` are still told.
    shared.end(with: .closed)
    takeOrders()
    requests.failAll(shared.endError)
    subscriptions.failAll(shared.endError)
    shared.opened.fill(.failure(shared.endError))
    shared.ended.fill(.success(()))
  }

  /// One turn: sleep until there is something to do, then do all of it once.
  private mutating func turn() {
    sleep()
    takeOrders()
    readConnectionEvents()
    readMessages()
    attendToTime()
    flush()
  }

  private mutating func sleep() {
    poller.removeAll()
    _ = poller.add(descriptor: shared.mailbox.descriptor)
    socketItem = nil
    if socket != nil {
      // Whether there is room matters only to who has something to say.
      let isFull =
        link.isOpen && isInBounds && (!unsentWords.isEmpty || requests.next() != nil)
      socketItem = poller.add(socket!, for: isFull ? [.readable, .writable] : .readable)
    }
    var moment = link.nextMoment(isAwaited: isAwaited)
    if let deadline = requests.nextDeadline { moment = min(moment, deadline) }
    do throws(SocketError) {
      _ = try poller.wait(until: moment.nanoseconds)
    } catch {
      loseSocket(.unreachable(shared.address, error.description))
    }
  }

  // What the owner asks

  private mutating func takeOrders() {
    shared.mailbox.takeAll(into: &orders)
    for order in orders {
      switch order {
      case .request(let request): requests.add(request)
      case .abandon(let id): requests.abandon(id)
      case .subscribe(let wish, let sink): subscriptions.add(wish, sink: sink)
      case .look: break
      case .close: isClosing = true
      }
    }
    orders.removeAll(keepingCapacity: true)
  }

  // What the socket says

  private mutating func readConnectionEvents() {
    while socket != nil, let event = socket!.nextConnectionEvent() {
      switch event {
      case .connected:
        link.connected()
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
        loseSocket(
          ClientError(
            Refusal(.forbidden, "the coordinator at \(shared.address) does not accept our key")))
      case .handshakeFailed(.broken):
        loseSocket(.unreachable(shared.address, "the handshake broke off"))
      }
    }
  }

  private mutating func readMessages() {
    for _ in 0..<Limits.framesPerTurn where socket != nil {
      switch socket!.receive() {
      case .message(let bytes, _): take(bytes)
      case .nothing: return
      case .malformed:
        loseSocket(violation("it sent a message of several frames"))
      case .failed(let error):
        loseSocket(.unreachable(shared.address, error.description))
      }
    }
  }

  private mutating func take(_ bytes: [UInt8]) {
    let now = Instant.now
    link.heard(at: now)
    let answer: ClientAnswer
    do {
      answer = try Wire.decodeClientAnswer(bytes)
    } catch {
      return loseSocket(violation("\(error)"))
    }
    switch answer {
    case .welcome(let version, let build, let epoch):
      guard version >= ProtocolVersions.current.lowest,
        version <= ProtocolVersions.current.highest
      else { return loseSocket(violation("it chose version \(version), which we do not speak")) }
      shared.welcome.withLock {
        $0 = WelcomeValues(version: version, build: build, epoch: epoch)
      }
      link.welcomed(at: now)
      hasOpened = true
      shared.opened.fill(.success(()))
    case .reply(_, .refused(let refusal)) where !link.isOpen:
      // The answer to our hello.
      loseSocket(ClientError(refusal))
    case .reply(let id, let reply):
      ownInFlight.remove(id)
      if case .accepted(let graph, _, let isRepeated) = reply {
        subscriptions.accepted(graph, by: id, isRepeated: isRepeated)
      }
      requests.answer(id, reply)
      subscriptions.answer(id, reply, submissions: { requests.sentSubmissions })
    case .events(let batch):
      let error = subscriptions.take(batch, hasSubmissions: requests.hasSubmissions)
      if let error { loseSocket(error) }
    case .heartbeat: break
    }
  }

  private func violation(_ detail: String) -> ClientError {
    ClientError(
      .protocolViolation,
      "what answers at \(shared.address) is not a coordinator of ours: \(detail)",
      hint: "check the address and compare 'opbatch version' with 'opcoord --version'")
  }

  // Time

  private mutating func attendToTime() {
    let now = Instant.now
    requests.expire(at: now, address: shared.address)
    switch link.due(at: now, isAwaited: isAwaited) {
    case .nothing: break
    case .openSocket: openSocket(at: now)
    case .ping: say(.ping)
    case .giveUpSocket(let why): loseSocket(.unreachable(shared.address, why))
    case .failWaiting:
      let error = ClientError.unreachable(
        shared.address, "it has been away for \(Int(link.patience.seconds)) seconds")
      requests.failAll(error)
      subscriptions.failImpatient(error)
    }
  }

  private mutating func openSocket(at now: Instant) {
    do throws(SocketError) {
      let fresh = try Socket(role: .dealer(maximumMessageBytes: Limits.messageBytes))
      try fresh.connect(endpoint)
      socket = consume fresh
      link.socketOpened(deadline: hasOpened ? now + Link.reconnectDeadline : openingDeadline)
    } catch {
      loseSocket(.unreachable(shared.address, error.description))
    }
  }

  /// Drops the socket; everything goes on with a fresh one, or ends if there never was a welcome.
  private mutating func loseSocket(_ error: ClientError) {
    socket = nil
    unsentWords = []
    link.socketLost(at: .now, chance: Double.random(in: 0...1))
    ownInFlight = []
    requests.connectionEnded(.lost(shared.address))
    subscriptions.connectionEnded(submissions: requests.sentSubmissions)
    let isFinal =
      switch error.kind {
      case .versionMismatch: true
      case .refused(let refusal) where refusal.code == .forbidden: true
      default: !hasOpened
      }
    guard isFinal else { return }
    shared.end(with: error)
    shared.opened.fill(.failure(error))
    isClosing = true
  }

  // What is to be said

  /// Sends as much as the socket takes and the coordinator allows.
  private mutating func flush() {
    guard link.isOpen else { return }
    if !requests.hasSubmissions { subscriptions.allAnswered() }
    let due = subscriptions.due(&lastOwnRequest, submissions: { requests.sentSubmissions })
    for (id, request) in due { say(request, as: id) }
    // Subscriptions go before requests: who observes and then submits is told from the beginning.
    sendUnsent()
    guard unsentWords.isEmpty else { return }
    while isInBounds, let request = requests.next(), send(request.bytes) {
      requests.markNextSent()
    }
  }

  /// Whether the coordinator will take one more request (`Limits.requestsInFlightPerClient`).
  private var isInBounds: Bool {
    requests.inFlightCount + ownInFlight.count < Limits.requestsInFlightPerClient
  }

  private mutating func sendUnsent() {
    var sent = 0
    while isInBounds, sent < unsentWords.count, send(unsentWords[sent].bytes) {
      if let id = unsentWords[sent].id { ownInFlight.insert(id) }
      sent += 1
    }
    // Empty when the socket was lost.
    unsentWords.removeFirst(min(sent, unsentWords.count))
  }

  private mutating func nextOwnRequest() -> RequestID {
    lastOwnRequest += Self.requestStep
    return RequestID(lastOwnRequest)
  }

  /// Sends it, or keeps it for when there is room. Bounded: one ping each 3 s, and few words for
  /// each subscription and quarter of its credit.
  private mutating func say(_ request: ClientRequest, as id: RequestID? = nil) {
    let number = id ?? nextOwnRequest()
    unsentWords.append((number, Wire.encode(ClientMessage.request(number, request))))
    sendUnsent()
  }

  /// Whether the socket took it.
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

/// What the coordinator hears about our build.
let clientBuild = "opcluster-client/1"
