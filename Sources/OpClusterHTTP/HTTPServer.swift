// A server of HTTP/1.1, by libmicrohttpd: one thread of its own, connections that cost nothing
// while they wait. Who may connect is decided by the address; what may be asked, by the handler.

import CHTTP
import Glibc
import Synchronization

/// Serves until `stop` or its end.
public final class HTTPServer: Sendable {
  /// Called on the server's thread: answers at once, or passes the exchange on and returns.
  public typealias Handler = @Sendable (HTTPRequest, HTTPExchange) -> Void

  public struct Settings: Sendable {
    /// Connections at once; further ones are hung up on.
    public var connections: UInt32
    /// An idle connection ends after so many seconds.
    public var idleSeconds: UInt32
    /// The most of a request's body.
    public var bodyBytes: Int
    /// A certificate and its key, both PEM; nil: without TLS.
    public var certificate: (chain: String, key: String)?

    public init(
      connections: UInt32, idleSeconds: UInt32, bodyBytes: Int = 0,
      certificate: (chain: String, key: String)? = nil
    ) {
      self.connections = connections
      self.idleSeconds = idleSeconds
      self.bodyBytes = bodyBytes
      self.certificate = certificate
    }
  }

  /// What libmicrohttpd passes to its callbacks; lives as long as the server.
  private final class Context: Sendable {
    let handler: Handler
    let bodyBytes: Int
    private let exchanges = Mutex<(known: [ObjectIdentifier: HTTPExchange], isStopping: Bool)>(
      ([:], false))

    init(_ handler: @escaping Handler, bodyBytes: Int) {
      self.handler = handler
      self.bodyBytes = bodyBytes
    }

    /// Returns false if the server is stopping.
    func begin(_ exchange: HTTPExchange) -> Bool {
      exchanges.withLock { state in
        state.known[ObjectIdentifier(exchange)] = exchange
        return !state.isStopping
      }
    }

    func forget(_ exchange: HTTPExchange) {
      _ = exchanges.withLock { $0.known.removeValue(forKey: ObjectIdentifier(exchange)) }
    }

    func stopping() -> [HTTPExchange] {
      exchanges.withLock { state in
        state.isStopping = true
        return Array(state.known.values)
      }
    }
  }

  private let context: Context
  /// Where libmicrohttpd's daemon is, as a number since a pointer is not Sendable; 0: stopped.
  private let daemon: Mutex<UInt>
  /// Where it really serves, with the assigned port in place of 0.
  public let address: HTTPAddress

  /// - Throws: What the system says of the address.
  public init(
    _ address: HTTPAddress, _ settings: Settings, handler: @escaping Handler
  ) throws(HTTPServerError) {
    #if WITHOUT_TLS
      if settings.certificate != nil {
        throw HTTPServerError(
          text: "this build, which needs no libraries, has no TLS: serve on 127.0.0.1 behind a "
            + "server that has it, or build from the sources")
      }
    #endif
    let context = Context(handler, bodyBytes: settings.bodyBytes)
    self.context = context
    let pointer = unsafe Unmanaged.passUnretained(context).toOpaque()
    var found: OpaquePointer?
    var code: Int32 = 0
    // libmicrohttpd takes texts in as it starts.
    let problem = unsafe address.withSocketAddress { socketAddress in
      unsafe found = Self.start(socketAddress, settings, pointer)
      code = errno
    }
    if let problem { throw problem }
    guard let started = unsafe found else {
      let isTLS = settings.certificate != nil
      let reason = unsafe code == 0 ? "" : ": \(String(cString: strerror(code)))"
      throw HTTPServerError(
        text: "\(address) cannot be served\(reason)"
          + (isTLS ? "; or the certificate and its key do not fit each other" : ""))
    }
    daemon = Mutex(UInt(bitPattern: started))
    let port = unsafe UInt16(truncatingIfNeeded: op_http_port(started))
    self.address = HTTPAddress(host: address.host, port: port == 0 ? address.port : port)
  }

  deinit { stop() }

  /// Ends all connections, also those that wait for an answer.
  public func stop() {
    let number = daemon.withLock { daemon in
      defer { daemon = 0 }
      return daemon
    }
    guard let pointer = unsafe OpaquePointer(bitPattern: number) else { return }
    // libmicrohttpd ends the process if one is suspended when it stops.
    for exchange in context.stopping() { exchange.giveUp() }
    unsafe MHD_stop_daemon(pointer)
  }

  private static func start(
    _ address: UnsafePointer<sockaddr>, _ settings: Settings, _ context: UnsafeMutableRawPointer
  ) -> OpaquePointer? {
    errno = 0
    return unsafe op_http_start(
      address, settings.connections, settings.idleSeconds, settings.certificate?.chain,
      settings.certificate?.key,
      { context, connection, url, method, _, piece, size, own in
        unsafe HTTPServer.advance(context, connection, url, method, piece, size, own)
      },
      { context, _, own, _ in unsafe HTTPServer.end(context, own) }, context)
  }

  // MARK: - On libmicrohttpd's thread

  /// Called for the head of a request, for each piece of its body, for its end, and again after the
  /// connection was suspended.
  private static func advance(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ url: UnsafePointer<CChar>?, _ method: UnsafePointer<CChar>?,
    _ piece: UnsafePointer<CChar>?, _ size: UnsafeMutablePointer<Int>?,
    _ own: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
  ) -> MHD_Result {
    guard let context = unsafe context, let own = unsafe own, let size = unsafe size else {
      return .NO
    }
    let server = unsafe Unmanaged<Context>.fromOpaque(context).takeUnretainedValue()
    guard let known = unsafe own.pointee else {
      let request = unsafe request(connection, url, method)
      let exchange = HTTPExchange(request, mostBytes: server.bodyBytes)
      guard server.begin(exchange) else {
        server.forget(exchange)
        return .NO
      }
      unsafe own.pointee = unsafe Unmanaged.passRetained(exchange).toOpaque()
      return .YES
    }
    let exchange = unsafe Unmanaged<HTTPExchange>.fromOpaque(known).takeUnretainedValue()
    if unsafe size.pointee > 0 {
      unsafe exchange.arrive(UnsafeBufferPointer(start: piece, count: size.pointee))
      unsafe size.pointee = 0
      return .YES
    }
    if let request = exchange.complete() { server.handler(request, exchange) }
    return unsafe exchange.proceed(connection)
  }

  private static func request(
    _ connection: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ method: UnsafePointer<CChar>?
  ) -> HTTPRequest {
    var request = unsafe HTTPRequest(
      method: method.map { unsafe String(cString: $0) } ?? "",
      path: url.map { unsafe String(cString: $0) } ?? "")
    request.query = unsafe values(connection, .GET_ARGUMENT_KIND)
    request.headers = unsafe values(connection, .HEADER_KIND)
    return request
  }

  private static func values(
    _ connection: OpaquePointer?, _ kind: MHD_ValueKind
  ) -> [(name: String, value: String)] {
    var found: [(name: String, value: String)] = []
    unsafe withUnsafeMutablePointer(to: &found) { found in
      _ = unsafe MHD_get_connection_values(
        connection, kind,
        { found, _, name, value in
          guard let name = unsafe name else { return .YES }
          let text = unsafe value.map { unsafe String(cString: $0) } ?? ""
          unsafe found?.assumingMemoryBound(to: [(name: String, value: String)].self).pointee
            .append((unsafe String(cString: name), text))
          return .YES
        }, found)
    }
    return found
  }

  private static func end(
    _ context: UnsafeMutableRawPointer?, _ own: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
  ) {
    guard let context = unsafe context, let own = unsafe own, let known = unsafe own.pointee else {
      return
    }
    unsafe own.pointee = nil
    let server = unsafe Unmanaged<Context>.fromOpaque(context).takeUnretainedValue()
    let exchange = unsafe Unmanaged<HTTPExchange>.fromOpaque(known)
    unsafe exchange.takeUnretainedValue().end()
    unsafe server.forget(exchange.takeUnretainedValue())
    unsafe exchange.release()
  }
}
