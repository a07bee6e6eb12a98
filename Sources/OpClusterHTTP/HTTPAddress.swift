// Where something is served over HTTP: HOST:PORT.

import CHTTP
import Glibc

public struct HTTPAddress: Hashable, Sendable, CustomStringConvertible {
  /// A numeric address, without brackets; `*`: all addresses of this machine.
  public var host: String
  /// 0: the system chooses one.
  public var port: UInt16

  public init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// Understands `127.0.0.1:9420`, `[::1]:9420`, `localhost:9420` and `*:9420`; nil: it is none.
  public init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"),
      let port = UInt16(text[text.index(after: colon)...])
    else { return nil }
    var host = String(text[..<colon])
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = String(host.dropFirst().dropLast())
      guard host.contains(":") else { return nil }
    } else if host.contains(":") {
      return nil
    }
    if host == "localhost" { host = "127.0.0.1" }
    guard !host.isEmpty else { return nil }
    self.init(host: host, port: port)
    // Names of other machines could mean any address, and another one tomorrow.
    guard unsafe withSocketAddress({ _ in }) == nil else { return nil }
  }

  public var description: String {
    host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }

  /// Whether only this machine can connect.
  public var isLoopback: Bool { host.hasPrefix("127.") || host == "::1" }

  /// Returns the problem of an address that cannot be read.
  func withSocketAddress(_ body: (UnsafePointer<sockaddr>) -> Void) -> HTTPServerError? {
    var hints = unsafe addrinfo()
    unsafe hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE
    unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    if host == "*" { unsafe hints.ai_family = AF_INET }
    var found: UnsafeMutablePointer<addrinfo>?
    let code = unsafe getaddrinfo(host == "*" ? nil : host, "\(port)", &hints, &found)
    guard code == 0, let first = unsafe found, let address = unsafe first.pointee.ai_addr else {
      let reason = unsafe String(cString: gai_strerror(code))
      return HTTPServerError(text: "\(self) is no address: \(reason)")
    }
    defer { unsafe freeaddrinfo(first) }
    unsafe body(address)
    return nil
  }
}

public struct HTTPServerError: Error, CustomStringConvertible, Sendable {
  public var text: String
  public init(text: String) { self.text = text }
  public var description: String { text }
}
