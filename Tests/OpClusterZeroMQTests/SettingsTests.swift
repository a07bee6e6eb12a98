// Every setting that is fixed in code, read back from libzmq (guarantees, section 5).

import CZeroMQ
import Glibc
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
  @Test func router() throws {
    let socket = try Socket(role: .router(maximumMessageBytes: 4 << 20))
    for (option, value) in Self.common { #expect(try socket.option(option) == value, "\(option)") }
    #expect(try socket.option(.maximumMessageBytes) == 4 << 20)
    #expect(try socket.option(.immediate) == 0)
  }

  // A1, A10, A15, A19, A20
  @Test func dealer() throws {
    let socket = try Socket(role: .dealer(maximumMessageBytes: 1 << 20))
    for (option, value) in Self.common { #expect(try socket.option(option) == value, "\(option)") }
    #expect(try socket.option(.maximumMessageBytes) == 1 << 20)
    #expect(try socket.option(.immediate) == 1)
  }

  // A2: no routing id of our own choice.
  @Test func noRoutingID() throws {
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
    let error = #expect(throws: SocketError.self) {
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
  @Test func usedOnAnotherThread() async {
    await #expect(processExitsWith: .failure) {
      let socket = try openDealer()
      nonisolated(unsafe) let handle = socket.handle
      try startThread(name: "thief") { _ = try? unsafe handle.value(of: .linger) }.join()
    }
  }
}
