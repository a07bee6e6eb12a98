// Connections of a router are counted, and those beyond a bound are cut (A7, G30).

import OpClusterZeroMQ
import Testing

@Suite struct ConnectionCensusTests {
  /// At the bound everybody is served, one past it is cut, and has a place when another one left.
  @Test func cutsTheNewest() throws {
    let router = try openRouter()
    try router.watchConnections()
    let bound = try router.bind(anyPort())
    var served: [Int] = []
    let first = try openDealer()
    let second = try openDealer()
    for dealer in 0..<2 {
      if dealer == 0 { try first.connect(bound) } else { try second.connect(bound) }
      let peer =
        dealer == 0
        ? try introduce(first, to: router) : try introduce(second, to: router)
      #expect(router.send([1], to: peer) == .sent)
      served.append(dealer)
      _ = router.countConnections(most: 2)
    }
    #expect(try census(router, until: { $0.open == 2 }).refused == 0)
    let third = try openDealer()
    try third.connect(bound)
    #expect(try census(router, until: { $0.refused == 1 && $0.open == 2 }).open == 2)
    #expect(served == [0, 1])
    // Those that were there before still speak.
    try sendSurely([5], on: first)
    guard case .message([5], _) = try receiveNext(router) else {
      Issue.record("an earlier connection was cut")
      return
    }
    try leave(second)
    _ = try census(router, until: { $0.open == 1 })
    let fourth = try openDealer()
    try fourth.connect(bound)
    let peer = try introduce(fourth, to: router)
    #expect(router.send([1], to: peer) == .sent)
    #expect(try census(router, until: { $0.open == 2 }).refused == 1)
  }

  /// Consumes the socket, which closes it.
  private func leave(_ socket: consuming Socket) throws {}

  /// Counts until the condition holds.
  private func census(
    _ router: borrowing Socket, until isTrue: (ConnectionCensus) -> Bool
  ) throws -> ConnectionCensus {
    let deadline = MonotonicClock.now() + 30_000_000_000
    var poller = Poller()
    _ = poller.add(router)
    while true {
      let census = router.countConnections(most: 2)
      if isTrue(census) { return census }
      guard MonotonicClock.now() < deadline else {
        Issue.record("\(census)")
        return census
      }
      _ = try poller.wait(until: MonotonicClock.now() + 20_000_000)
    }
  }
}
