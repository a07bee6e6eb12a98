// A client with a key that says what no client of ours would, and finds out after each word what
// became of it: still served, or put out, in which case it comes back on a new connection. For the
// thread that makes it.

import Glibc
import OpClusterModel
import OpClusterSystem
import OpClusterWire
import OpClusterZeroMQ
import RealCluster

final class HostileClient {
  private let address: String
  /// Asked for each connection, and whether the key may be good for nothing any more: an
  /// invitation is good for one enrolment.
  private let keys: (_ mayBeSpent: Bool) throws -> SocketKeys
  private var mayBeSpent = false
  private var dealer: KeyedDealer
  private var lastPing: UInt64 = 1 << 60
  /// Messages that were said.
  private(set) var said = 0
  /// Messages after which the connection was put out.
  private(set) var dropped = 0
  /// Connections so far.
  private(set) var connections = 0

  convenience init(_ address: String, _ keys: SocketKeys) throws {
    try self.init(address) { _ in keys }
  }

  init(_ address: String, _ keys: @escaping (_ mayBeSpent: Bool) throws -> SocketKeys) throws {
    self.address = address
    self.keys = keys
    dealer = try KeyedDealer(address, try keys(true))
    try greet()
  }

  /// Says hello; a quota that is full of connections which the coordinator does not know to be gone
  /// has room again soon (G29).
  private func greet() throws {
    for _ in 0..<60 {
      connections += 1
      _ = try dealer.send(Wire.encode(ClientMessage.hello(ClientHello(build: "hostile"))))
      let answer = try dealer.answer()
      if case .welcome? = answer { return }
      switch answer {
      case .reply(_, .refused(let refusal))? where refusal.code == .busy: usleep(500_000)
      // The coordinator has just heard that its key is good for nothing any more.
      case .reply(_, .refused(let refusal))? where refusal.code == .forbidden: mayBeSpent = true
      case nil where dealer.isCut: mayBeSpent = true
      default:
        throw Trouble("no welcome at \(address), but \(answer.map { "\($0)" } ?? "silence")")
      }
      dealer = try fresh()
    }
    throw Trouble("too busy for a welcome at \(address)")
  }

  private func comeBack() throws {
    dealer = try fresh()
    try greet()
  }

  /// A key may be used up after it was chosen.
  private func fresh() throws -> KeyedDealer {
    for _ in 0..<10 {
      do {
        let keys = try keys(mayBeSpent)
        mayBeSpent = false
        return try KeyedDealer(address, keys, within: 2)
      } catch is Trouble {
        mayBeSpent = true
      }
    }
    throw Trouble("not let in at \(address) for 20 s")
  }

  /// Says something, then asks whether anybody is there.
  ///
  /// - Throws: When the coordinator neither answers nor puts us out within 10 s.
  func say(_ bytes: [UInt8]) throws {
    said += 1
    // An empty one is no message of ours; libzmq's own tests of frames are elsewhere.
    guard !bytes.isEmpty else { return }
    lastPing += 1
    let ping = Wire.encode(ClientMessage.request(RequestID(lastPing), .ping))
    guard try dealer.send(bytes), try dealer.send(ping) else { return try comeBack() }
    let deadline = MonotonicClock.now() + 10_000_000_000
    while MonotonicClock.now() < deadline {
      for message in try dealer.receive(within: 200) {
        // A hello that was changed is refused without a number, too.
        guard case .reply(let id, let reply) = try Wire.decodeClientAnswer(message) else {
          continue
        }
        if case .enrolled = reply { mayBeSpent = true }
        if id.number == lastPing {
          // Still here, unless it says that a client says hello first.
          guard case .refused(let refusal) = reply, refusal.code != .busy else { return }
          dropped += 1
          return try comeBack()
        }
        if id.number == 0, case .refused = reply {
          dropped += 1
          return try comeBack()
        }
      }
      if dealer.isCut {
        dropped += 1
        return try comeBack()
      }
    }
    throw Trouble("G33: no answer within 10 s after \(bytes.prefix(200))")
  }
}
