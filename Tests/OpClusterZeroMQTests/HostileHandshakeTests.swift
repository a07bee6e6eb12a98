// Peers that do not speak CURVE, or nothing that ends: each is cut off within the time for a
// handshake, and the server's owner hears of none (G33, G35, F46).

import CZeroMQ
import Glibc
import OpClusterSystem
import Testing

@testable import OpClusterZeroMQ

@Suite struct HostileHandshakeTests {
  /// A plain TCP connection that says what it likes.
  private final class Stranger {
    private let descriptor: Int32

    init(_ endpoint: Endpoint) throws {
      let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue
      descriptor = socket(AF_INET, Int32(type), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      address.sin_port = try #require(endpoint.port).bigEndian
      let size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let result = unsafe withUnsafePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
          unsafe connect(descriptor, generic, size)
        }
      }
      #expect(result == 0)
    }

    deinit { close(descriptor) }

    /// Whether the other side still took it.
    @discardableResult
    func say(_ bytes: [UInt8]) -> Bool {
      unsafe send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    /// Whether the other side has hung up; takes what it has said.
    func isCutOff() -> Bool {
      var buffer = [UInt8](repeating: 0, count: 4_096)
      while true {
        let count = unsafe recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        if count > 0 { continue }
        return count == 0 || (errno != EAGAIN && errno != EINTR)
      }
    }
  }

  /// The first 64 bytes of a connection, saying version and mechanism.
  private static func greeting(_ major: UInt8, _ mechanism: String) -> [UInt8] {
    let name = Array(mechanism.utf8) + [UInt8](repeating: 0, count: 20 - mechanism.utf8.count)
    return [0xFF] + [UInt8](repeating: 0, count: 8) + [0x7F, major, 0] + name
      + [UInt8](repeating: 0, count: 32)
  }

  private static let openings: [(String, [UInt8])] = [
    ("nothing", []),
    ("half a greeting", Array(greeting(3, "CURVE").prefix(30))),
    ("a greeting and silence", greeting(3, "CURVE")),
    ("NULL", greeting(3, "NULL") + [4, 25, 5] + Array("READY".utf8)),
    ("PLAIN", greeting(3, "PLAIN") + [4, 10, 5] + Array("HELLO".utf8) + [1, 97, 1, 98]),
    ("ZMTP 1.0", [1, 0, 6, 0] + Array("hello".utf8)),
    ("ZMTP 2.0", [0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 0x7F, 1, 5, 0, 0, 0, 5] + Array("hello".utf8)),
    ("a web browser", Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)),
    (
      "a HELLO of zeros",
      greeting(3, "CURVE") + [4, 200, 5] + Array("HELLO".utf8)
        + [UInt8](repeating: 0, count: 194)
    ),
    (
      "INITIATE first",
      greeting(3, "CURVE") + [4, 255, 8] + Array("INITIATE".utf8)
        + [UInt8](repeating: 7, count: 246)
    ),
    ("a frame without end", greeting(3, "CURVE") + [6, 0x7F] + [UInt8](repeating: 0xFF, count: 7)),
  ]

  @Test func openingsAreCutOff() throws {
    let router = try openRouter()
    let bound = try router.bind(anyPort())
    var strangers: [(name: String, stranger: Stranger)] = []
    for (name, bytes) in Self.openings {
      let stranger = try Stranger(bound)
      stranger.say(bytes)
      strangers.append((name, stranger))
    }
    for _ in 0..<50 {
      let noise = (0..<Int.random(in: 1...500)).map { _ in UInt8.random(in: .min ... .max) }
      let stranger = try Stranger(bound)
      stranger.say(noise)
      strangers.append(("\(noise)", stranger))
    }
    try eventually("all are cut off, but \(strangers.map(\.name))") {
      strangers.removeAll { $0.stranger.isCutOff() }
      return strangers.isEmpty
    }
    #expect(router.receive() == .nothing)
    // Who is known is served as ever.
    let dealer = try openDealer()
    try dealer.connect(bound)
    _ = try introduce(dealer, to: router)
  }

  // A byte now and then does not make a handshake longer.
  @Test func slowOnesAreCutOff() throws {
    let router = try openRouter()
    let bound = try router.bind(anyPort())
    var slow = try (0..<20).map { _ in try Stranger(bound) }
    let start = MonotonicClock.now()
    var rest = Self.greeting(3, "CURVE")[...]
    try eventually("the slow ones are cut off") {
      if (MonotonicClock.now() - start) / 100_000_000 > Int64(64 - rest.count),
        let byte = rest.popFirst()
      {
        for stranger in slow { stranger.say([byte]) }
      }
      slow.removeAll { $0.isCutOff() }
      return slow.isEmpty
    }
    #expect(rest.count > 0, "it was cut off before it had said all")
    #expect(router.receive() == .nothing)
  }

  // libzmq's own client without keys, or with a user's name.
  @Test(arguments: [false, true])
  func clientsWithoutKeys(hasName: Bool) throws {
    let router = try openRouter()
    let bound = try router.bind(anyPort())
    let dealer = try openDealer()
    let raw = unsafe dealer.handle.checked()
    if hasName {
      for option in [ZMQ_PLAIN_USERNAME, ZMQ_PLAIN_PASSWORD] {
        #expect(unsafe zmq_setsockopt(raw, option, "admin", 5) == 0)
      }
    }
    #expect(unsafe zmq_connect(raw, bound.address) == 0)
    let event = try nextEvent(dealer)
    guard case .handshakeFailed = event else {
      Issue.record("\(event)")
      return
    }
    #expect(dealer.send([1]) == .wouldBlock)
    #expect(router.receive() == .nothing)
  }
}
