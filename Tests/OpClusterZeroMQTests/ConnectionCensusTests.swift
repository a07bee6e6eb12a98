// Connections of a router are counted, and those beyond a bound are cut (A7, G30).

import Citations
import OpClusterSystem
import OpClusterZeroMQ
import Testing

@Suite struct ConnectionCensusTests {
  /// At the bound everybody is served, one past it is cut, and has a place when another one left.
  @Test(.checks("G30", "A7")) func cutsTheNewest() throws {
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

  /// Who says nothing for too long is cut, and of one host whoever comes beyond the bound; who has
  /// spoken may be silent for ever.
  @Test(.checks("G33")) func silentOnesAreCut() throws {
    let router = try openRouter()
    try router.watchConnections()
    let bound = try router.bind(anyPort())
    let speaker = try openDealer()
    try speaker.connect(bound)
    // Heard before its connection is counted.
    _ = try introduce(speaker, to: router)
    let quiet = try openDealer()
    try quiet.connect(bound)
    _ = try census(router, most: 10, until: { $0.open == 2 })
    router.cutSilent(since: MonotonicClock.now() - 60_000_000_000)
    #expect(router.countConnections(most: 10).silent == 0)
    router.cutSilent(since: MonotonicClock.now())
    #expect(try census(router, most: 10, until: { $0.open == 1 }).silent == 1)
    // One at most of a host.
    let first = try openDealer()
    try first.connect(bound)
    _ = try census(router, most: 10, silentPerHost: 1, until: { $0.open == 2 })
    let second = try openDealer()
    try second.connect(bound)
    let crowded = try census(router, most: 10, silentPerHost: 1, until: { $0.silent == 2 })
    #expect(crowded.refused == 0)
    for number in 1...3 as ClosedRange<UInt8> {
      try sendSurely([number], on: speaker)
      guard case .message([number], _) = try receiveNext(router) else {
        Issue.record("who has spoken was cut")
        return
      }
    }
  }

  /// Consumes the socket, which closes it.
  private func leave(_ socket: consuming Socket) throws {}

  /// Counts until the condition holds.
  private func census(
    _ router: borrowing Socket, most: Int = 2, silentPerHost: Int = .max,
    until isTrue: (ConnectionCensus) -> Bool
  ) throws -> ConnectionCensus {
    let deadline = MonotonicClock.now() + 240_000_000_000
    var poller = SocketPoller()
    _ = poller.add(router)
    while true {
      let census = router.countConnections(most: most, silentPerHost: silentPerHost)
      if isTrue(census) { return census }
      guard MonotonicClock.now() < deadline else {
        Issue.record("\(census)")
        return census
      }
      _ = try poller.wait(until: MonotonicClock.now() + 20_000_000)
    }
  }
}
