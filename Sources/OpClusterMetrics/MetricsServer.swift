// Answers `GET /metrics` over HTTP, by libmicrohttpd: one thread, few connections, nothing else
// served. Who may connect is decided by the address: there are no keys, and nothing to change.

import CHTTP
import Glibc
import Synchronization

/// Serves until `stop` or its end.
public final class MetricsServer: Sendable {
  /// The answer: nil if the figures did not come in time.
  public typealias Figures = @Sendable () -> [MetricFamily]?

  /// What libmicrohttpd passes to the handler; lives as long as the server.
  private final class Handler: Sendable {
    private let ask: Figures
    private let newest = Mutex<(families: [MetricFamily], at: ContinuousClock.Instant)?>(nil)

    init(_ figures: @escaping Figures) { ask = figures }

    /// The newest figures, which are asked for at most so often: whoever may connect could keep
    /// their owner busy otherwise.
    func figures() -> [MetricFamily]? {
      if let known = newest.withLock({ $0 }), .now - known.at < MetricsServer.leastAge {
        return known.families
      }
      guard let families = ask() else { return nil }
      newest.withLock { $0 = (families, .now) }
      return families
    }
  }

  /// Figures may be so old.
  static let leastAge = Duration.milliseconds(200)

  private let handler: Handler
  /// Where libmicrohttpd's daemon is, as a number since a pointer is not Sendable; 0: stopped.
  private let daemon: Mutex<UInt>
  /// Where it really serves, with the assigned port in place of 0.
  public let address: MetricsAddress

  /// - Parameter figures: Called on the server's thread; may block for some seconds.
  /// - Throws: What the system says of the address.
  public init(
    _ address: MetricsAddress, figures: @escaping Figures
  ) throws(MetricsError) {
    let handler = Handler(figures)
    self.handler = handler
    let context = unsafe Unmanaged.passUnretained(handler).toOpaque()
    var found: OpaquePointer?
    var code: Int32 = 0
    let problem = unsafe address.withSocketAddress { socketAddress in
      unsafe found = op_http_start(
        socketAddress, Self.connections, Self.idleSeconds,
        { context, connection, url, method, _, _, _, _ in
          unsafe MetricsServer.answer(context, connection, url, method)
        }, context)
      code = errno
    }
    if let problem { throw problem }
    guard let started = unsafe found else {
      let reason = unsafe String(cString: strerror(code))
      throw MetricsError(text: "\(address) cannot be served: \(reason)")
    }
    daemon = Mutex(UInt(bitPattern: started))
    let port = unsafe UInt16(truncatingIfNeeded: op_http_port(started))
    self.address = MetricsAddress(host: address.host, port: port == 0 ? address.port : port)
  }

  deinit { stop() }

  /// Ends all connections. Waits for an answer that is being made.
  public func stop() {
    let number = daemon.withLock { daemon in
      defer { daemon = 0 }
      return daemon
    }
    if let pointer = unsafe OpaquePointer(bitPattern: number) { unsafe MHD_stop_daemon(pointer) }
  }

  private static let connections: UInt32 = 16
  private static let idleSeconds: UInt32 = 30

  private static func answer(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ url: UnsafePointer<CChar>?, _ method: UnsafePointer<CChar>?
  ) -> MHD_Result {
    guard let context = unsafe context, let url = unsafe url, let method = unsafe method else {
      return .NO
    }
    let handler = unsafe Unmanaged<Handler>.fromOpaque(context).takeUnretainedValue()
    let request = unsafe Request(
      path: String(cString: url), method: String(cString: method),
      accept: MHD_lookup_connection_value(connection, .HEADER_KIND, "Accept")
        .map { unsafe String(cString: $0) })
    let answer = Answer(to: request, handler.figures)
    var body = Array(answer.body.utf8)
    let response = unsafe body.withUnsafeMutableBytes {
      unsafe MHD_create_response_from_buffer($0.count, $0.baseAddress, .RESPMEM_MUST_COPY)
    }
    guard let response = unsafe response else { return .NO }
    defer { unsafe MHD_destroy_response(response) }
    for (name, value) in answer.headers {
      _ = unsafe MHD_add_response_header(response, name, value)
    }
    return unsafe MHD_queue_response(connection, UInt32(answer.status), response)
  }
}

/// A request as far as it matters.
struct Request {
  var path: String
  var method: String
  var accept: String?
}

/// What is answered. Pure but for the figures.
struct Answer: Equatable {
  var status: Int
  var headers: [String: String]
  var body: String

  init(to request: Request, _ figures: () -> [MetricFamily]?) {
    headers = [
      "Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store",
      "X-Content-Type-Options": "nosniff",
    ]
    guard request.method == "GET" || request.method == "HEAD" else {
      (status, body) = (405, "only GET is answered here\n")
      headers["Allow"] = "GET, HEAD"
      return
    }
    guard request.path == "/metrics" else {
      (status, body) = (404, "there is only /metrics here\n")
      return
    }
    guard let families = figures() else {
      (status, body) = (503, "the daemon did not answer in time; it may wait for its disk\n")
      headers["Retry-After"] = "5"
      return
    }
    let format = Exposition(accept: request.accept)
    (status, body) = (200, format.text(families))
    headers["Content-Type"] = format.contentType
  }
}
