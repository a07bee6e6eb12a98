// The server over real connections: answers that come later, streams, limits, and its end while
// somebody waits.

import OpClusterHTTP
import OpClusterSystem
import RealCluster
import Synchronization
import Testing

@Suite struct HTTPServerTests {
  private func server(
    at host: String = "127.0.0.1", bodyBytes: Int = 1_000, _ handler: @escaping HTTPServer.Handler
  ) throws -> HTTPServer {
    let address = try #require(HTTPAddress("\(host):0"))
    return try HTTPServer(
      address, HTTPServer.Settings(connections: 64, idleSeconds: 30, bodyBytes: bodyBytes),
      handler: handler)
  }

  private func plain(_ text: String, _ status: Int = 200) -> HTTPResponse {
    HTTPResponse(status, headers: [("Content-Type", "text/plain")], .bytes(Array(text.utf8)))
  }

  /// The request arrives as it was sent, decoded once.
  @Test func requests() throws {
    let seen = Mutex<HTTPRequest?>(nil)
    let server = try server { request, exchange in
      seen.withLock { $0 = request }
      exchange.answer(HTTPResponse(200, headers: [], .bytes([])))
    }
    defer { server.stop() }
    let body = "a=1&b=%2F"
    _ = try PlainHTTP.send(
      "POST /x/y%20z?q=a%26b&empty&q=2 HTTP/1.1\r\nHost: h\r\nX-One: 1\r\nConnection: close\r\n"
        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)", to: server.address.port)
    let request = try #require(seen.withLock { $0 })
    #expect(request.method == "POST" && request.path == "/x/y z")
    #expect(request.query("q") == "a&b" && request.query("empty") == "")
    #expect(request.query.count == 3 && request.query("none") == nil)
    #expect(request.header("x-one") == "1" && request.header("HOST") == "h")
    #expect(String(decoding: request.body, as: UTF8.self) == body)
  }

  /// Answers may come from any thread, in any order; who waits costs no thread.
  @Test func answersThatComeLater() async throws {
    let waiting = Mutex<[(path: String, exchange: HTTPExchange)]>([])
    let server = try server { request, exchange in
      waiting.withLock { $0.append((request.path, exchange)) }
    }
    defer { server.stop() }
    let requests = try (0..<40).map { number in
      try OpenHTTP(
        "GET /\(number) HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
        to: server.address.port)
    }
    try await eventually("all have asked") { waiting.withLock { $0.count } == 40 }
    #expect(requests.allSatisfy { $0.text.isEmpty })
    let all = waiting.withLock { $0 }
    await withTaskGroup { group in
      for (path, exchange) in all.reversed() {
        group.addTask {
          exchange.answer(plain("this is \(path)"))
          // Only the first answer counts.
          exchange.answer(plain("late"))
        }
      }
    }
    for (number, request) in requests.enumerated() {
      try await eventually("number \(number) is answered") { request.hasEnded }
      #expect(request.text.hasSuffix("this is /\(number)"))
    }
  }

  /// A stream arrives while it is written, and its writer learns when nobody reads any more.
  @Test func streams() async throws {
    let closed = Mutex(0)
    let streams = Mutex<[HTTPStream]>([])
    let server = try server { _, exchange in
      let stream = HTTPStream { closed.withLock { $0 += 1 } }
      streams.withLock { $0.append(stream) }
      exchange.answer(HTTPResponse(200, headers: [("Content-Type", "text/plain")], .stream(stream)))
    }
    defer { server.stop() }
    var reader: OpenHTTP? = try OpenHTTP(
      "GET / HTTP/1.1\r\nHost: h\r\n\r\n", to: server.address.port)
    let stream = try await eventually("it is there") { streams.withLock { $0.first } }
    for number in 1...20 {
      #expect(stream.send("piece \(number);".utf8))
      try await eventually("piece \(number) has come") {
        reader?.text.contains("piece \(number);") == true
      }
    }
    #expect(closed.withLock { $0 } == 0)
    reader = nil
    // Who has gone is noticed when something is sent.
    try await eventually("its end is noticed") {
      _ = stream.send("more".utf8)
      return closed.withLock { $0 } == 1
    }
    #expect(!stream.send("nobody".utf8))
    let second = try OpenHTTP(
      "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", to: server.address.port)
    let other = try await eventually("it is there") { streams.withLock { $0.dropFirst().first } }
    _ = other.send("all".utf8)
    other.end()
    try await eventually("it ends") { second.hasEnded }
    #expect(second.text.contains("all"))
  }

  /// For one who does not read, no more than so much is kept.
  @Test func oneWhoDoesNotRead() async throws {
    let made = Mutex<HTTPStream?>(nil)
    let server = try server { _, exchange in
      let stream = HTTPStream()
      made.withLock { $0 = stream }
      exchange.answer(HTTPResponse(200, headers: [], .stream(stream)))
    }
    defer { server.stop() }
    let reader = try OpenHTTP("GET / HTTP/1.1\r\nHost: h\r\n\r\n", to: server.address.port)
    let stream = try await eventually("it is there") { made.withLock { $0 } }
    let piece = [UInt8](repeating: 120, count: 1 << 16)
    var sent = 0
    while stream.send(piece) { sent += piece.count }
    // What the kernel holds of it comes on top.
    #expect(sent >= HTTPStream.mostWaiting && sent < 64 << 20)
    withExtendedLifetime(reader) {}
  }

  @Test func limits() throws {
    let server = try server(bodyBytes: 100) { _, exchange in exchange.answer(plain("fine")) }
    defer { server.stop() }
    for (count, status) in [(100, "200"), (101, "413"), (100_000, "413")] {
      let body = String(repeating: "x", count: count)
      let answer = try PlainHTTP.send(
        "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
          + "Content-Length: \(count)\r\n\r\n\(body)",
        to: server.address.port)
      // Who sends far too much may be hung up on before it reads.
      #expect(answer.hasPrefix("HTTP/1.1 \(status)") || (count > 101 && answer.isEmpty))
    }
  }

  /// A stop ends those who wait and those who follow, and returns.
  @Test func stopWhileSomebodyWaits() async throws {
    let asked = Mutex(0)
    let server = try server { request, exchange in
      asked.withLock { $0 += 1 }
      if request.path == "/stream" {
        exchange.answer(HTTPResponse(200, headers: [], .stream(HTTPStream())))
      }
    }
    let requests = try ["/stream", "/never"].map {
      try OpenHTTP("GET \($0) HTTP/1.1\r\nHost: h\r\n\r\n", to: server.address.port)
    }
    try await eventually("both have asked") { asked.withLock { $0 } == 2 }
    server.stop()
    for request in requests { try await eventually("it has ended") { request.hasEnded } }
  }

  /// Nothing listens after a stop. The address is this test's own: on the common one, the next
  /// server of another test may be given the port.
  @Test func nobodyListensAfterAStop() throws {
    let loopback = UInt32(0x7f00_0000) | UInt32.random(in: 0x01_0000...0xfe_0000)
    let host = [24, 16, 8, 0].map { String(loopback >> $0 & 0xff) }.joined(separator: ".")
    let server = try server(at: host) { _, exchange in exchange.answer(plain("here")) }
    let request = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
    func answer() throws -> String {
      try PlainHTTP.send(request, to: server.address.port, loopback: loopback)
    }
    #expect(try answer().hasSuffix("here"))
    server.stop()
    #expect(throws: SystemError.self) { try answer() }
  }
}
