// A coordinator that says what a test tells it to: a real ROUTER on a thread of its own, the words
// through the real codec.

import FoundationEssentials
import OpClusterModel
import OpClusterSystem
import OpClusterWire
import OpClusterZeroMQ
import Synchronization

/// What the fake does with what it hears.
struct Script: Sendable {
  /// Answers to a hello; none is a coordinator that hangs.
  var onHello: @Sendable (ClientHello) -> [ClientAnswer]
  /// Answers to a request; the position counts the requests of this fake, from 1, without pings.
  var onRequest: @Sendable (RequestID, ClientRequest, _ position: Int) -> [ClientAnswer]

  init(
    epoch: UInt64 = 1,
    onRequest: @escaping @Sendable (RequestID, ClientRequest, Int) -> [ClientAnswer]
  ) {
    onHello = { _ in [.welcome(version: 1, build: "fake", CoordinatorLife(Epoch(epoch)))] }
    self.onRequest = onRequest
  }

  init(onHello: @escaping @Sendable (ClientHello) -> [ClientAnswer]) {
    self.onHello = onHello
    onRequest = { _, _, _ in [] }
  }
}

/// Ends with its owner, as a killed coordinator would: without a word.
final class FakeCoordinator: Sendable {
  /// Where clients reach it.
  let address: String
  private let orders: Mailbox<Order>
  private let record: Record
  private let thread: ThreadHandle

  private enum Order: Sendable {
    case say(ClientAnswer)
    case stop
  }

  /// What was heard, and who waits for more of it.
  private final class Record: Sendable {
    let requests = Mutex<[ClientRequest]>([])
  }

  private init(
    address: String, orders: Mailbox<Order>, record: Record, thread: ThreadHandle
  ) {
    self.address = address
    self.orders = orders
    self.record = record
    self.thread = thread
  }

  /// - Parameter address: nil takes a socket file of its own.
  static func start(at address: String? = nil, _ script: Script) async throws -> FakeCoordinator {
    let wanted = try Endpoint(address ?? freshAddress())
    let orders = try Mailbox<Order>(capacity: 1_024)
    let record = Record()
    let started = Mutex<ThreadHandle?>(nil)
    let bound: Result<String, SystemError> = await withCheckedContinuation { continuation in
      do throws(SystemError) {
        let handle = try startThread(name: "fake-coordinator") {
          do throws(SystemError) {
            let router = try Socket(role: .router(maximumMessageBytes: Limits.messageBytes))
            let endpoint = try bind(router, wanted)
            continuation.resume(returning: .success(endpoint.address))
            serve(router, script, orders, record)
          } catch {
            continuation.resume(returning: .failure(error))
          }
        }
        started.withLock { $0 = handle }
      } catch {
        continuation.resume(returning: .failure(error))
      }
    }
    let thread = started.withLock { $0! }
    return FakeCoordinator(
      address: try bound.get(), orders: orders, record: record, thread: thread)
  }

  /// In one private folder for the whole process; each socket takes its file along when it ends.
  private static let folder: String = {
    let path = "/tmp/client-test-\(String(UInt64.random(in: 0...(.max)), radix: 36))"
    try? FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    return path
  }()
  static func freshAddress() -> String {
    "ipc://\(folder)/\(String(UInt64.random(in: 0...(.max)), radix: 36))"
  }

  /// libzmq frees the address of a closed socket a little later, on a thread of its own.
  private static func bind(
    _ router: borrowing Socket, _ endpoint: Endpoint
  ) throws(SystemError) -> Endpoint {
    let deadline = MonotonicClock.now() + 240_000_000_000
    while true {
      do throws(SystemError) {
        return try router.bind(endpoint)
      } catch {
        guard endpoint.transport != .inproc, MonotonicClock.now() < deadline else { throw error }
        var poller = SocketPoller()
        _ = try poller.wait(until: MonotonicClock.now() + 5_000_000)
      }
    }
  }

  /// The requests heard so far.
  var requests: [ClientRequest] { record.requests.withLock { $0 } }

  /// Says something nobody asked for, to the client that spoke last.
  func say(_ answer: ClientAnswer) { _ = orders.post(.say(answer)) }

  /// Its connections are cut when this returns.
  func stop() {
    _ = orders.post(.stop)
    thread.join()
  }

  private static func serve(
    _ router: borrowing Socket, _ script: Script, _ orders: Mailbox<Order>, _ record: Record
  ) {
    var poller = SocketPoller()
    _ = poller.add(router)
    _ = poller.add(descriptor: orders.descriptor)
    var batch: [Order] = []
    var peer: RoutingID?
    while true {
      _ = try? poller.wait(until: MonotonicClock.now() + 1_000_000_000)
      while case .message(let bytes, let sender) = router.receive(), let sender {
        peer = sender.connection
        guard let message = try? Wire.decodeClientMessage(bytes) else { continue }
        for answer in answers(to: message, script, record) {
          send(answer, to: sender.connection, router)
        }
      }
      orders.takeAll(into: &batch)
      for order in batch {
        guard case .say(let answer) = order else { return }
        if let peer { send(answer, to: peer, router) }
      }
    }
  }

  /// A client that has no room at the moment is waited for.
  private static func send(
    _ answer: ClientAnswer, to peer: RoutingID, _ router: borrowing Socket
  ) {
    let bytes = Wire.encode(answer) { _ in "" }
    let deadline = MonotonicClock.now() + 240_000_000_000
    var poller = SocketPoller()
    while case .wouldBlock = router.send(bytes, to: peer), MonotonicClock.now() < deadline {
      _ = try? poller.wait(until: MonotonicClock.now() + 1_000_000)
    }
  }

  private static func answers(
    to message: ClientMessage, _ script: Script, _ record: Record
  ) -> [ClientAnswer] {
    switch message {
    case .hello(let hello): return script.onHello(hello)
    case .request(let id, .ping):
      // A client asks for a sign of life when the machine is busy: that is no request of the test.
      let said = script.onRequest(id, .ping, record.requests.withLock { $0.count })
      if !said.isEmpty { return said }
      return [.reply(id, .pong(commit: CommitIndex(1), epoch: Epoch(1), lastEvent: 0))]
    case .request(let id, let request):
      let position = record.requests.withLock { requests in
        requests.append(request)
        return requests.count
      }
      return script.onRequest(id, request, position)
    }
  }
}

extension ClientRequest {
  var isSubscription: Bool { if case .subscribe = self { true } else { false } }
}

/// Waits until something is so; false after a generous time.
func eventually(_ isSo: () async -> Bool) async -> Bool {
  let deadline = ContinuousClock().now + .seconds(240)
  while ContinuousClock().now < deadline {
    if await isSo() { return true }
    try? await Task.sleep(for: .milliseconds(5))
  }
  return false
}
