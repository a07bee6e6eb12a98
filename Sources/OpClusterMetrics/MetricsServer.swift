// Answers `GET /metrics` over HTTP: few connections, nothing else served. Who may connect is
// decided by the address: there are no keys, and nothing to change.

public import OpClusterHTTP
import Synchronization

/// Serves until `stop` or its end.
public final class MetricsServer: Sendable {
  /// The answer: nil if the figures did not come in time.
  public typealias Figures = @Sendable () -> [MetricFamily]?

  /// Figures may be so old.
  static let leastAge = Duration.milliseconds(200)

  private let server: HTTPServer
  /// Where it really serves, with the assigned port in place of 0.
  public var address: HTTPAddress { server.address }

  /// - Parameter figures: Called on the server's thread; may block for some seconds.
  /// - Throws: What the system says of the address.
  public init(
    _ address: HTTPAddress, figures: @escaping Figures
  ) throws(HTTPServerError) {
    let newest = NewestFigures(figures)
    server = try HTTPServer(address, HTTPServer.Settings(connections: 16, idleSeconds: 30)) {
      request, exchange in
      let answer = Answer(
        to: Request(
          path: request.path, method: request.method, accept: request.header("Accept")),
        newest.figures)
      exchange.answer(
        HTTPResponse(
          answer.status, headers: answer.headers.map { ($0.key, $0.value) },
          .bytes(Array(answer.body.utf8))))
    }
  }

  /// Ends all connections. Waits for an answer that is being made.
  public func stop() { server.stop() }
}

/// The newest figures, which are asked for at most so often: whoever may connect could keep their
/// owner busy otherwise.
private final class NewestFigures: Sendable {
  private let ask: MetricsServer.Figures
  private let newest = Mutex<(families: [MetricFamily], at: ContinuousClock.Instant)?>(nil)

  init(_ figures: @escaping MetricsServer.Figures) { ask = figures }

  func figures() -> [MetricFamily]? {
    if let known = newest.withLock({ $0 }), .now - known.at < MetricsServer.leastAge {
      return known.families
    }
    guard let families = ask() else { return nil }
    newest.withLock { $0 = (families, .now) }
    return families
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
