// A bad link in user space: passes the bytes of connections on, later, slower, in bursts or not at
// all. A stream has no lost or reordered packets, so loss is what a transport makes of it: a pause
// of some hundred milliseconds in which nothing arrives, then everything. A cut is a partition:
// both ends keep their connections and hear nothing. Owns a thread; told from any task.

import Glibc
import OpClusterSystem
import OpClusterZeroMQ
import RealCluster
import Synchronization

/// What the link does, in both directions.
struct LinkShape: Sendable {
  /// Seconds that every piece takes.
  var delay = 0.0
  /// Up to so many seconds more.
  var jitter = 0.0
  /// The share of pieces that pause the stream.
  var loss = 0.0
  /// Bytes a second; nil: as they come.
  var bytesPerSecond: Double?
  /// Nothing passes.
  var isCut = false
  /// The share of messages to the far side after which a recorded one, of whatever connection, is
  /// sent again; the same share is sent twice, and as many after the next one.
  var replay = 0.0
  /// The share of pieces from the far side in which one bit is another.
  var flips = 0.0
}

final class Relay: Sendable {
  /// Where peers connect to, and where it connects to for each: paths of sockets.
  let path: String
  private let target: String
  private struct State {
    var shape = LinkShape()
    var isOver = false
    var passed = 0
    var flipped = 0
  }
  private let state = Mutex(State())
  /// What passes and what is said again.
  let recorder: Recorder

  init(from path: String, to target: String, recorder: Recorder = Recorder { _ in [] }) throws {
    self.path = path
    self.target = target
    self.recorder = recorder
    let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    guard listener >= 0, unsafe Self.withAddress(path, { unsafe bind(listener, $0, $1) }) == 0,
      listen(listener, 64) == 0
    else { throw Trouble("relay at \(path): \(errno)") }
    _ = try startThread(name: "relay") { [self] in
      var loop = RelayLoop(relay: self, listener: listener)
      loop.run()
    }
  }

  var shape: LinkShape {
    get { state.withLock { $0.shape } }
    set { state.withLock { $0.shape = newValue } }
  }
  /// Bytes so far, both directions.
  var passed: Int { state.withLock { $0.passed } }
  /// Bits so far.
  var flipped: Int { state.withLock { $0.flipped } }
  fileprivate func flip(_ bytes: inout ArraySlice<UInt8>) {
    bytes[Int.random(in: bytes.indices)] ^= 1 << UInt8.random(in: 0..<8)
    state.withLock { $0.flipped += 1 }
  }
  func end() { state.withLock { $0.isOver = true } }
  fileprivate var isOver: Bool { state.withLock { $0.isOver } }
  fileprivate func pass(_ bytes: Int) { state.withLock { $0.passed += bytes } }

  /// A connection to the other side; -1 while nobody listens there.
  fileprivate func connectOn() -> Int32 { Self.connect(to: target) }

  /// A connection to a socket in the file system; -1 if nobody listens there.
  static func connect(to path: String) -> Int32 {
    let file = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    if unsafe withAddress(path, { unsafe Glibc.connect(file, $0, $1) }) == 0 { return file }
    close(file)
    return -1
  }

  private static func withAddress(
    _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    guard bytes.count < 108 else { return -1 }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { place in
      for (at, byte) in bytes.enumerated() { unsafe place[at] = byte }
    }
    return unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }
}

/// One direction of one connection.
private struct Direction {
  var tap = FrameTap()
  /// Pieces and when they may leave; the first may be sent in part.
  var pieces: [(due: Int64, bytes: ArraySlice<UInt8>)] = []
  var queued = 0
  /// No piece leaves before the one in front of it.
  var lastDue: Int64 = 0
  var isEnded = false
}

private struct RelayLoop {
  let relay: Relay
  let listener: Int32
  private var connections: [(near: Int32, far: Int32, out: Direction, back: Direction)] = []
  private static let room = 256 * 1024

  init(relay: Relay, listener: Int32) {
    self.relay = relay
    self.listener = listener
  }

  mutating func run() {
    while !relay.isOver {
      wait()
      let shape = relay.shape
      accept()
      if shape.isCut { continue }
      let now = Moment.now.nanoseconds
      for at in connections.indices {
        let (near, far) = (connections[at].near, connections[at].far)
        let before = connections[at].out.pieces.count
        Self.read(near, &connections[at].out, shape, now)
        if shape.replay > 0 {
          var direction = connections[at].out
          mix(&direction, from: before, shape.replay, at: now)
          connections[at].out = direction
        }
        if let late = connections[at].out.tap.overdue(at: now) {
          connections[at].out.pieces.append((now, late[...]))
          connections[at].out.queued += late.count
        }
        let known = connections[at].back.pieces.count
        Self.read(far, &connections[at].back, shape, now)
        for piece in connections[at].back.pieces.indices.dropFirst(known)
        where Double.random(in: 0..<1) < shape.flips {
          relay.flip(&connections[at].back.pieces[piece].bytes)
        }
        relay.pass(Self.write(far, &connections[at].out, now))
        relay.pass(Self.write(near, &connections[at].back, now))
      }
      connections.removeAll { connection in
        let isOver =
          connection.out.isEnded && connection.out.pieces.isEmpty
          || connection.back.isEnded && connection.back.pieces.isEmpty
        if isOver {
          close(connection.near)
          close(connection.far)
        }
        return isOver
      }
    }
    for connection in connections {
      close(connection.near)
      close(connection.far)
    }
    close(listener)
  }

  private mutating func mix(
    _ direction: inout Direction, from first: Int, _ share: Double, at now: Int64
  ) {
    for at in direction.pieces.indices.dropFirst(first) {
      let mixed = direction.tap.mixed(
        direction.pieces[at].bytes, share, relay.recorder, at: now)
      direction.queued += mixed.count - direction.pieces[at].bytes.count
      direction.pieces[at].bytes = mixed[...]
    }
    direction.pieces.removeAll { $0.bytes.isEmpty }
  }

  /// Until there is something to read; briefly, since pieces fall due by time.
  private func wait() {
    if relay.shape.isCut {
      usleep(2_000)
      return
    }
    var files = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
    var isWaiting = false
    for connection in connections {
      for (file, direction) in [
        (connection.near, connection.out), (connection.far, connection.back),
      ] {
        if direction.queued < Self.room, !direction.isEnded {
          files.append(pollfd(fd: file, events: Int16(POLLIN), revents: 0))
        }
        isWaiting = isWaiting || !direction.pieces.isEmpty
      }
    }
    _ = unsafe poll(&files, nfds_t(files.count), isWaiting ? 1 : 50)
  }

  private mutating func accept() {
    var file = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
    while unsafe poll(&file, 1, 0) == 1 {
      let near = Glibc.accept(listener, nil, nil)
      if near < 0 { return }
      let far = relay.connectOn()
      if far < 0 {
        close(near)
        continue
      }
      connections.append((near, far, Direction(), Direction()))
    }
  }

  private static func read(
    _ file: Int32, _ direction: inout Direction, _ shape: LinkShape, _ now: Int64
  ) {
    while direction.queued < room, !direction.isEnded {
      var buffer = [UInt8](repeating: 0, count: 16 * 1024)
      let count = unsafe recv(file, &buffer, buffer.count, Int32(MSG_DONTWAIT))
      if count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR) {
        direction.isEnded = true
      }
      guard count > 0 else { return }
      var seconds = shape.delay + (shape.jitter > 0 ? Double.random(in: 0...shape.jitter) : 0)
      if Double.random(in: 0..<1) < shape.loss { seconds += Double.random(in: 0.2...0.4) }
      var due = max(direction.lastDue, now + Int64(seconds * 1e9))
      if let rate = shape.bytesPerSecond {
        due = max(direction.lastDue, now) + Int64(Double(count) / rate * 1e9)
      }
      direction.lastDue = due
      direction.pieces.append((due, buffer[..<count]))
      direction.queued += count
    }
  }

  private static func write(_ file: Int32, _ direction: inout Direction, _ now: Int64) -> Int {
    var passed = 0
    while let first = direction.pieces.first, first.due <= now {
      let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
      let count = unsafe first.bytes.withUnsafeBytes {
        unsafe send(file, $0.baseAddress, $0.count, flags)
      }
      if count < 0 {
        if errno != EAGAIN && errno != EINTR {
          direction.isEnded = true
          direction.pieces = []
        }
        return passed
      }
      passed += count
      direction.queued -= count
      if count == first.bytes.count {
        direction.pieces.removeFirst()
      } else {
        direction.pieces[0].bytes = first.bytes.dropFirst(count)
        return passed
      }
    }
    return passed
  }
}
