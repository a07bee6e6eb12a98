// A peer made of a plain socket, which can say what libzmq would never send: garbage, half a
// greeting, frames that do not end. One connection over ipc, for the calling thread.

import Glibc

package final class RawPeer {
  private let descriptor: Int32

  /// - Parameter address: of a coordinator's ipc socket, `ipc://…`.
  package init(_ endpoint: String) throws {
    let path = endpoint.dropFirst("ipc://".count)
    descriptor = socket(AF_UNIX, Self.stream, 0)
    guard descriptor >= 0 else { throw Trouble("no socket: errno \(errno)") }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let result = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe connect(descriptor, $0, size)
      }
    }
    guard result == 0 else {
      let code = errno
      close(descriptor)
      throw Trouble("no connection: errno \(code)")
    }
  }

  private static let stream =
    Int32(SOCK_STREAM.rawValue) | Int32(bitPattern: SOCK_CLOEXEC.rawValue)

  deinit { close(descriptor) }

  /// As much as the other side takes; a peer that has been cut off says nothing.
  package func say(_ bytes: [UInt8]) {
    _ = unsafe send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
  }

  /// Goes through the handshake: what comes before its end is not listened to. Whether it came to
  /// its end.
  package func shakeHands(within limit: Duration = .seconds(10)) -> Bool {
    say(Self.greeting + Self.ready)
    let deadline = ContinuousClock.now + limit
    var heard: [UInt8] = []
    while ContinuousClock.now < deadline {
      // Its greeting, then its READY in one short frame.
      let command = Self.greeting.count
      if heard.count > command + 1, heard.count >= command + 2 + Int(heard[command + 1]) {
        return true
      }
      guard let more = hear(within: 50) else { return false }
      heard += more
    }
    return false
  }

  /// What the other side says within so many milliseconds; nil: it has ended the connection.
  package func hear(within milliseconds: Int32) -> [UInt8]? {
    var wish = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard unsafe poll(&wish, 1, milliseconds) > 0 else { return [] }
    var buffer = [UInt8](repeating: 0, count: 4_096)
    let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
    return count <= 0 ? nil : Array(buffer.prefix(count))
  }

  /// Nothing more comes from here; what the other side says could still be read.
  package func halfClose() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Whether the other side closes the connection within so many milliseconds. Reads all it says.
  package func isCut(within milliseconds: Int64) -> Bool {
    let deadline = ContinuousClock.now + .milliseconds(milliseconds)
    while ContinuousClock.now < deadline {
      if hear(within: 50) == nil { return true }
    }
    return false
  }

  // ZMTP 3.0 as a DEALER without a mechanism

  package static let greeting: [UInt8] =
    [0xFF, 0, 0, 0, 0, 0, 0, 0, 0, 0x7F, 3, 0] + Array("NULL".utf8)
    + [UInt8](repeating: 0, count: 48)
  package static let ready: [UInt8] = {
    let name = Array("Socket-Type".utf8)
    let body =
      [5] + Array("READY".utf8) + [UInt8(name.count)] + name + [0, 0, 0, 6] + Array("DEALER".utf8)
    return [4, UInt8(body.count)] + body
  }()

  /// One frame; `more` says that the message goes on.
  package static func frame(_ bytes: [UInt8], more: Bool = false) -> [UInt8] {
    if bytes.count < 256 { return [more ? 1 : 0, UInt8(bytes.count)] + bytes }
    return longHead(UInt64(bytes.count), more: more) + bytes
  }
  /// The head of a frame of so many bytes, whether they follow or not.
  package static func longHead(_ count: UInt64, more: Bool = false) -> [UInt8] {
    [more ? 3 : 2] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: count >> (8 * $0)) }
  }
}
