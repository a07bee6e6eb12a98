// Messages between routers and dealers: round trips, back-pressure, peers that are gone, limits.

import CZeroMQ
import Citations
import Glibc
import OpClusterSystem
import Testing

@testable import OpClusterZeroMQ

@Suite struct MessageTests {
  private func roundTrip(at endpoint: Endpoint) throws {
    let router = try openRouter()
    let bound = try router.bind(endpoint)
    #expect(bound.port != 0)
    let dealer = try openDealer()
    try dealer.connect(bound)
    for bytes in [[1], [UInt8](repeating: 7, count: 1 << 20)] as [[UInt8]] {
      try sendSurely(bytes, on: dealer)
      guard case .message(bytes, from: let sender?) = try receiveNext(router) else {
        Issue.record("the message did not arrive as it was")
        return
      }
      #expect(router.send(bytes.reversed(), to: sender.connection) == .sent)
      #expect(try receiveNext(dealer) == .message(bytes.reversed(), from: nil))
    }
    #expect(router.receive() == .nothing)
    #expect(dealer.receive() == .nothing)
  }

  @Test func overTCP() throws { try roundTrip(at: anyPort()) }
  @Test func overTCP6() throws {
    // A machine without IPv6 has nothing to test here.
    let address = try Endpoint("tcp://[::1]:0")
    let probe = try openRouter()
    guard (try? probe.bind(address)) != nil else { return }
    try roundTrip(at: address)
  }
  @Test func overInproc() throws { try roundTrip(at: freshName()) }
  @Test func overIPC() throws {
    try withFolder { folder in
      try roundTrip(at: Endpoint("ipc://\(folder)/s"))
      #expect(unsafe access("\(folder)/s", F_OK) != 0)
    }
  }

  // ROUTER_MANDATORY tells that a peer is gone, or never was there.
  @Test(.checks("A3")) func unreachable() throws {
    let router = try openRouter()
    let bound = try router.bind(anyPort())
    #expect(router.send([1], to: RoutingID(number: 1)) == .unreachable)
    var dealer: Socket? = try openDealer()
    try dealer!.connect(bound)
    let peer = try introduce(dealer!, to: router)
    #expect(router.send([1], to: peer) == .sent)
    dealer = nil
    try eventually("the end of the peer") { router.send([2], to: peer) == .unreachable }
    #expect(router.send([3], to: peer) == .unreachable)
  }

  // At the high-water mark nothing is lost, in either direction.
  @Test(.checks("A20")) func dealerFillsUp() throws {
    let router = try openRouter()
    let dealer = try openDealer()
    try dealer.connect(router.bind(anyPort()))
    _ = try introduce(dealer, to: router)
    var sent: UInt32 = 0
    while dealer.send(numbered(sent)) == .sent { sent += 1 }
    // The hello counts until the other side has taken half of what fits.
    #expect(sent >= 255)
    for number in 0..<sent {
      guard case .message(numbered(number), from: .some) = try receiveNext(router) else {
        Issue.record("message \(number) of \(sent) is lost")
        return
      }
    }
    #expect(router.receive() == .nothing)
    try sendSurely([9], on: dealer)
    guard case .message([9], from: .some) = try receiveNext(router) else {
      Issue.record("the dealer did not recover")
      return
    }
  }

  @Test(.checks("A3")) func routerFillsUp() throws {
    let router = try openRouter()
    let dealer = try openDealer()
    let other = try openDealer()
    let bound = try router.bind(anyPort())
    try dealer.connect(bound)
    try other.connect(bound)
    let peer = try introduce(dealer, to: router)
    let otherPeer = try introduce(other, to: router)
    var sent: UInt32 = 0
    while true {
      let result = router.send(numbered(sent), to: peer)
      if result != .sent {
        #expect(result == .wouldBlock)
        break
      }
      sent += 1
    }
    #expect(sent >= 256)
    // One full peer does not concern another.
    #expect(router.send([7], to: otherPeer) == .sent)
    #expect(try receiveNext(other) == .message([7], from: nil))
    for number in 0..<sent {
      let next = try receiveNext(dealer)
      guard next == .message(numbered(number), from: nil) else {
        Issue.record("message \(number) of \(sent) is lost")
        return
      }
    }
    #expect(dealer.receive() == .nothing)
    try eventually("room for the peer") { router.send([9], to: peer) == .sent }
    #expect(try receiveNext(dealer) == .message([9], from: nil))
  }

  /// A message of 16 KiB that says which it is; large, so that the kernel's buffers fill soon.
  private func numbered(_ number: UInt32) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 16_384)
    for index in 0..<4 { bytes[index] = UInt8(truncatingIfNeeded: number >> (8 * index)) }
    return bytes
  }

  // A dealer without a server keeps nothing.
  @Test(.checks("A20")) func dealerWithoutServer() throws {
    let dealer = try openDealer()
    #expect(dealer.send([1]) == .wouldBlock)
    try dealer.connect(Endpoint("ipc:///nowhere/at/all"))
    #expect(dealer.send([1]) == .wouldBlock)
    #expect(dealer.receive() == .nothing)
  }

  @Test func emptyMessagesAreNotSent() throws {
    let router = try openRouter()
    let dealer = try openDealer()
    try dealer.connect(router.bind(freshName()))
    let peer = try introduce(dealer, to: router)
    guard case .failed(let error) = dealer.send([]) else { return #expect(Bool(false)) }
    #expect(error.code == EINVAL)
    #expect(router.send([], to: peer) == .failed(error))
    // Nor did a half of one stay behind.
    #expect(router.send([1], to: peer) == .sent)
    #expect(try receiveNext(dealer) == .message([1], from: nil))
    #expect(router.receive() == .nothing)
  }

  // MAXMSGSIZE: the limit itself passes, one byte more cuts that peer off and nobody else.
  @Test func messageTooLarge() throws {
    let router = try openRouter(maximumMessageBytes: 1_000)
    let bound = try router.bind(anyPort())
    let honest = try openDealer()
    let greedy = try openDealer()
    try honest.connect(bound)
    try greedy.connect(bound)
    #expect(try nextEvent(greedy) == .connected)
    try sendSurely([UInt8](repeating: 1, count: 1_001), on: greedy)
    #expect(try nextEvent(greedy) == .disconnected)
    let largest = [UInt8](repeating: 2, count: 1_000)
    try sendSurely(largest, on: honest)
    guard case .message(largest, from: .some) = try receiveNext(router) else {
      Issue.record("the honest peer was not heard")
      return
    }
    #expect(router.receive() == .nothing)
  }

  // Connections are told apart although nobody names itself.
  @Test(.checks("A2")) func manyPeers() throws {
    let router = try openRouter()
    let bound = try router.bind(anyPort())
    let first = try openDealer()
    let second = try openDealer()
    let third = try openDealer()
    try first.connect(bound)
    try second.connect(bound)
    try third.connect(bound)
    let peers = try [
      introduce(first, to: router), introduce(second, to: router), introduce(third, to: router),
    ]
    #expect(Set(peers).count == 3)
    for (index, peer) in peers.enumerated() {
      #expect(router.send([UInt8(index)], to: peer) == .sent)
    }
    #expect(try receiveNext(first) == .message([0], from: nil))
    #expect(try receiveNext(second) == .message([1], from: nil))
    #expect(try receiveNext(third) == .message([2], from: nil))
  }
}
