// Peers of the hostile rows that have keys: the folders of a cluster's keys, dealers that say what
// a row tells them to, and a thread for those who must stay on one. Sockets belong to the thread
// that opened them; everything else is for any task.

import CZeroMQ
import Glibc
import OpClusterKeys
import OpClusterModel
import OpClusterSystem
import OpClusterWire
import OpClusterZeroMQ
import RealCluster
import Synchronization

/// The keys that a coordinator of the tests made at its first start.
struct KeyRing: Sendable {
  let folder: KeyFolder
  let server: KeyPair
  /// `local`, an admin.
  let own: KeyPair

  init(of cluster: Cluster) throws {
    guard let path = cluster.keys else { throw Trouble("the cluster is not over TCP") }
    folder = KeyFolder(path)
    guard let server = try folder.server(), let own = try folder.own() else {
      throw Trouble("there are no keys in \(path)")
    }
    self.server = server
    self.own = own.pair
  }

  var keys: SocketKeys { .client(own, server: server.publicKey) }

  /// A fresh key of a role, which the coordinator notices by itself.
  func add(_ name: String, _ role: Role) throws -> KeyPair {
    let pair = KeyPair.random()
    try folder.changeAllowed { list throws(KeyError) in
      try list.add(
        AllowedKey(
          name: name, role: role, key: pair.publicKey, addedAt: WallTime(milliseconds: 1)))
    }
    return pair
  }

  /// A fresh invitation, which may do nothing but enrol.
  func invite() throws -> KeyPair {
    let pair = KeyPair.random()
    try open([pair])
    return pair
  }

  /// Opens invitations, all in one change.
  func open(_ pairs: [KeyPair]) throws {
    let end = WallTime(milliseconds: WallClock.now() + 3_600_000)
    try folder.changeAllowed { list throws(KeyError) in
      for pair in pairs {
        try list.invite(
          Invitation(name: nil, role: .submitter, key: pair.publicKey, expiresAt: end),
          at: WallTime(milliseconds: WallClock.now()))
      }
    }
  }
}

/// Runs blocking work on a thread of its own, on which sockets may be opened.
func onThread<Value: Sendable>(
  _ name: String, _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    do {
      _ = try startThread(name: name) { continuation.resume(with: Result { try body() }) }
    } catch {
      continuation.resume(throwing: error)
    }
  }
}

/// One dealer over CURVE, for the calling thread.
final class KeyedDealer {
  private let socket: Socket
  private var poller = SocketPoller()
  /// The connection was seen to end.
  private(set) var isCut = false

  /// Connects, again and again until a fresh key has been noticed.
  init(_ address: String, _ keys: SocketKeys, within seconds: Double = 10) throws {
    let deadline = MonotonicClock.now() + Int64(seconds * 1e9)
    while true {
      let fresh = try Socket(
        role: .dealer(maximumMessageBytes: Limits.messageBytes), keys: keys,
        highWaterMark: 4_096)
      try fresh.connect(try Endpoint(address))
      if try Self.isConnected(fresh, until: deadline) {
        socket = consume fresh
        _ = poller.add(socket)
        return
      }
      guard MonotonicClock.now() < deadline else { throw Trouble("not let in at \(address)") }
      usleep(20_000)
    }
  }

  private static func isConnected(
    _ socket: borrowing Socket, until deadline: Int64
  ) throws -> Bool {
    var poller = SocketPoller()
    _ = poller.add(socket, for: [])
    while MonotonicClock.now() < deadline {
      if let event = socket.nextConnectionEvent() { return event == .connected }
      _ = try poller.wait(until: deadline)
    }
    return false
  }

  /// Whether the socket took it; waits for room as long as the connection lives.
  func send(_ bytes: [UInt8]) throws -> Bool {
    while true {
      switch socket.send(bytes) {
      case .sent: return true
      case .wouldBlock:
        if hasEnded() { return false }
        usleep(1_000)
      case .unreachable: return false
      case .failed(let error): throw error
      }
    }
  }

  /// What has come, without waiting longer than so many milliseconds for the first.
  func receive(within milliseconds: Int64 = 0) throws -> [[UInt8]] {
    var all: [[UInt8]] = []
    let deadline = MonotonicClock.now() + milliseconds * 1_000_000
    while true {
      switch socket.receive() {
      case .message(let bytes, _): all.append(bytes)
      case .malformed: throw Trouble("the coordinator sent a message of several frames")
      case .failed(let error): throw error
      case .nothing:
        // Its end is looked for in any case, also by who does not wait.
        guard !hasEnded(), all.isEmpty, MonotonicClock.now() < deadline else { return all }
        _ = try poller.wait(until: deadline)
      }
    }
  }

  private func hasEnded() -> Bool {
    if socket.nextConnectionEvent() != nil { isCut = true }
    return isCut
  }

  /// The next answer of a coordinator to a client; nil when none comes.
  func answer(within milliseconds: Int64 = 5_000) throws -> ClientAnswer? {
    try receive(within: milliseconds).first.map { try Wire.decodeClientAnswer($0) }
  }
}

/// Says messages of any number of frames over CURVE, which our own sockets never would; each on a
/// connection of its own, after `greeting` if there is one. On a thread of its own; the context is
/// never ended (A16).
func sayFrames(
  _ messages: [[[UInt8]]], to address: String, own: KeyPair, server: PublicKey, greeting: [UInt8]?
) {
  guard let context = unsafe zmq_ctx_new() else { return }
  unsafe zmq_ctx_set(context, ZMQ_BLOCKY, 0)
  for frames in messages {
    guard let socket = unsafe zmq_socket(context, ZMQ_DEALER) else { return }
    let keys = [
      (ZMQ_CURVE_SERVERKEY, server.bytes), (ZMQ_CURVE_PUBLICKEY, own.publicKey.bytes),
      (ZMQ_CURVE_SECRETKEY, own.secretKey.revealed),
    ]
    for (option, key) in keys { unsafe zmq_setsockopt(socket, option, key, key.count) }
    // Until it has left; a coordinator that cuts the connection ends it as well.
    for (option, milliseconds) in [(ZMQ_LINGER, Int32(500)), (ZMQ_SNDTIMEO, 2_000)] {
      var value = milliseconds
      unsafe zmq_setsockopt(socket, option, &value, MemoryLayout<Int32>.size)
    }
    unsafe zmq_connect(socket, address)
    if let greeting { unsafe zmq_send(socket, greeting, greeting.count, 0) }
    for (at, frame) in frames.enumerated() {
      let more = at + 1 < frames.count ? ZMQ_SNDMORE : 0
      unsafe zmq_send(socket, frame, frame.count, more)
    }
    unsafe zmq_close(socket)
  }
}
