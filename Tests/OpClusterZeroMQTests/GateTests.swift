// Real handshakes over TCP: who is let in, who is not, and what each is told (G35, G37, F46, F47).

import CZeroMQ
import Citations
import Glibc
import OpClusterSystem
import Testing

@testable import OpClusterZeroMQ

@Suite struct GateTests {
  /// A server with a domain, keys and a gate of its own; libzmq serves it on its own threads.
  private final class Server {
    let gate: Gate
    let keys = KeyPair.random()
    let client = KeyPair.random()
    private(set) var endpoint: Endpoint
    private(set) var router: Socket

    init(
      _ domain: String, isOpen: Bool = true, admitting decision: Gate.Decision? = nil
    ) throws {
      let admitted = client.publicKey
      gate = try Gate(domain: domain, admitting: decision ?? { $0 == admitted })
      if isOpen { gate.open(until: .max) }
      let fresh = try Socket(
        role: .router(maximumMessageBytes: 1 << 20), keys: .server(keys, domain: domain))
      endpoint = try fresh.bind(anyPort())
      router = consume fresh
    }

    func connect(_ own: KeyPair? = nil, server: PublicKey? = nil) throws -> Socket {
      let dealer = try openDealer(.client(own ?? client, server: server ?? keys.publicKey))
      try dealer.connect(endpoint)
      return dealer
    }

    /// Nothing that the router could hear has come.
    func expectQuiet() throws {
      var poller = SocketPoller()
      _ = poller.add(router)
      #expect(try poller.wait(until: MonotonicClock.now() + 50_000_000) == 0)
      #expect(router.receive() == .nothing)
    }
  }

  private static let refused = ConnectionEvent.handshakeFailed(.notAuthorized(status: 400))

  // The key comes with each message, whether the socket was polled before or not.
  @Test(.checks("G36", "A5")) func admitted() throws {
    let server = try Server("admitted")
    let dealer = try server.connect()
    #expect(try nextEvent(dealer) == .connected)
    for number in 0..<3 as Range<UInt8> { try sendSurely([number + 1], on: dealer) }
    for number in 0..<3 as Range<UInt8> {
      guard case .message([number + 1], from: let sender?) = try receiveNext(server.router) else {
        Issue.record("message \(number) did not come")
        return
      }
      #expect(sender.key == server.client.publicKey)
      #expect(server.router.send([9], to: sender.connection) == .sent)
      #expect(try receiveNext(dealer) == .message([9], from: nil))
    }
    #expect(server.gate.counts == Gate.Counts(admitted: 1))
  }

  // An unknown key is told at once, and who came is kept for the owner to look at.
  @Test(.checks("G35", "F47")) func unknownKey() throws {
    let server = try Server("unknown")
    let stranger = KeyPair.random()
    let start = MonotonicClock.now()
    let dealer = try server.connect(stranger)
    #expect(try nextEvent(dealer) == Self.refused)
    #expect(MonotonicClock.now() - start < 20_000_000_000)
    #expect(dealer.send([1]) == .wouldBlock)
    try server.expectQuiet()
    #expect(
      server.gate.takeRefused() == [Gate.Refused(key: stranger.publicKey, address: "127.0.0.1")])
    #expect(server.gate.takeRefused() == [])
    #expect(server.gate.counts == Gate.Counts(refused: 1))
  }

  // A server with another key hangs up; nothing says so, but it is told.
  @Test(.checks("F47", "A6")) func wrongServerKey() throws {
    let server = try Server("wrong-server")
    let start = MonotonicClock.now()
    let dealer = try server.connect(server: KeyPair.random().publicKey)
    let event = try nextEvent(dealer)
    guard case .handshakeFailed(.broken) = event else {
      Issue.record("\(event)")
      return
    }
    #expect(MonotonicClock.now() - start < 20_000_000_000)
    try server.expectQuiet()
    // Nobody was asked.
    #expect(server.gate.counts == Gate.Counts())
  }

  // Whom a gate admits changes while it serves; new connections feel it at once.
  @Test(.checks("G37")) func revokedAndAdmittedLater() throws {
    let server = try Server("revoked")
    let late = KeyPair.random()
    #expect(try nextEvent(server.connect(late)) == Self.refused)
    let added = late.publicKey
    server.gate.admit { $0 == added }
    #expect(try nextEvent(server.connect(late)) == .connected)
    #expect(try nextEvent(server.connect()) == Self.refused)
    server.gate.admit { _ in false }
    #expect(try nextEvent(server.connect(late)) == Self.refused)
  }

  // Behind a gate that nobody keeps open, behind one that is gone, and where there never was
  // one, nobody is let in, and nothing is answered that could be taken for a refusal of the key.
  @Test(.checks("G35"), arguments: [true, false])
  func nobodyAnswers(isGateThere: Bool) throws {
    var server: Server? = try Server("closed-\(isGateThere)", isOpen: false)
    let keys = server!.keys
    let client = server!.client
    let router = try Socket(
      role: .router(maximumMessageBytes: 1_024),
      keys: .server(keys, domain: "closed-\(isGateThere)"))
    let endpoint = try router.bind(anyPort())
    if !isGateThere { server = nil }
    let dealer = try openDealer(.client(client, server: keys.publicKey))
    let start = MonotonicClock.now()
    try dealer.connect(endpoint)
    let event = try nextEvent(dealer)
    guard case .handshakeFailed(.broken) = event else {
      Issue.record("\(event)")
      return
    }
    #expect(MonotonicClock.now() - start > 1_500_000_000)
    #expect(router.receive() == .nothing)
    #expect(server?.gate.counts.admitted ?? 0 == 0)
    server?.gate.open(until: .max)
    if isGateThere {
      let next = try openDealer(.client(client, server: keys.publicKey))
      try next.connect(endpoint)
      #expect(try nextEvent(next) == .connected)
    }
  }

  // A gate closes by itself when its owner is not heard of.
  @Test(.checks("G35")) func closesByItself() throws {
    let server = try Server("alive", isOpen: false)
    let key = server.client.publicKey
    server.gate.open(until: 1_000)
    #expect(server.gate.verdict(on: key, from: "here", at: 999) == true)
    #expect(server.gate.verdict(on: key, from: "here", at: 1_000) == nil)
    #expect(server.gate.verdict(on: nil, from: "here", at: 999) == false)
    #expect(server.gate.counts == Gate.Counts(admitted: 1, refused: 1, unanswered: 1))
  }

  @Test func oneGatePerDomain() throws {
    var first: Gate? = try Gate(domain: "one") { _ in true }
    let error = #expect(throws: SystemError.self) { _ = try Gate(domain: "one") { _ in true } }
    #expect(error?.code == EADDRINUSE)
    _ = first
    first = nil
    _ = try Gate(domain: "one") { _ in true }
  }

  // The proof that a server makes at its start, with a gate as it should be, one that lets
  // everybody in, one that says nothing, and a server that is not there.
  @Test(.checks("G35")) func proof() throws {
    let closed = try Server("proof-closed")
    #expect(try GateProof.attempt(at: closed.endpoint, server: closed.keys.publicKey) == .closed)
    let open = try Server("proof-open") { _ in true }
    #expect(try GateProof.attempt(at: open.endpoint, server: open.keys.publicKey) == .open)
    let hung = try Server("proof-hung", isOpen: false)
    let answer = try GateProof.attempt(
      at: hung.endpoint, server: hung.keys.publicKey, patience: 1_000_000_000)
    guard case .unknown = answer else {
      Issue.record("\(answer)")
      return
    }
    guard
      case .unknown = try GateProof.attempt(
        at: closed.endpoint, server: KeyPair.random().publicKey)
    else {
      Issue.record("a server with another key proves nothing")
      return
    }
  }

  // Without keys there is no TCP, in either direction, and no half of it.
  @Test(.checks("G35")) func keysMustFit() throws {
    let plain = try Socket(role: .router(maximumMessageBytes: 1_024))
    let outside = try Endpoint("tcp://*:0")
    #expect(throws: SystemError.self) { _ = try plain.bind(outside) }
    let dealer = try Socket(role: .dealer(maximumMessageBytes: 1_024))
    let far = try Endpoint("tcp://192.0.2.1:7421")
    let error = #expect(throws: SystemError.self) { try dealer.connect(far) }
    #expect(error?.code == EACCES)
    #expect(error?.description.contains("keys") == true)
    let client = try openDealer(ThrowAwayKeys.ofServer)
    #expect(throws: SystemError.self) { try client.connect(far) }
    let server = try Socket(
      role: .router(maximumMessageBytes: 1_024), keys: ThrowAwayKeys.ofClient)
    #expect(throws: SystemError.self) { _ = try server.bind(anyPort()) }
    #expect(throws: SystemError.self) { _ = try openRouter().bind(Endpoint("tcp://some.host:1")) }
    #expect(throws: SystemError.self) { try openDealer().connect(Endpoint("tcp://*:7421")) }
  }

  // libzmq's questions as frames, well-formed and otherwise.
  @Test(.checks("G35")) func questions() throws {
    let key = KeyPair.random().publicKey
    func frames(_ mechanism: String, _ credentials: [[UInt8]]) -> [[UInt8]] {
      [
        [0, 1, 2, 3, 4], [], Array("1.0".utf8), [7, 7], Array("op".utf8), Array("10.0.0.1".utf8),
        [],
      ]
        + [Array(mechanism.utf8)] + credentials
    }
    let question = try #require(GateQuestion(frames("CURVE", [key.bytes])))
    #expect(question.key == key)
    #expect(question.domain == "op")
    #expect(question.address == "10.0.0.1")
    let yes = question.answer(isAdmitted: true).map { String(decoding: $0, as: UTF8.self) }
    #expect(yes[1...] == ["", "1.0", "\u{7}\u{7}", "200", "OK", key.text, ""])
    let no = question.answer(isAdmitted: false).map { String(decoding: $0, as: UTF8.self) }
    #expect(no[4] == "400" && no[6] == "")
    for (mechanism, credentials) in [
      ("NULL", []), ("PLAIN", [key.bytes]), ("CURVE", []), ("CURVE", [[1]]),
    ] as [(String, [[UInt8]])] {
      let other = try #require(GateQuestion(frames(mechanism, credentials)))
      #expect(other.key == nil, "\(mechanism)")
      // Nobody is admitted without a key, whatever anyone says.
      #expect(other.answer(isAdmitted: true)[4] == Array("400".utf8))
    }
    #expect(GateQuestion([]) == nil)
    #expect(GateQuestion(Array(frames("CURVE", [key.bytes])[..<7])) == nil)
    #expect(GateQuestion(frames("CURVE", [key.bytes, [1]])) == nil)
    var old = frames("CURVE", [key.bytes])
    old[2] = Array("0.1".utf8)
    #expect(GateQuestion(old) == nil)
  }
}
