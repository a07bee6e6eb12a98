// What the tests of this target share: sockets in a known state and waiting with a deadline.
// Each test is synchronous, so it stays on one thread, as its sockets demand (A13).

import CZeroMQ
import Glibc
import OpClusterSystem
import Synchronization
import Testing

@testable import OpClusterZeroMQ

/// The longest that any test waits for something that should come at once.
let patience: Int64 = 240_000_000_000

/// Thrown when something did not happen within `patience`.
struct Impatience: Error {
  let awaited: String
}

/// Looks again and again, a few milliseconds apart, until the condition holds.
func eventually(_ awaited: String, _ condition: () throws -> Bool) throws {
  let deadline = MonotonicClock.now() + patience
  var poller = SocketPoller()
  while try !condition() {
    guard MonotonicClock.now() < deadline else { throw Impatience(awaited: awaited) }
    _ = try poller.wait(until: MonotonicClock.now() + 2_000_000)
  }
}

/// The next thing that a socket has to offer, which must come.
func receiveNext(_ socket: borrowing Socket) throws -> ReceiveResult {
  let deadline = MonotonicClock.now() + patience
  var poller = SocketPoller()
  _ = poller.add(socket)
  while true {
    let result = socket.receive()
    if result != .nothing { return result }
    guard MonotonicClock.now() < deadline else { throw Impatience(awaited: "a message") }
    _ = try poller.wait(until: deadline)
  }
}

/// The next event of a dealer's connection, which must come.
func nextEvent(_ socket: borrowing Socket) throws -> ConnectionEvent {
  let deadline = MonotonicClock.now() + patience
  var poller = SocketPoller()
  let item = poller.add(socket, for: [])
  while true {
    if let event = socket.nextConnectionEvent() { return event }
    guard MonotonicClock.now() < deadline else { throw Impatience(awaited: "an event") }
    _ = try poller.wait(until: deadline)
    #expect(poller.readiness(of: item) == .connectionEvent)
  }
}

/// Sends as soon as the dealer is connected and has room.
func sendSurely(_ bytes: [UInt8], on socket: borrowing Socket) throws {
  let deadline = MonotonicClock.now() + patience
  var poller = SocketPoller()
  _ = poller.add(socket, for: .writable)
  while true {
    let result = socket.send(bytes)
    if result == .sent { return }
    guard result == .wouldBlock, MonotonicClock.now() < deadline else {
      throw Impatience(awaited: "room for a message, not \(result)")
    }
    _ = try poller.wait(until: deadline)
    // A connection event would end every wait at once: take it.
    while socket.nextConnectionEvent() != nil {}
  }
}

/// Says hello from a dealer and returns the name that the router has for it.
func introduce(
  _ dealer: borrowing Socket, to router: borrowing Socket
) throws -> RoutingID {
  try sendSurely([0x48], on: dealer)
  guard case .message([0x48], from: let sender?) = try receiveNext(router) else {
    throw Impatience(awaited: "the hello")
  }
  return sender.connection
}

/// What all sockets of these tests know each other by over TCP, where a test says nothing else: a
/// server's key and a client's, and a gate that admits this client alone.
enum ThrowAwayKeys {
  static let server = KeyPair.random()
  static let client = KeyPair.random()
  private static let gate = {
    let admitted = client.publicKey
    let gate = try? Gate { $0 == admitted }
    gate?.open(until: .max)
    return gate
  }()

  static var ofServer: SocketKeys {
    _ = gate
    return .server(server)
  }
  static var ofClient: SocketKeys { .client(client, server: server.publicKey) }
}

func openRouter(maximumMessageBytes: Int = 1 << 20) throws -> Socket {
  try Socket(
    role: .router(maximumMessageBytes: maximumMessageBytes), keys: ThrowAwayKeys.ofServer)
}

func openDealer(_ keys: SocketKeys = ThrowAwayKeys.ofClient) throws -> Socket {
  try Socket(role: .dealer(maximumMessageBytes: 1 << 20), keys: keys)
}

private let names = Atomic<Int>(0)

/// An inproc endpoint that no other test has.
func freshName() throws -> Endpoint {
  try Endpoint("inproc://test-\(names.wrappingAdd(1, ordering: .relaxed).newValue)")
}

/// Any free port of the loopback interface.
func anyPort() throws -> Endpoint { try Endpoint("tcp://127.0.0.1:*") }

/// Runs a test in a folder of its own, whose files are removed after it.
func withFolder(_ body: (String) throws -> Void) throws {
  let parent = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? "/tmp"
  var template = Array("\(parent)/zmq-XXXXXX".utf8CString)
  guard unsafe mkdtemp(&template) != nil else { throw Impatience(awaited: "a folder") }
  let folder = String(
    decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  defer { _ = unsafe rmdir(folder) }
  try body(folder)
}
