// A server for webhooks on this machine: real sockets, and answers that a test decides. One
// connection after the other.

import Dispatch
import Glibc
import OpClusterSystem
import Synchronization

public final class WebhookServer: Sendable {
  public struct Request: Sendable {
    /// The first line and those of the header.
    public var head: String
    public var body: String
  }
  public let port: UInt16
  private let listener: Int32
  private let requests = Mutex<[Request]>([])
  private let answers: Mutex<[Int]>

  /// - Parameter answers: The statuses of the first requests; all others get 204.
  public init(answers: [Int] = []) throws {
    self.answers = Mutex(answers)
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let listener = listener
    let code = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        guard unsafe bind(listener, address, size) == 0, listen(listener, 16) == 0 else {
          return Int32(-1)
        }
        return unsafe getsockname(listener, address, &size)
      }
    }
    guard code == 0 else { throw SystemError(action: "listen", code: errno) }
    port = UInt16(bigEndian: address.sin_port)
    DispatchQueue(label: "webhooks").async { self.serve() }
  }

  /// What has come so far.
  public var received: [Request] { requests.withLock { $0 } }

  /// Ends it: `serve` holds it until then.
  public func end() {
    shutdown(listener, Int32(SHUT_RDWR))
  }

  private func serve() {
    defer { close(listener) }
    while true {
      let connection = accept(listener, nil, nil)
      guard connection >= 0 else { return }
      defer { close(connection) }
      guard let request = read(connection) else { continue }
      requests.withLock { $0.append(request) }
      let status = answers.withLock { $0.isEmpty ? 204 : $0.removeFirst() }
      let answer = Array("HTTP/1.1 \(status) x\r\nConnection: close\r\n\r\n".utf8)
      _ = unsafe send(connection, answer, answer.count, Int32(MSG_NOSIGNAL))
    }
  }

  /// nil: the other side closed before its end.
  private func read(_ connection: Int32) -> Request? {
    var text = ""
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = unsafe recv(connection, &buffer, buffer.count, 0)
      if count <= 0 { return nil }
      text += String(decoding: buffer[..<count], as: UTF8.self)
      guard let end = text.firstRange(of: "\r\n\r\n") else { continue }
      let head = String(text[..<end.lowerBound])
      let length = head.split(separator: "\r\n")
        .first { $0.lowercased().hasPrefix("content-length:") }
        .flatMap { Int($0.split(separator: " ").last ?? "") } ?? 0
      let body = text[end.upperBound...]
      if body.utf8.count >= length { return Request(head: head, body: String(body)) }
    }
  }
}
