// The client's door to a cluster: an async API outside, one thread with one DEALER inside. Used by
// programs from any task; the thread is ConnectionLoop's.

public import OpClusterModel
import OpClusterWire
import OpClusterZeroMQ
import Synchronization

/// A connection to a coordinator that outlives the coordinator's restarts.
///
/// Requests that are safe to repeat are sent again after a loss, subscriptions go on where they
/// were; what is not safe fails with `.connectionLost` (G34). While the coordinator is away, the
/// connection tries again with growing pauses; who waits is told after 60 s.
public final class ClusterConnection: Sendable {
  /// Requests without an answer on one connection; one more is refused as busy.
  public static let maximumRequests = 1_024
  /// Bytes of requests without an answer on one connection.
  public static let maximumRequestBytes = 256 << 20

  /// The address as it was given.
  public let address: String
  private let shared: ConnectionShared
  private let lastRequest = Atomic<UInt64>(0)
  private let load = Mutex(Load())

  private struct Load {
    var requests = 0
    var bytes = 0
  }

  private init(address: String, shared: ConnectionShared) {
    self.address = address
    self.shared = shared
  }

  deinit { _ = shared.mailbox.post(.close) }

  /// Connects, says hello and waits for the welcome.
  ///
  /// - Parameters:
  ///   - address: `tcp://…` or `ipc:///…`; `inproc://…` if the coordinator is a thread of this
  ///     process and serves already.
  ///   - deadline: For all of it. A refused connection fails at once.
  /// - Throws: `.badAddress`, `.unreachable`, `.versionMismatch`, `.refused`,
  ///   `.protocolViolation`, or `.cancelled`.
  public static func connect(
    to address: String, deadline: Duration = .seconds(3)
  ) async throws(ClientError) -> ClusterConnection {
    let endpoint: Endpoint
    do {
      endpoint = try Endpoint(address)
    } catch {
      throw ClientError(
        .badAddress, "'\(address)' is not the address of a coordinator: \(error)",
        hint: "write tcp://127.0.0.1:7420 or ipc:///PATH")
    }
    let shared: ConnectionShared
    do throws(SocketError) {
      shared = try ConnectionShared(address: address)
      let wait = Span(deadline)
      // The thread ends by itself when the connection is let go of.
      _ = try startThread(name: "opcluster-link") {
        var loop = ConnectionLoop(endpoint: endpoint, shared: shared, openingTime: wait)
        loop.run()
      }
    } catch {
      throw .unreachable(address, error.description)
    }
    let connection = ClusterConnection(address: address, shared: shared)
    try await shared.opened.value()
    return connection
  }

  /// What the coordinator said at the last welcome; the epoch grows when it was restarted.
  public var welcome: (version: UInt32, build: String, epoch: Epoch) {
    let welcome = shared.welcome.withLock { $0 }
    return (welcome.version, welcome.build, welcome.epoch)
  }

  /// Sends one request and waits for its reply.
  ///
  /// - Parameter timeout: nil waits for as long as the coordinator is there.
  /// - Throws: `.refused` when the coordinator says no, or more than `maximumRequests` wait;
  ///   `.connectionLost` and `.timedOut` when it is not known whether it was carried out;
  ///   `.unreachable` when the coordinator stays away.
  public func request(
    _ request: ClientRequest, timeout: Duration? = nil
  ) async throws(ClientError) -> ClientReply {
    let id = nextRequestID()
    // Encoded here, so that a large submission does not keep the thread from its heartbeats.
    let bytes = Wire.encode(ClientMessage.request(id, request))
    guard bytes.count <= Limits.messageBytes else {
      throw ClientError(
        Refusal(
          .limitExceeded,
          "the request has \(bytes.count) bytes, more than the \(Limits.messageBytes) that fit "
            + "into one message",
          hint: "split the graph, or pass large items by file"))
    }
    try admit(bytes.count)
    defer { dismiss(bytes.count) }
    let slot = ReplySlot<ClientReply>()
    let deadline = timeout.map { Instant.now + Span($0) }
    let pending = PendingRequest(
      id: id, bytes: bytes, isRepeatable: request.isSafeToRepeat, deadline: deadline, slot: slot)
    guard shared.post(.request(pending)) else { throw shared.endError }
    do throws(ClientError) {
      return try await slot.value()
    } catch  where error.kind == .cancelled {
      _ = shared.post(.abandon(id))
      throw error
    }
  }

  /// Events as they come, in order and without a gap, over losses of the connection too.
  ///
  /// The connection numbers the subscription itself. The stream ends after the backlog if
  /// `backlogOnly` is set, or when its task is cancelled; it throws `ClientError`. Letting go of
  /// the stream unsubscribes. For one reader.
  public func events(
    _ subscription: EventSubscription
  ) -> AsyncThrowingStream<EventBatch, any Error> {
    let mailbox = shared.mailbox
    var wish = subscription
    wish.credit = max(1, wish.credit)
    let feed = EventFeed(credit: wish.credit) { _ = mailbox.post(.look) }
    let reader = EventReader(feed)
    if !shared.post(.subscribe(wish, feed)) { feed.end(.failure(shared.endError)) }
    return AsyncThrowingStream { try await reader.next() }
  }

  /// Ends the connection: what waits fails, streams end, the thread is gone on return.
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
    let isFree = load.withLock { load in
      guard load.requests < Self.maximumRequests,
        load.bytes + bytes <= Self.maximumRequestBytes
      else { return false }
      load.requests += 1
      load.bytes += bytes
      return true
    }
    guard isFree else {
      throw .busy("\(Self.maximumRequests) requests or \(Self.maximumRequestBytes >> 20) MiB")
    }
  }

  private func dismiss(_ bytes: Int) {
    load.withLock { load in
      load.requests -= 1
      load.bytes -= bytes
    }
  }
}
