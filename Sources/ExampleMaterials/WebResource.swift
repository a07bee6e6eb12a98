// Downloads a resource: HTTP/1.1, one GET, no encryption. The examples demonstrate operations, not
// HTTP; a real program should use a maintained client.
// A server must say the length of its answer. Redirections, chunks and compression are refused as
// answers without one.

import Dispatch

/// A resource at an `http://` address.
public struct WebResource: Sendable {
  /// A name or a number, as written.
  public let host: String
  public let port: UInt16
  public let path: String

  /// The limit of accepted bytes.
  /// Checked against the header before any of the body is kept.
  public static let largest = 64 * 1_024 * 1_024

  /// - Throws: `MaterialError` for any address not of the form `http://HOST[:PORT]/PATH`.
  public init(_ address: String) throws(MaterialError) {
    let scheme = "http://"
    let rest = address.dropFirst(scheme.count)
    // The scheme is taken off before it is checked, as the check below covers both.
    let place = rest.prefix { $0 != "/" }
    let parts = place.split(separator: ":", omittingEmptySubsequences: false)
    guard address.hasPrefix(scheme), address.utf8.allSatisfy({ $0 > 32 && $0 < 127 }),
      let host = parts.first, !host.isEmpty, parts.count <= 2,
      let port = parts.count == 2 ? UInt16(parts[1]) : 80
    else { throw MaterialError("'\(address)' is not of the form http://HOST:PORT/PATH") }
    self.host = String(host)
    self.port = port
    let path = rest.dropFirst(place.count)
    self.path = path.isEmpty ? "/" : String(path)
  }

  /// The body of the answer. A separate thread waits for it, not one of Swift's own; when the task
  /// is cancelled the connection is cut and this throws `CancellationError`.
  ///
  /// - Throws: `MaterialError` for a refusal, or an incomplete answer.
  public func get() async throws -> [UInt8] {
    let connection = try await onThread { try Connection.open(host: host, port: port) }
    do {
      return try await withTaskCancellationHandler {
        try await onThread { try receive(from: connection) }
      } onCancel: {
        connection.shutDown()
      }
    } catch {
      try Task.checkCancellation()
      throw error
    }
  }

  /// Blocking calls would take threads from Swift's pool, which has one per processor.
  private func onThread<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(with: Result { try body() }) }
    }
  }

  /// Throws for a status other than 200, a body that is too large, and one that ends early.
  private func receive(from connection: Connection) throws(MaterialError) -> [UInt8] {
    connection.send(
      Array("GET \(path) HTTP/1.1\r\nHost: \(host):\(port)\r\nConnection: close\r\n\r\n".utf8))
    var (head, body) = try Self.head(from: connection)
    guard head.status == 200 else { throw MaterialError("\(path): the server says \(head.status)") }
    guard head.length <= Self.largest else {
      throw MaterialError("\(path) has \(head.length) bytes, more than \(Self.largest)")
    }
    while body.count < head.length {
      let more = connection.receive()
      guard !more.isEmpty else {
        throw MaterialError("\(path) broke off after \(body.count) of \(head.length) bytes")
      }
      body += more
    }
    return Array(body.prefix(head.length))
  }

  /// The header of the answer, and the part of the body that arrived with it.
  /// At most 64 KiB of header; the blank line may lie across two pieces.
  private static func head(
    from connection: Connection
  ) throws(MaterialError) -> ((status: Int, length: Int), [UInt8]) {
    var bytes: [UInt8] = []
    let blankLine = Array("\r\n\r\n".utf8)
    while true {
      let more = connection.receive()
      let searched = max(bytes.count - 3, 0)
      bytes += more
      if let end = bytes[searched...].firstRange(of: blankLine) {
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
          .split(separator: "\r\n")
        let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        let length = lines.lazy.compactMap(Self.length).first
        guard let status, let length, length >= 0 else {
          throw MaterialError("the server does not say how long its answer is")
        }
        return ((status, length), Array(bytes[end.upperBound...]))
      }
      guard !more.isEmpty, bytes.count < 65_536 else {
        throw MaterialError("the server's answer is no HTTP")
      }
    }
  }

  /// nil for other fields. Names of fields are compared without regard to case.
  private static func length(_ line: Substring) -> Int? {
    let parts = line.split(separator: ":", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "content-length" else { return nil }
    return Int(parts[1].filter { $0 != " " })
  }
}
