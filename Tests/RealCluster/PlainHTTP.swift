// One exchange over HTTP with a server on this machine, byte by byte: what monitoring, a browser or
// somebody with bad intentions would send.

import Glibc
import OpClusterSystem

public enum PlainHTTP {
  /// Sends bytes to a port of a loopback address.
  ///
  /// - Returns: What comes back until the other side closes.
  /// - Throws: If nobody listens.
  public static func send(
    _ bytes: String, to port: UInt16, loopback: UInt32 = ownLoopback
  ) throws -> String {
    let descriptor = try connected(to: port, loopback: loopback)
    defer { close(descriptor) }
    let sent = Array(bytes.utf8)
    _ = unsafe Glibc.send(descriptor, sent, sent.count, Int32(MSG_NOSIGNAL))
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
      if count <= 0 { return String(decoding: answer, as: UTF8.self) }
      answer += buffer[..<count]
    }
  }

  /// 127.0.0.1 as a number.
  public static let ownLoopback: UInt32 = 0x7f00_0001

  /// A connection to a port of a loopback address, which the caller closes.
  static func connected(to port: UInt16, loopback: UInt32 = ownLoopback) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = loopback.bigEndian
    let code = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard code == 0 else {
      let problem = SystemError(action: "connect to port \(port)", code: errno)
      close(descriptor)
      throw problem
    }
    return descriptor
  }

  /// Asks for a path, with these further lines of a header.
  public static func get(
    _ path: String, from port: UInt16, headers: String = ""
  ) throws -> String {
    try send(
      "GET \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\(headers)\r\n", to: port)
  }
}
