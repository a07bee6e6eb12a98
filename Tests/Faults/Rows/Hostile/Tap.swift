// A tap in the link between real programs and a real coordinator over TCP: it has the keys of both,
// so it is their coordinator to them and them to the coordinator, sees every message in clear, and
// says what its rule makes of each. Owns a thread with all its sockets; told from any task.

import OpClusterModel
import OpClusterSystem
import OpClusterZeroMQ
import RealCluster
import Synchronization

/// Which way a message goes, and at which of the two ports.
enum TapHop: Int, Sendable, CaseIterable {
  case workerToCoordinator, coordinatorToWorker, clientToCoordinator, coordinatorToClient
}

/// A message that passes.
struct TapMessage: Sendable {
  var hop: TapHop
  /// Numbers the connection of the peer, over all taps.
  var connection: Int
  var bytes: [UInt8]
}

final class Tap: Sendable {
  /// Messages to go on in place of this one: none, itself, others; in order.
  typealias Rule = @Sendable (TapMessage) -> [[UInt8]]

  let address: String
  let isForWorkers: Bool
  let target: Endpoint
  private let ring: KeyRing
  private let rule: Rule
  private let isOver = Atomic<Bool>(false)
  private let hasEnded = Atomic<Bool>(false)
  private let problem = Mutex<String?>(nil)
  private static let count = Counter()
  static let connections = Counter()

  /// Listens at a port of its own from now on.
  init(to target: String, of ring: KeyRing, isForWorkers: Bool, rule: @escaping Rule) throws {
    self.ring = ring
    self.rule = rule
    self.isForWorkers = isForWorkers
    self.target = try Endpoint(target)
    address = "tcp://127.0.0.1:\(try FreePorts.find(1)[0])"
    _ = try startThread(name: "tap") { [self] in
      while !isOver.load(ordering: .relaxed) {
        do {
          let loop = try TapLoop(self)
          try loop.run()
        } catch {
          problem.withLock { $0 = "\(error)" }
          usleepBriefly()
        }
      }
      hasEnded.store(true, ordering: .releasing)
    }
  }

  /// What last went wrong; nil when nothing did.
  var lastProblem: String? { problem.withLock { $0 } }

  func end() async throws {
    isOver.store(true, ordering: .relaxed)
    try await eventually("a tap has ended") { hasEnded.load(ordering: .acquiring) }
  }

  private func usleepBriefly() {
    var poller = SocketPoller()
    _ = try? poller.wait(until: MonotonicClock.now() + 20_000_000)
  }

  /// The sockets of one life, which ends when the coordinator ends any connection, and with it all
  /// peers are cut off: as if the link had broken.
  private final class TapLoop {
    private let tap: Tap
    private let gate: Gate
    private let router: Socket
    private var links: [FarLink] = []
    private let inward: TapHop
    private let outward: TapHop

    init(_ tap: Tap) throws {
      self.tap = tap
      inward = tap.isForWorkers ? .workerToCoordinator : .clientToCoordinator
      outward = tap.isForWorkers ? .coordinatorToWorker : .coordinatorToClient
      let domain = "tap-\(Tap.count.next())"
      gate = try Gate(domain: domain) { _ in true }
      gate.open(until: .max)
      let fresh = try Socket(
        role: .router(maximumMessageBytes: Limits.messageBytes),
        keys: .server(tap.ring.server, domain: domain), highWaterMark: 4_096)
      _ = try fresh.bind(try Endpoint(tap.address))
      router = consume fresh
    }

    func run() throws {
      while !tap.isOver.load(ordering: .relaxed) {
        try sleep()
        try hearNear()
        for link in links {
          for bytes in try link.hear() {
            let message = TapMessage(hop: outward, connection: link.number, bytes: bytes)
            for changed in tap.rule(message) { _ = router.send(changed, to: link.near) }
          }
          if try !link.attend() { return }
        }
      }
    }

    private func sleep() throws {
      var poller = SocketPoller()
      _ = poller.add(router)
      for link in links { _ = poller.add(link.socket) }
      let isWaiting = links.contains { !$0.waiting.isEmpty }
      _ = try poller.wait(until: MonotonicClock.now() + (isWaiting ? 1 : 50) * 1_000_000)
    }

    private func hearNear() throws {
      while true {
        switch router.receive() {
        case .message(let bytes, let sender):
          guard let sender else { continue }
          let link = try link(of: sender.connection)
          let message = TapMessage(hop: inward, connection: link.number, bytes: bytes)
          link.waiting += tap.rule(message)
        case .nothing: return
        case .malformed: continue
        case .failed(let error): throw error
        }
      }
    }

    private func link(of near: RoutingID) throws -> FarLink {
      if let known = links.first(where: { $0.near == near }) { return known }
      let fresh = try FarLink(near, to: tap.target, keys: tap.ring.keys)
      links.append(fresh)
      return fresh
    }
  }
}

/// The coordinator's side of one peer.
private final class FarLink {
  let number = Tap.connections.next()
  let near: RoutingID
  let socket: Socket
  /// For the coordinator; the connection may still be on its way.
  var waiting: [[UInt8]] = []

  init(_ near: RoutingID, to target: Endpoint, keys: SocketKeys) throws {
    self.near = near
    let fresh = try Socket(
      role: .dealer(maximumMessageBytes: Limits.messageBytes), keys: keys, highWaterMark: 4_096)
    try fresh.connect(target)
    socket = consume fresh
  }

  func hear() throws -> [[UInt8]] {
    var all: [[UInt8]] = []
    while true {
      switch socket.receive() {
      case .message(let bytes, _): all.append(bytes)
      case .nothing, .malformed: return all
      case .failed(let error): throw error
      }
    }
  }

  /// Sends what waits; false when the connection has ended.
  func attend() throws -> Bool {
    while let event = socket.nextConnectionEvent() {
      if event != .connected { return false }
    }
    var sent = 0
    sending: for bytes in waiting {
      switch socket.send(bytes) {
      case .sent: sent += 1
      case .wouldBlock: break sending
      case .unreachable: return false
      case .failed(let error): throw error
      }
    }
    waiting.removeFirst(sent)
    return true
  }
}
