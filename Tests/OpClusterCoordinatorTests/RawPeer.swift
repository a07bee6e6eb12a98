// A peer made of a plain socket, which can say what libzmq would never send: garbage, half a
// greeting, frames that do not end. One connection over ipc, for the calling thread.

import Glibc
import OpClusterZeroMQ

final class RawPeer {
  private let descriptor: Int32

  /// - Parameter path: of a coordinator's ipc socket.
  init(_ endpoint: Endpoint) throws {
    let path = endpoint.address.dropFirst("ipc://".count)
    descriptor = socket(AF_UNIX, Self.stream, 0)
    guard descriptor >= 0 else { throw Impatience(awaited: "a socket, not errno \(errno)") }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let code = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe connect(descriptor, $0, size)
      }
    }
    guard code == 0 else {
      close(descriptor)
      throw Impatience(awaited: "a connection, not errno \(errno)")
    }
  }

  private static let stream =
    Int32(SOCK_STREAM.rawValue) | Int32(bitPattern: SOCK_CLOEXEC.rawValue)

  deinit { close(descriptor) }

  /// As much as the other side takes; a peer that has been cut off says nothing.
  func say(_ bytes: [UInt8]) {
    _ = unsafe send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
  }

  /// Nothing more comes from here; what the other side says could still be read.
  func halfClose() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Whether the other side closes the connection within so many milliseconds. Reads all it says.
  func isCut(within milliseconds: Int64) -> Bool {
    let deadline = MonotonicClock.now() + milliseconds * 1_000_000
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
      let left = (deadline - MonotonicClock.now()) / 1_000_000
      guard left > 0 else { return false }
      var wish = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard unsafe poll(&wish, 1, Int32(left)) > 0 else { continue }
      if unsafe recv(descriptor, &buffer, buffer.count, 0) <= 0 { return true }
    }
  }

  // ZMTP 3.0 as a DEALER without a mechanism

  static let greeting: [UInt8] =
    [0xFF, 0, 0, 0, 0, 0, 0, 0, 0, 0x7F, 3, 0] + Array("NULL".utf8)
    + [UInt8](repeating: 0, count: 48)
  static let ready: [UInt8] = {
    let name = Array("Socket-Type".utf8)
    let body =
      [5] + Array("READY".utf8) + [UInt8(name.count)] + name + [0, 0, 0, 6] + Array("DEALER".utf8)
    return [4, UInt8(body.count)] + body
  }()

  /// One frame; `more` says that the message goes on.
  static func frame(_ bytes: [UInt8], more: Bool = false) -> [UInt8] {
    if bytes.count < 256 { return [more ? 1 : 0, UInt8(bytes.count)] + bytes }
    return longHead(UInt64(bytes.count), more: more) + bytes
  }
  /// The head of a frame of so many bytes, whether they follow or not.
  static func longHead(_ count: UInt64, more: Bool = false) -> [UInt8] {
    [more ? 3 : 2] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: count >> (8 * $0)) }
  }
}
