// What connections have sent and nobody has heard, by the kernel's count (A4, G33).

import Citations
import Testing

@testable import OpClusterZeroMQ

@Suite struct UnheardBytesTests {
  private static let limit: UInt64 = 1 << 20

  // At the bound nobody is named; past it, whoever sent it, and only that one.
  @Test func whoSendsMoreThanIsHeard() throws {
    let router = try openRouter()
    try router.watchConnections()
    let bound = try router.bind(anyPort())
    let quiet = try openDealer()
    let loud = try openDealer()
    try quiet.connect(bound)
    _ = try introduce(quiet, to: router)
    try loud.connect(bound)
    _ = try introduce(loud, to: router)
    let origin = router.lastOrigin()
    for _ in 0..<16 { try sendSurely([UInt8](repeating: 7, count: 128 << 10), on: loud) }
    _ = router.countConnections(most: 100)
    var found: [UnheardConnection] = []
    try eventually("what was sent has arrived") {
      found = router.unheard(beyond: Self.limit)
      return found.first.map { $0.bytes >= 16 * 128 << 10 } ?? false
    }
    #expect(found.map(\.origin) == [origin].compactMap(\.self))
    #expect(found[0].origin.networkAddress == "127.0.0.1")
    #expect(router.unheard(beyond: found[0].bytes).isEmpty)
    // What was heard counts no more, however much it was.
    for _ in 0..<16 { _ = try receiveNext(router) }
    #expect(router.unheard(beyond: Self.limit).isEmpty)
    for connection in found { router.cut(connection.origin) }
    while try nextEvent(loud) != .disconnected {}
    try sendSurely([9], on: quiet)
    guard case .message([9], _) = try receiveNext(router) else {
      Issue.record("the other connection has ended, too")
      return
    }
  }

  // Many small messages, encrypted: what is around them is no debt, and no credit either.
  @Test func smallMessagesLeaveNothing() throws {
    let router = try openRouter()
    try router.watchConnections()
    let dealer = try openDealer()
    try dealer.connect(router.bind(anyPort()))
    _ = try introduce(dealer, to: router)
    for _ in 0..<2_000 {
      try sendSurely([1], on: dealer)
      _ = try receiveNext(router)
    }
    _ = router.countConnections(most: 100)
    #expect(router.unheard(beyond: 4_096).isEmpty)
    for _ in 0..<8 { try sendSurely([UInt8](repeating: 7, count: 128 << 10), on: dealer) }
    try eventually("all of it is missed") {
      router.unheard(beyond: (8 * 128 << 10) - 1).count == 1
    }
  }

  // By whom, as far as the gate can tell.
  @Test(.checks("G33")) func keysByAddress() throws {
    let gate = try Gate(domain: "keys-by-address") { _ in true }
    gate.open(until: .max)
    let (first, second) = (KeyPair.random().publicKey, KeyPair.random().publicKey)
    for key in [first, second, first] { _ = gate.verdict(on: key, from: "10.0.0.1", at: 0) }
    _ = gate.verdict(on: second, from: "10.0.0.2", at: 0)
    #expect(gate.keysAdmitted(from: "10.0.0.1") == [second, first])
    #expect(gate.keysAdmitted(from: "10.0.0.2") == [second])
    for number in 0..<Gate.admittedKept {
      _ = gate.verdict(on: first, from: "10.1.0.\(number)", at: 0)
    }
    #expect(gate.keysAdmitted(from: "10.0.0.1").isEmpty)
  }
}
