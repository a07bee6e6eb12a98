// Who is at the other end of a router's connection, and the end that is made of it.

import Citations
import Glibc
import Testing

@testable import OpClusterZeroMQ

@Suite(.checks("A21")) struct ConnectionOriginTests {
  /// One connection ends, the others go on.
  private func oneIsCut(_ endpoint: Endpoint, process: Int32?) throws {
    let router = try openRouter()
    try router.watchConnections()
    let before = router.lastOrigin()
    #expect(before == nil)
    let bound = try router.bind(endpoint)
    let bad = try openDealer()
    let good = try openDealer()
    try bad.connect(bound)
    _ = try introduce(bad, to: router)
    let first = router.lastOrigin()
    let origin = try #require(first)
    try good.connect(bound)
    _ = try introduce(good, to: router)
    let second = router.lastOrigin()
    let other = try #require(second)
    #expect(origin != other && origin.process == process && other.process == process)
    while bad.nextConnectionEvent() != nil {}
    router.cut(origin)
    #expect(try nextEvent(bad) == .disconnected)
    try sendSurely([7], on: good)
    guard case .message([7], _) = try receiveNext(router) else {
      Issue.record("the other connection has ended, too")
      return
    }
    let third = router.lastOrigin()
    #expect(third == other)
    // It has gone: whoever has its number now is left alone.
    router.cut(origin)
    try sendSurely([8], on: good)
    guard case .message([8], _) = try receiveNext(router) else {
      Issue.record("the other connection was cut by an old number")
      return
    }
  }

  @Test func overTCP() throws { try oneIsCut(anyPort(), process: nil) }

  @Test func overLocalSockets() throws {
    try withFolder { folder in
      try oneIsCut(Endpoint("ipc://\(folder)/s"), process: getpid())
    }
  }

  @Test func nobodyOverInproc() throws {
    let router = try openRouter()
    try router.watchConnections()
    let endpoint = try router.bind(freshName())
    let dealer = try openDealer()
    try dealer.connect(endpoint)
    _ = try introduce(dealer, to: router)
    let origin = router.lastOrigin()
    #expect(origin == nil)
  }
}
