// Who serves a socket file: a dealer says nothing to a stranger, and hears nothing from one (G39).

import Glibc
import Testing

@testable import OpClusterZeroMQ

@Suite struct LocalServersTests {
  private static let somebody = LocalServers(users: [54_321])

  @Test("G39: a socket file that is not served by who may") func strangers() throws {
    try withFolder { folder in
      let router = try openRouter()
      let endpoint = try router.bind(Endpoint("ipc://\(folder)/s"))
      let dealer = try openDealer()
      try dealer.connect(endpoint, servedBy: Self.somebody)
      #expect(try nextEvent(dealer) == .handshakeFailed(.foreignServer(user: geteuid())))
      // Also when nobody looks at what happened.
      let deaf = try openDealer()
      try deaf.connect(endpoint, servedBy: Self.somebody)
      for _ in 0..<50 {
        #expect(dealer.send([1]) == .wouldBlock)
        #expect(deaf.send([2]) == .wouldBlock)
        #expect(dealer.receive() == .nothing && deaf.receive() == .nothing)
        usleep(2_000)
      }
      // The handshake succeeds in spite of it, and counts for nothing.
      while let event = dealer.nextConnectionEvent() { #expect(event == .disconnected) }
      // One who may is served, and the strangers' words never came.
      let known = try openDealer()
      try known.connect(endpoint)
      try eventually("it may speak") { known.send([3]) == .sent }
      guard case .message([3], from: _) = try receiveNext(router) else {
        Issue.record("something else came first")
        return
      }
      #expect(router.receive() == .nothing)
    }
  }

  @Test("G39: ourselves and root, over ipc alone") func acquaintances() throws {
    let servers = LocalServers.ourselvesAndRoot
    #expect(servers == LocalServers(users: [geteuid(), 0]))
    var ends: [Int32] = [-1, -1]
    #expect(unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    #expect(servers.verdict(on: ends[0]) == .known)
    #expect(Self.somebody.verdict(on: ends[0]) == .stranger(user: geteuid()))
    for end in ends { close(end) }
    #expect(servers.verdict(on: ends[0]) != .known)
    #expect(servers.verdict(on: -1) == .gone)
    // TCP has keys.
    let router = try openRouter()
    let dealer = try openDealer()
    try dealer.connect(router.bind(anyPort()), servedBy: Self.somebody)
    #expect(try nextEvent(dealer) == .connected)
  }
}
