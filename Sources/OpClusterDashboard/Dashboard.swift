// The dashboard: answers each request with a page, a part of one, or the stream of its changes. Who
// it is to the cluster is decided by the key of its connection; who may look, by `Sessions`.

public import OpClusterClient
public import OpClusterHTTP
import OpClusterModel
import OpClusterPresentation
import OpClusterSystem

/// Serves until `stop`.
public final class Dashboard: Sendable {
  /// What all requests need.
  struct Parts: Sendable {
    let settings: DashboardSettings
    let sessions: Sessions
    let watch: ClusterWatch
    let mayAct: Bool
    let cluster: String
  }

  private let server: HTTPServer
  private let following: Task<Void, Never>
  /// Where it really serves.
  public var address: HTTPAddress { server.address }
  /// What to open in a browser.
  public let link: String

  private static let connections: UInt32 = 256
  private static let idleSeconds: UInt32 = 120
  private static let formBytes = 16 << 10

  /// - Parameter connection: Stays open as long as the dashboard.
  /// - Throws: What the system says of the address.
  public init(
    _ settings: DashboardSettings, _ connection: ClusterConnection
  ) async throws(HTTPServerError) {
    if let objection = settings.objection { throw HTTPServerError(text: objection) }
    let watch = ClusterWatch(connection)
    let mayAct = settings.isReadOnly ? false : await watch.reader.mayAct()
    let sessions = Sessions(
      token: settings.token, name: Self.cookieName(settings.address.port),
      isSecure: settings.certificate != nil || settings.isBehindProxy)
    let parts = Parts(
      settings: settings, sessions: sessions, watch: watch, mayAct: mayAct,
      cluster: connection.address)
    server = try HTTPServer(
      settings.address,
      HTTPServer.Settings(
        connections: Self.connections, idleSeconds: Self.idleSeconds, bodyBytes: Self.formBytes,
        certificate: settings.certificate)
    ) { request, exchange in
      let responder = Responder(parts: parts, request: request)
      if let answer = responder.atOnce() { return exchange.answer(answer) }
      Task { exchange.answer(await responder.answer()) }
    }
    following = Task {
      async let pruning: Void = watch.prune()
      await watch.run()
      await pruning
    }
    let scheme = settings.certificate == nil ? "http" : "https"
    let host = server.address.host == "*" ? "127.0.0.1" : server.address.host
    let shown = HTTPAddress(host: host, port: server.address.port)
    link = "\(scheme)://\(shown)/" + (settings.isTokenKnown ? "" : "?token=\(settings.token)")
  }

  /// Cookies of one machine are shared by all ports; their names are not.
  private static func cookieName(_ port: UInt16) -> String {
    "opweb-\(port == 0 ? UInt32.random(in: 1 << 20 ... .max) : UInt32(port))"
  }

  /// A document that leads to a link.
  public static func leadingPage(to link: String) -> String {
    OpClusterPresentation.leadingPage(to: link)
  }

  /// Ends all streams. The connection to the cluster is the caller's.
  public func stop() async {
    following.cancel()
    server.stop()
    _ = await following.value
  }
}
