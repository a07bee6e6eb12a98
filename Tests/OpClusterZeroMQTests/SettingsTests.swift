// Every setting that is fixed in code, read back from libzmq (ZeroMQ.md).

import CZeroMQ
import Citations
import Glibc
import OpClusterSystem
import Testing

@testable import OpClusterZeroMQ

@Suite struct SettingsTests {
  /// The table of the guarantees, written down a second time on purpose.
  private static let common: [(SocketOption, Int)] = [
    (.heartbeatInterval, 0), (.handshakeInterval, 2_000), (.sendHighWaterMark, 256),
    (.receiveHighWaterMark, 256), (.backlog, 4_096), (.linger, 0), (.sendTimeout, 0),
    (.tcpKeepalive, 1), (.tcpKeepaliveIdle, 5), (.tcpKeepaliveInterval, 2),
    (.tcpKeepaliveCount, 3), (.tcpMaximumRetransmission, 10_000), (.reconnectInterval, -1),
  ]

  // A1, A8, A10, A15, A19
  @Test(.checks("A1", "A8", "A10", "A15", "A19")) func router() throws {
    let socket = try Socket(role: .router(maximumMessageBytes: 4 << 20))
    for (option, value) in Self.common { #expect(try socket.option(option) == value, "\(option)") }
    #expect(try socket.option(.maximumMessageBytes) == 4 << 20)
    #expect(try socket.option(.immediate) == 0)
  }

  // A1, A10, A15, A19, A20
  @Test(.checks("A1", "A10", "A15", "A19", "A20")) func dealer() throws {
    let socket = try Socket(role: .dealer(maximumMessageBytes: 1 << 20))
    for (option, value) in Self.common { #expect(try socket.option(option) == value, "\(option)") }
    #expect(try socket.option(.maximumMessageBytes) == 1 << 20)
    #expect(try socket.option(.immediate) == 1)
  }

  // Over TCP there is a mechanism, a domain, and no way around the handler.
  @Test(.checks("A6")) func keysOverTCP() throws {
    let router = try openRouter()
    let dealer = try openDealer()
    for socket in [router.handle, dealer.handle] {
      #expect(try socket.value(of: .zapEnforceDomain) == 0)
    }
    try dealer.connect(router.bind(anyPort()))
    #expect(try router.option(.curveServer) == 1)
    #expect(try router.option(.zapEnforceDomain) == 1)
    #expect(try text(ZMQ_ZAP_DOMAIN, of: router) == "op\0")
    #expect(try text(ZMQ_CURVE_SECRETKEY, of: router) == ThrowAwayKeys.server.secretKey.bytes)
    #expect(try dealer.option(.curveServer) == 0)
    #expect(try text(ZMQ_CURVE_SERVERKEY, of: dealer) == ThrowAwayKeys.server.publicKey.bytes)
    #expect(try text(ZMQ_CURVE_PUBLICKEY, of: dealer) == ThrowAwayKeys.client.publicKey.bytes)
  }

  private func text(_ option: Int32, of socket: borrowing Socket) throws -> String {
    String(decoding: try text(option, of: socket) as [UInt8], as: UTF8.self)
  }

  private func text(_ option: Int32, of socket: borrowing Socket) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 32)
    var size = bytes.count
    let raw = unsafe socket.handle.checked()
    #expect(unsafe zmq_getsockopt(raw, option, &bytes, &size) == 0)
    return Array(bytes.prefix(size))
  }

  // No routing id of our own choice.
  @Test(.checks("A2")) func noRoutingID() throws {
    let socket = try openDealer()
    var name = [UInt8](repeating: 0, count: 255)
    var size = name.count
    let raw = unsafe socket.handle.checked()
    #expect(unsafe zmq_getsockopt(raw, ZMQ_ROUTING_ID, &name, &size) == 0)
    #expect(size == 0)
  }

  @Test func parameters() throws {
    let socket = try Socket(
      role: .dealer(maximumMessageBytes: 1), highWaterMark: 1, lingerMilliseconds: 2_000)
    #expect(try socket.option(.sendHighWaterMark) == 1)
    #expect(try socket.option(.receiveHighWaterMark) == 1)
    #expect(try socket.option(.linger) == 2_000)
    #expect(try socket.option(.maximumMessageBytes) == 1)
  }

  @Test(arguments: [
    (0, 256, 0), (-1, 256, 0), (1 << 31, 256, 0), (1, 0, 0), (1, 1_000_001, 0), (1, 256, -1),
    (1, 256, 2_001),
  ])
  func parametersOutOfRange(bytes: Int, highWaterMark: Int, linger: Int) {
    let error = #expect(throws: SystemError.self) {
      _ = try Socket(
        role: .dealer(maximumMessageBytes: bytes), highWaterMark: highWaterMark,
        lingerMilliseconds: linger)
    }
    #expect(error?.code == EINVAL)
  }

  // ROUTER_MANDATORY and ROUTER_HANDOVER cannot be read; their effects are tested with messages.
  @Test func unreadableOptions() throws {
    let socket = try openRouter()
    for option in SocketOption.allCases {
      let value = try? socket.option(option)
      #expect((value != nil) == option.isReadable, "\(option)")
    }
  }

  // A16
  @Test func context() {
    #expect(Context.shared.configuredIOThreads == 1)
    #expect(Context.shared.configuredMaximumSockets == 16_384)
    #expect(Context.shared === Context.shared)
  }

  // A13
  @Test(.checks("A13")) func usedOnAnotherThread() async {
    await #expect(processExitsWith: .failure) {
      let socket = try openDealer()
      nonisolated(unsafe) let handle = socket.handle
      try startThread(name: "thief") { _ = try? unsafe handle.value(of: .linger) }.join()
    }
  }
}
