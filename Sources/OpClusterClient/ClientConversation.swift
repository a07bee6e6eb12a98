// The state of one connection: its link, its requests, its subscriptions, and the effect of each
// answer on them. Pure: no socket, no clock, no randomness; ConnectionLoop feeds it and carries its
// messages to the socket. Lives on the connection's thread.

package import OpClusterModel
import OpClusterWire

package struct ClientConversation {
  /// The consequence of an answer for the socket.
  package enum Heard {
    case nothing
    case welcomed(version: UInt32, build: String, CoordinatorLife)
    /// The socket must be dropped.
    case broken(ClientError)
  }

  let address: String
  var link: Link
  var requests = PendingRequests()
  var subscriptions = Subscriptions()
  /// The thread's own requests without an answer.
  var ownInFlight: Set<RequestID> = []
  private(set) var hasOpened = false
  /// How long the coordinator has waited for its disk, if it has said so since the last look.
  private var diskWait: Span?

  init(address: String, link: Link) {
    self.address = address
    self.link = link
  }

  /// Whether the coordinator will accept one more request (`Limits.requestsInFlightPerClient`).
  var isInBounds: Bool {
    requests.inFlightCount + ownInFlight.count < Limits.requestsInFlightPerClient
  }

  /// Whether a caller must be told if the coordinator stays away.
  var isAwaited: Bool { !requests.isEmpty || subscriptions.hasImpatient }

  /// Returns the requests of the subscriptions that are due now. They are sent before others.
  mutating func dueOwnRequests(_ lastRequest: inout UInt64) -> [(RequestID, ClientRequest)] {
    if !requests.hasSubmissions { subscriptions.allAnswered() }
    return subscriptions.due(
      &lastRequest, hasSubmissionsOnTheWay: requests.hasSubmissionsInFlight,
      submissions: { requests.unansweredSubmissions })
  }

  /// Returns the next request to send, if the coordinator will accept it.
  mutating func nextRequest(at now: Instant) -> PendingRequest? {
    requests.next(at: now, isDraining: subscriptions.awaitsRenewal)
  }

  /// Returns the coordinator's disk wait since the last call, while a caller waits.
  mutating func takeDiskWait() -> Span? {
    defer { diskWait = nil }
    return diskWait
  }

  /// Applies an answer; any answer is a sign of life.
  ///
  /// - Parameter chance: A random number in 0…1; spreads many clients over time.
  package mutating func take(
    _ answer: ClientAnswer, at now: Instant, chance: Double = 0
  ) -> Heard {
    link.heard(at: now)
    switch answer {
    case .welcome(let version, let build, let life):
      let ours = ProtocolVersions.current
      guard version >= ours.lowest, version <= ours.highest else {
        let range = "\(ours.lowest) to \(ours.highest)"
        return .broken(violation("it chose version \(version), we speak \(range)"))
      }
      link.welcomed(at: now)
      subscriptions.life = life
      hasOpened = true
      return .welcomed(version: version, build: build, life)
    case .reply(_, .refused(let refusal)) where !link.isOpen:
      // The answer to our hello.
      return .broken(ClientError(refusal))
    case .reply(RequestID(0), .refused(let refusal)) where refusal.code == .forbidden:
      // Our key was removed, or belongs to somebody else now (G37).
      return .broken(ClientError(refusal))
    case .reply(let id, let reply):
      let isOwn = ownInFlight.remove(id) != nil
      if isOwn, case .refused(let refusal) = reply, refusal.code == .busy,
        let wait = refusal.retryAfter
      {
        requests.pause(wait, at: now, chance: chance)
        subscriptions.putOff(id, submissions: { requests.unansweredSubmissions })
        return .nothing
      }
      if case .accepted(let graph, _, let isRepeated) = reply {
        subscriptions.accepted(graph, by: id, isRepeated: isRepeated)
      }
      requests.answer(id, reply, at: now, chance: chance)
      subscriptions.answer(
        id, reply, isLast: !requests.awaits(id), submissions: { requests.unansweredSubmissions })
    case .events(let batch):
      let error = subscriptions.take(batch, hasSubmissions: requests.hasSubmissions)
      if let error { return .broken(error) }
    case .heartbeat(let wait): if wait > .zero, isAwaited { diskWait = wait }
    }
    return .nothing
  }

  /// The error for a peer that is not our kind of coordinator.
  package func violation(_ detail: String) -> ClientError {
    if !hasOpened {
      return ClientError(
        .protocolViolation,
        "what answers at \(address) is no coordinator of ours, or not its address for clients: "
          + detail,
        hint: "'clients=' in the ready line of opcoord is the address; workers have another one")
    }
    return ClientError(
      .protocolViolation,
      "what answers at \(address) is not a coordinator of ours: \(detail)",
      hint: .compareReleases)
  }

  /// The socket is lost: everything continues on a fresh one. `chance` in 0…1.
  package mutating func socketLost(at now: Instant, chance: Double) {
    link.socketLost(at: now, chance: chance)
    ownInFlight = []
    requests.connectionEnded(.lost(address))
    subscriptions.connectionEnded(submissions: requests.unansweredSubmissions)
  }
}

// Test access: replaces a connection and its socket.
extension ClientConversation {
  package init(at now: Instant) { self.init(address: "nowhere", link: Link(at: now)) }

  /// Takes a fresh socket up to the hello.
  package mutating func connect(at now: Instant) -> ClientMessage {
    link.socketOpened(deadline: link.reconnectDeadline(at: now))
    link.connected()
    return .hello(ClientHello(build: clientBuild))
  }
  package var isOpen: Bool { link.isOpen }

  /// Adds a request as `ClusterConnection` does.
  package mutating func ask(
    _ request: ClientRequest, as id: RequestID, bytes: [UInt8], deadline: Instant?,
    completion: @escaping @Sendable (Result<ClientReply, ClientError>) -> Void
  ) {
    let isSubmission = if case .submit = request { true } else { false }
    requests.add(
      PendingRequest(
        id: id, bytes: bytes, isRepeatable: request.isSafeToRepeat, isSubmission: isSubmission,
        deadline: deadline, completion: completion))
  }

  /// Adds a subscription as `ClusterConnection.observe` does.
  package mutating func follow(
    _ wish: EventSubscription, events: @escaping @Sendable (EventBatch) -> Void
  ) -> Observation {
    let handler = EventHandler(events: events, ended: { _ in }, wake: {})
    subscriptions.add(wish, sink: handler)
    return Observation(handler)
  }

  /// Takes the messages that a socket with room would get, if the link is open.
  package mutating func takeMessages(lastOwnRequest: inout UInt64, at now: Instant) -> [[UInt8]] {
    guard link.isOpen else { return [] }
    requests.expire(at: now, address: address)
    var messages: [[UInt8]] = []
    if !requests.isPaused(at: now) {
      for (id, request) in dueOwnRequests(&lastOwnRequest) {
        ownInFlight.insert(id)
        messages.append(Wire.encode(ClientMessage.request(id, request)))
      }
    }
    while isInBounds, let request = nextRequest(at: now) {
      messages.append(request.bytes)
      requests.markNextSent()
    }
    return messages
  }
}
