// What a dealer learns about its connection, so that its owner can open a fresh socket (A6, A19).

import Citations
import Glibc
import OpClusterSystem
import Testing

@testable import OpClusterZeroMQ

@Suite struct ConnectionEventTests {
  /// A plain TCP socket bound to a loopback port, which it keeps for itself.
  private struct PlainServer: ~Copyable {
    let descriptor: Int32
    let endpoint: Endpoint

    init(listening: Bool) throws {
      let opened = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
          unsafe bind(opened, generic, size) + getsockname(opened, generic, &size)
        }
      }
      #expect(result == 0)
      if listening { #expect(listen(opened, 8) == 0) }
      descriptor = opened
      endpoint = try Endpoint("tcp://127.0.0.1:\(UInt16(bigEndian: address.sin_port))")
    }

    deinit { close(descriptor) }
  }

  @Test func serverEnds() throws {
    try withFolder { folder in
      for endpoint in try [anyPort(), Endpoint("ipc://\(folder)/s")] {
        var router: Socket? = try openRouter()
        let dealer = try openDealer()
        try dealer.connect(router!.bind(endpoint))
        #expect(try nextEvent(dealer) == .connected)
        #expect(dealer.nextConnectionEvent() == nil)
        router = nil
        #expect(try nextEvent(dealer) == .disconnected)
      }
    }
  }

  // RECONNECT_IVL=-1: after a refusal nothing more happens, even if a server appears.
  @Test func refused() throws {
    let deaf = try PlainServer(listening: false)
    let dealer = try openDealer()
    try dealer.connect(deaf.endpoint)
    #expect(try nextEvent(dealer) == .refused)
    #expect(listen(deaf.descriptor, 8) == 0)
    var poller = SocketPoller()
    _ = poller.add(dealer, for: [])
    #expect(try poller.wait(until: MonotonicClock.now() + 300_000_000) == 0)
  }

  @Test func noSocketFile() throws {
    try withFolder { folder in
      let dealer = try openDealer()
      try dealer.connect(Endpoint("ipc://\(folder)/s"))
      #expect(try nextEvent(dealer) == .refused)
    }
  }

  // HANDSHAKE_IVL=2000: a server that accepts and says nothing.
  @Test func silentServer() throws {
    let silent = try PlainServer(listening: true)
    let dealer = try openDealer()
    try dealer.connect(silent.endpoint)
    let start = MonotonicClock.now()
    let event = try nextEvent(dealer)
    #expect(MonotonicClock.now() - start > 1_500_000_000)
    guard event == .disconnected || isHandshakeFailure(event) else {
      Issue.record("\(event) is no end")
      return
    }
    #expect(dealer.send([1]) == .wouldBlock)
  }

  @Test func serverOfAnotherProtocol() throws {
    let web = try PlainServer(listening: true)
    let dealer = try openDealer()
    try dealer.connect(web.endpoint)
    let accepted = accept(web.descriptor, nil, nil)
    defer { close(accepted) }
    let answer = Array("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n".utf8)
    #expect(unsafe write(accepted, answer, answer.count) == answer.count)
    let event = try nextEvent(dealer)
    guard event == .disconnected || isHandshakeFailure(event) else {
      Issue.record("\(event) is no end")
      return
    }
  }

  private func isHandshakeFailure(_ event: ConnectionEvent) -> Bool {
    if case .handshakeFailed = event { true } else { false }
  }

  @Test func routersHaveNoEvents() throws {
    let router = try openRouter()
    let dealer = try openDealer()
    try dealer.connect(router.bind(freshName()))
    _ = try introduce(dealer, to: router)
    #expect(router.nextConnectionEvent() == nil)
  }

  // libzmq says nothing about inproc: an owner that waits for `connected` must hear it all the
  // same, once, and may send from then on. The end shows only in what is not delivered.
  @Test func inprocIsConnectedAtOnce() throws {
    var router: Socket? = try openRouter()
    let dealer = try openDealer()
    #expect(dealer.nextConnectionEvent() == nil)
    try dealer.connect(router!.bind(freshName()))
    #expect(try nextEvent(dealer) == .connected)
    #expect(dealer.nextConnectionEvent() == nil)
    #expect(dealer.send([1]) == .sent)
    guard case .message([1], from: _?) = try receiveNext(router!) else {
      Issue.record("what was sent did not arrive")
      return
    }
    router = nil
    try eventually("an end of room") { dealer.send([2]) == .wouldBlock }
    #expect(dealer.nextConnectionEvent() == nil)
  }

  /// How a body holds a dealer: in a class, replaced when its connection has ended.
  private final class Session {
    var socket: Socket?
    let endpoint: Endpoint
    var peers: Set<RoutingID> = []

    init(endpoint: Endpoint) { self.endpoint = endpoint }

    func renew() throws {
      socket = nil
      let fresh = try openDealer()
      try fresh.connect(endpoint)
      socket = consume fresh
    }
  }

  // One fresh socket per session; each is a new peer, and libzmq's memory for old ones is free.
  @Test(.checks("A2")) func freshSocketPerSession() throws {
    let router = try openRouter()
    let session = try Session(endpoint: router.bind(anyPort()))
    for _ in 0..<50 {
      try session.renew()
      try session.peers.insert(introduce(session.socket!, to: router))
    }
    #expect(session.peers.count == 50)
  }

  @Test func connectNeedsAPort() throws {
    let dealer = try openDealer()
    let error = #expect(throws: SystemError.self) { try dealer.connect(anyPort()) }
    #expect(error?.code == EINVAL)
  }
}
