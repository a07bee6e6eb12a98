// F46: peers that do not speak CURVE, or nothing that ends, at both TCP ports of a real
// coordinator. Each is cut off soon, and the coordinator's loop hears of none of them.

import Glibc
import OpClusterZeroMQ
import RealCluster

let greetingRow = FaultRow(
  number: "F46", name: "garbage, half greetings, old protocols, NULL, PLAIN",
  promise: "G33 G35 A22",
  injection: "200 of each kind at either port, over TCP; one kind says a byte a second",
  isShort: true, run: strangers)

/// A plain TCP connection that says what it likes.
private struct Stranger {
  let name: String
  let file: Int32
  /// Said a byte a second.
  var drip: ArraySlice<UInt8>
  let begun: Moment
  var lastDrip: Moment

  init(_ name: String, _ bytes: [UInt8], drip: [UInt8] = [], port: UInt16) throws {
    self.name = name
    file = TCP.connect(port)
    guard file >= 0 else { throw Trouble("no connection to port \(port): \(errno)") }
    begun = .now
    lastDrip = begun
    self.drip = drip[...]
    _ = unsafe send(file, bytes, bytes.count, Int32(MSG_NOSIGNAL))
  }

  mutating func speak(_ now: Moment) {
    guard now.seconds(since: lastDrip) >= 1, let byte = drip.popFirst() else { return }
    lastDrip = now
    _ = unsafe send(file, [byte], 1, Int32(MSG_NOSIGNAL))
  }

  /// Whether the other side has hung up; takes what it has said.
  func isCutOff() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
      let count = unsafe recv(file, &buffer, buffer.count, Int32(MSG_DONTWAIT))
      if count > 0 { continue }
      return count == 0 || (errno != EAGAIN && errno != EINTR)
    }
  }
}

enum TCP {
  /// A connection to a port of this machine, from one of its addresses; -1 if there is none.
  static func connect(_ port: UInt16, from host: UInt32 = 0x7F00_0001) -> Int32 {
    let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue
    let file = socket(AF_INET, Int32(type), 0)
    guard file >= 0 else { return -1 }
    if host != 0x7F00_0001, unsafe with(host, 0, { unsafe bind(file, $0, $1) }) != 0 {
      close(file)
      return -1
    }
    guard unsafe with(0x7F00_0001, port, { unsafe Glibc.connect(file, $0, $1) }) == 0 else {
      let code = errno
      close(file)
      errno = code
      return -1
    }
    return file
  }

  private static func with(
    _ host: UInt32, _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = host.bigEndian
    address.sin_port = port.bigEndian
    return unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}

/// The first 64 bytes of a connection: version and mechanism.
private func greeting(_ major: UInt8, _ mechanism: String) -> [UInt8] {
  [0xFF] + [UInt8](repeating: 0, count: 8) + [0x7F, major, 0] + Array(mechanism.utf8)
    + [UInt8](repeating: 0, count: 52 - mechanism.utf8.count)
}

/// What each kind says at once; nil is noise.
private let openings: [(String, [UInt8]?)] = [
  ("nothing", []), ("noise", nil),
  ("half a greeting", Array(greeting(3, "CURVE").prefix(30))),
  ("a greeting and silence", greeting(3, "CURVE")),
  ("NULL", RawPeer.greeting + RawPeer.ready + RawPeer.frame([1, 2, 3])),
  ("PLAIN", greeting(3, "PLAIN") + [4, 10, 5] + Array("HELLO".utf8) + [1, 97, 1, 98]),
  ("ZMTP 1.0", [1, 0, 6, 0] + Array("hello".utf8)),
  ("ZMTP 2.0", [0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 0x7F, 1, 5, 0, 0, 0, 5] + Array("hello".utf8)),
  ("a web browser", Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)),
  (
    "a HELLO of zeros",
    greeting(3, "CURVE") + [4, 200, 5] + Array("HELLO".utf8) + [UInt8](repeating: 0, count: 194)
  ),
  (
    "INITIATE first",
    greeting(3, "CURVE") + [4, 255, 8] + Array("INITIATE".utf8) + [UInt8](repeating: 7, count: 246)
  ),
  ("a frame without end", greeting(3, "CURVE") + [6, 0x7F] + [UInt8](repeating: 0xFF, count: 7)),
  ("a byte a second", []),
]

/// F46
private func strangers(_ trial: Trial) async throws {
  let count = trial.scale.count(200, short: 10)
  try await Cluster.with(trial.keyedShape(workers: 1)) { cluster in
    let ports = try [cluster.address, cluster.workerAddress].map { try Endpoint($0).port ?? 0 }
    try await trial.withBystanders(cluster, limit: 5) {
      let times = try await onThread("strangers") { () throws -> [String: Series] in
        var times: [String: Series] = [:]
        // A few hundred at once, so that descriptors suffice everywhere.
        for start in stride(from: 0, to: count, by: 40) {
          var crowd: [Stranger] = []
          for _ in start..<min(start + 40, count) {
            for port in ports { crowd += try oneOfEach(port) }
          }
          try untilCutOff(&crowd, &times)
        }
        return times
      }
      for (name, series) in times.sorted(by: { $0.key < $1.key }) {
        trial.injected("connection that says \(name)", times: series.count)
        trial.expect(
          series.largest <= 4, "G35: \(name): cut off only after \(Moment.text(series.largest)) s")
      }
      trial.note("the longest was cut off after \(times.values.map(\.largest).max() ?? 0) s")
    }
    let malformed = try await cluster.malformedCount()
    trial.expect(malformed == 0, "G35: \(malformed) messages reached the coordinator's loop")
    trial.note("messages of them that reached the coordinator's loop: \(malformed)")
  }
}

private func oneOfEach(_ port: UInt16) throws -> [Stranger] {
  try openings.map { name, bytes in
    let noise = (0..<Int.random(in: 1...500)).map { _ in UInt8.random(in: .min ... .max) }
    let drip = name == "a byte a second" ? greeting(3, "CURVE") : []
    return try Stranger(name, bytes ?? noise, drip: drip, port: port)
  }
}

/// Until all are cut off, or 10 s have passed; writes down when.
private func untilCutOff(_ crowd: inout [Stranger], _ times: inout [String: Series]) throws {
  let start = Moment.now
  while !crowd.isEmpty, Moment.now.seconds(since: start) < 10 {
    let now = Moment.now
    crowd.removeAll { stranger in
      guard stranger.isCutOff() else { return false }
      times[stranger.name, default: Series()].add(now.seconds(since: stranger.begun))
      close(stranger.file)
      return true
    }
    for at in crowd.indices { crowd[at].speak(now) }
    usleep(5_000)
  }
  for stranger in crowd {
    times[stranger.name, default: Series()].add(10)
    close(stranger.file)
  }
}
