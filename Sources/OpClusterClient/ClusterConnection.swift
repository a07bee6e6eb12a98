// The client's interface to a cluster: an async API outside, one thread with one DEALER inside.
// Programs call it from any task; the thread runs ConnectionLoop.

public import OpClusterModel
import OpClusterSystem
import OpClusterWire
import OpClusterZeroMQ
import Synchronization

/// A connection to a coordinator that outlives the coordinator's restarts.
///
/// After a loss the connection repeats requests that are safe to repeat and continues
/// subscriptions; other requests fail with `.connectionLost` (G34). While the coordinator is away,
/// the connection retries with growing pauses; pending requests and streams fail after 60 s.
/// Observations continue whenever the coordinator comes back (S141).
public final class ClusterConnection: Sendable {
  /// Maximum number of unanswered requests on one connection; a further one is refused as busy.
  /// Requests beyond the coordinator's own limit (`Limits.requestsInFlightPerClient`) wait here.
  public static let maximumRequests = 65_536
  /// Maximum bytes of unanswered requests on one connection.
  public static let maximumRequestBytes = 256 << 20
  /// Requests up to this many bytes are decoded here before they are sent, as the coordinator will
  /// do.
  private static let checkedBytes = 64 << 10

  /// The address as given.
  public let address: String
  private let shared: ConnectionShared
  private let lastRequest = Atomic<UInt64>(0)
  private let load = RequestLoad()
  /// By which the stores of workers know us: our own key, or one for this connection alone, which
  /// the coordinator takes from those on its machine.
  let keys: KeyPair
  var asker: ContentAsker { ContentAsker(key: keys.publicKey.bytes) }
  private let contents = Mutex<ContentDownloads?>(nil)

  private init(address: String, shared: ConnectionShared, keys: KeyPair) {
    self.address = address
    self.shared = shared
    self.keys = keys
  }

  /// Made when the first value is fetched.
  ///
  /// - Parameter folder: Where they are put for a while, if these are the first ones; nil: the
  ///   temporary folder.
  func downloads(in folder: String? = nil) throws(ClientError) -> ContentDownloads {
    let made = contents.withLock { known -> Result<ContentDownloads, ClientError> in
      if let known { return .success(known) }
      do throws(ClientError) {
        let fresh = try ContentDownloads(keys: keys, in: folder)
        known = fresh
        return .success(fresh)
      } catch {
        return .failure(error)
      }
    }
    return try made.get()
  }

  deinit { _ = shared.mailbox.post(.close) }

  /// Connects, says hello and waits for the welcome.
  ///
  /// - Parameters:
  ///   - address: `tcp://…` or `ipc:///…`; `inproc://…` if the coordinator is a thread of this
  ///     process and serves already.
  ///   - deadline: The time for all steps together. A refused connection fails at once.
  ///   - greeting: The time for the welcome of a coordinator that is reached and is slow to answer,
  ///     as on a busy machine, if that ends later; nil: `deadline` is for that, too.
  ///   - keys: The folder of our key, for TCP; nil means that of `ClusterKeys.folder`.
  /// - Throws: `.badAddress`, `.badConfiguration` without a key, `.unreachable`, `.keyRefused`,
  ///   `.wrongServerKey`, `.foreignServer`, `.versionMismatch`, `.refused`, `.protocolViolation`,
  ///   or `.cancelled`.
  public static func connect(
    to address: String, deadline: Duration = .seconds(10), greeting: Duration? = nil,
    keys: String? = nil
  ) async throws(ClientError) -> ClusterConnection {
    try await connect(
      to: address, deadline: deadline, greeting: greeting, patience: Link.patience, keys: keys)
  }

  /// Connects with the given keys.
  static func connect(
    to address: String, keys: ClusterKeys
  ) async throws(ClientError) -> ClusterConnection {
    try await open(
      endpoint(address), address: address, deadline: .seconds(10), patience: Link.patience, keys)
  }

  /// Connects to another user's cluster. Only root needs this, and only in tests.
  package static func connect(
    to address: String, deadline: Duration, keys: String? = nil, servedByUser user: UInt32
  ) async throws(ClientError) -> ClusterConnection {
    let endpoint = try endpoint(address)
    let ours = endpoint.transport == .tcp ? try ClusterKeys.read(keys) : nil
    return try await open(
      endpoint, address: address, deadline: deadline, patience: Link.patience, ours,
      LocalServers(users: [user]))
  }

  /// - Parameter patience: How long requests and streams survive an absence of the coordinator.
  static func connect(
    to address: String, deadline: Duration, greeting: Duration? = nil, patience: Span,
    keys: String? = nil
  ) async throws(ClientError) -> ClusterConnection {
    let endpoint = try endpoint(address)
    // Over ipc and inproc the file modes decide.
    let ours = endpoint.transport == .tcp ? try ClusterKeys.read(keys) : nil
    return try await open(
      endpoint, address: address, deadline: deadline, greeting: greeting, patience: patience, ours)
  }

  private static func endpoint(_ address: String) throws(ClientError) -> Endpoint {
    do {
      return try Endpoint(address)
    } catch {
      throw ClientError(
        .badAddress, "'\(address)' is not the address of a coordinator: \(error)",
        hint: "write tcp://127.0.0.1:7420 or ipc:///PATH")
    }
  }

  private static func open(
    _ endpoint: Endpoint, address: String, deadline: Duration, greeting: Duration? = nil,
    patience: Span, _ keys: ClusterKeys?, _ servers: LocalServers = .ourselvesAndRoot
  ) async throws(ClientError) -> ClusterConnection {
    let shared: ConnectionShared
    do throws(SystemError) {
      shared = try ConnectionShared(address: address)
      let wait = Span(deadline)
      // The thread ends by itself when the connection is released.
      _ = try startThread(name: "opcluster-link") {
        var loop = ConnectionLoop(
          endpoint: endpoint, keys: keys, servers: servers, shared: shared, openingTime: wait,
          greetingTime: greeting.map { Span($0) } ?? .zero, patience: patience)
        loop.run()
      }
    } catch {
      throw .unreachable(address, error.description)
    }
    var own: KeyPair?
    if case .client(let pair, _) = keys?.socketKeys { own = pair }
    let connection = ClusterConnection(
      address: address, shared: shared, keys: own ?? .random())
    try await shared.opened.value()
    return connection
  }

  /// The coordinator's last welcome; the epoch grows with each restart of the coordinator.
  public var welcome: (version: UInt32, build: String, epoch: Epoch) {
    let welcome = shared.welcome.withLock { $0 }
    return (welcome.version, welcome.build, welcome.epoch)
  }

  /// Sets a handler for a coordinator that is too busy for a request and says when to retry.
  ///
  /// The connection waits that long, plus a random addition, for up to a minute in all; then the
  /// request fails as refused (`.busy`). A waiting request holds back later ones. A submission
  /// without room (`lacksRoom`) holds back only further submissions.
  ///
  /// - Parameter handler: Called with the refusal and the time until the next try, on the
  ///   connection's thread. It must return quickly.
  public func whenBusy(_ handler: @escaping @Sendable (Refusal, Span) -> Void) {
    shared.whenBusy.withLock { $0.call = handler }
  }

  /// Sets a handler that is called now and then while requests wait for the coordinator's disk.
  ///
  /// - Parameter handler: Called with the time since the disk last confirmed a write, on the
  ///   connection's thread. It must return quickly.
  public func whenDiskWaits(_ handler: @escaping @Sendable (Span) -> Void) {
    shared.whenBusy.withLock { $0.diskWaits = handler }
  }

  /// Sends one request and waits for its reply.
  ///
  /// - Parameter timeout: nil waits as long as the coordinator is there.
  /// - Throws: `.refused` if the coordinator refuses, or more than `maximumRequests` wait;
  ///   `.connectionLost` and `.timedOut` if the outcome is unknown; `.unreachable` if the
  ///   coordinator stays away.
  public func request(
    _ request: ClientRequest, timeout: Duration? = nil
  ) async throws(ClientError) -> ClientReply {
    let slot = ReplySlot<ClientReply>()
    let id = begin(request, timeout) { slot.fill($0) }
    do throws(ClientError) {
      return try await slot.value()
    } catch  where error.kind == .cancelled {
      if let id { _ = shared.post(.abandon(id)) }
      throw error
    }
  }

  /// Sends one request without waiting. Requests of one thread leave in the order of its calls.
  ///
  /// - Parameters:
  ///   - timeout: nil waits as long as the coordinator is there.
  ///   - completion: Called exactly once, with the errors of `request`. It runs on the connection's
  ///     thread and must return quickly, or at once on the caller's thread if the request cannot be
  ///     sent. It may send and observe, but must not wait for the result.
  public func send(
    _ request: ClientRequest, timeout: Duration? = nil,
    completion: @escaping @Sendable (Result<ClientReply, ClientError>) -> Void
  ) {
    _ = begin(request, timeout, completion)
  }

  /// Hands a request to the thread; returns nil if it has failed already.
  private func begin(
    _ request: ClientRequest, _ timeout: Duration?,
    _ completion: @escaping @Sendable (Result<ClientReply, ClientError>) -> Void
  ) -> RequestID? {
    // Encode here: a large submission must not delay the thread's heartbeats.
    let id = nextRequestID()
    let bytes = Wire.encode(ClientMessage.request(id, request))
    if let refusal = Self.objection(to: bytes) {
      completion(.failure(ClientError(refusal)))
      return nil
    }
    let size = bytes.count
    do throws(ClientError) {
      try admit(size)
    } catch {
      completion(.failure(error))
      return nil
    }
    let load = load
    let isSubmission = if case .submit = request { true } else { false }
    let pending = PendingRequest(
      id: id, bytes: bytes, isRepeatable: request.isSafeToRepeat, isSubmission: isSubmission,
      deadline: timeout.map { Instant.now + Span($0) }
    ) { result in
      load.dismiss(size)
      completion(result)
    }
    if shared.post(.request(pending)) { return id }
    pending.completion(.failure(shared.endError))
    return nil
  }

  /// Returns why the coordinator could not decode a request. The coordinator would end the
  /// connection, and the caller would wait in vain. Larger requests are submissions, which are
  /// checked where they are made, and lists of things that the coordinator has named.
  private static func objection(to bytes: [UInt8]) -> Refusal? {
    guard bytes.count <= checkedBytes else { return nil }
    do throws(WireError) {
      _ = try Wire.decodeClientMessage(bytes)
      return nil
    } catch {
      return Refusal(
        .badRequest, "this cannot be asked: \(error)", hint: "keep to the limit that it names")
    }
  }

  /// Returns events in order and without a gap, also across losses of the connection.
  ///
  /// The connection numbers the subscription itself. The stream ends after the backlog if
  /// `backlogOnly` is set, or when its task is cancelled; it throws `ClientError`. Releasing the
  /// stream unsubscribes. For one reader.
  public func events(
    _ subscription: EventSubscription
  ) -> AsyncThrowingStream<EventBatch, any Error> {
    let mailbox = shared.mailbox
    let feed = EventFeed(credit: max(1, subscription.credit)) { _ = mailbox.post(.look) }
    let reader = EventReader(feed)
    begin(subscription, feed)
    return AsyncThrowingStream { try await reader.next() }
  }

  /// Delivers events on the connection's thread: in order, without a gap across losses of the
  /// connection, and before any later reply is completed.
  ///
  /// The observation survives any absence of the coordinator. It ends by `close`, or if the
  /// coordinator rejects us or the subscription.
  ///
  /// Events are granted to the coordinator again after their handler has returned. `number` of the
  /// subscription is the caller's own.
  ///
  /// - Parameters:
  ///   - events: Called on the connection's thread. It must return quickly, since further events
  ///     wait. It may send, observe and cancel.
  ///   - ended: Called at most once on the connection's thread, or at once on the caller's thread;
  ///     no event follows. Not called after `cancel`, nor at the end of a backlog, which `caughtUp`
  ///     tells.
  /// - Returns: The observation; releasing it ends the subscription. It does not keep the
  ///   connection alive.
  public func observe(
    _ subscription: EventSubscription, events: @escaping @Sendable (EventBatch) -> Void,
    ended: @escaping @Sendable (ClientError) -> Void
  ) -> Observation {
    let mailbox = shared.mailbox
    let handler = EventHandler(events: events, ended: ended) { _ = mailbox.post(.look) }
    begin(subscription, handler)
    return Observation(handler)
  }

  private func begin(_ subscription: EventSubscription, _ sink: any EventSink) {
    var wish = subscription
    wish.credit = max(1, wish.credit)
    guard !wish.includesOwn || wish.selection.canIncludeOwn else {
      return sink.end(
        .failure(
          ClientError(
            Refusal(
              .badRequest,
              "a subscription that includes what its connection submits selects graphs by "
                + "numbers, or all, without further conditions",
              hint: "make a second subscription for the other selection"))))
    }
    if !shared.post(.subscribe(wish, sink)) { sink.end(.failure(shared.endError)) }
  }

  /// Ends the connection: pending requests fail, streams end, and the thread has ended on return.
  public func close() async {
    _ = shared.mailbox.post(.close)
    _ = await shared.ended.outcome()
  }

  private func nextRequestID() -> RequestID {
    // Odd numbers are the caller's, even ones the thread's own.
    let step = ConnectionLoop.requestStep
    return RequestID(lastRequest.wrappingAdd(step, ordering: .relaxed).newValue - 1)
  }

  private func admit(_ bytes: Int) throws(ClientError) {
    guard bytes <= Limits.messageBytes else {
      throw ClientError(
        Refusal(
          .limitExceeded,
          "the request has \(bytes) bytes, more than the \(Limits.messageBytes) that fit into "
            + "one message",
          hint: "split the graph, or pass large items by file"))
    }
    guard load.admit(bytes) else {
      throw .busy("\(Self.maximumRequests) requests or \(Self.maximumRequestBytes >> 20) MiB")
    }
  }
}

/// The unanswered requests of a connection. Any thread.
private final class RequestLoad: Sendable {
  private struct State {
    var requests = 0
    var bytes = 0
  }
  private let state = Mutex(State())

  /// Adds a request; returns false if there is no room.
  func admit(_ bytes: Int) -> Bool {
    state.withLock { load in
      guard load.requests < ClusterConnection.maximumRequests,
        load.bytes + bytes <= ClusterConnection.maximumRequestBytes
      else { return false }
      load.requests += 1
      load.bytes += bytes
      return true
    }
  }

  func dismiss(_ bytes: Int) {
    state.withLock { load in
      load.requests -= 1
      load.bytes -= bytes
    }
  }
}
