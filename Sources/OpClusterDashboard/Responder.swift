// One request, from its first look to its answer.

import OpClusterClient
import OpClusterHTTP
import OpClusterModel
import OpClusterPresentation
import OpClusterReading
import OpClusterSystem

struct Responder: Sendable {
  let parts: Dashboard.Parts
  let request: HTTPRequest

  // MARK: - Without the cluster

  /// The answer to what needs nothing of the cluster: assets, sessions, refusals. nil: `answer` has
  /// it.
  func atOnce() -> HTTPResponse? {
    guard ["GET", "HEAD", "POST"].contains(request.method) else {
      return text(405, "only GET and POST are answered here", [("Allow", "GET, HEAD, POST")])
    }
    if parts.settings.address.isLoopback, !parts.settings.isBehindProxy, !isHostLocal {
      // A name that somebody has pointed here.
      return text(421, "this dashboard is served on this machine only: open 127.0.0.1")
    }
    if request.path == "/login", request.method == "POST" {
      let fields = FormFields(String(decoding: request.body, as: UTF8.self))
      return logIn(fields["token"] ?? "", to: "/")
    }
    if let token = request.query("token"), request.method != "POST" {
      return logIn(token, to: request.path)
    }
    guard let route = Route(path: request.path, query: request.query) else {
      return parts.sessions.session(of: request) == nil
        ? logInPage() : html(404, messagePage("There is nothing here."))
    }
    if case .asset(let asset) = route { return answer(asset) }
    guard parts.sessions.session(of: request) != nil else { return logInPage() }
    if case .act = route {
      guard request.method == "POST" else { return text(405, "a form sends this") }
    } else if request.method == "POST" {
      return text(405, "nothing is changed here")
    }
    return nil
  }

  private var isHostLocal: Bool {
    let host = request.header("Host") ?? ""
    let name =
      host.hasPrefix("[") ? host.prefix { $0 != "]" }.dropFirst() : host.prefix { $0 != ":" }
    let isNumber = name.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) }
    return name == "localhost" || name == "::1" || (name.hasPrefix("127.") && isNumber)
  }

  private func logIn(_ token: String, to path: String) -> HTTPResponse {
    guard let cookie = parts.sessions.begin(token) else { return logInPage(isWrong: true) }
    // Only a plain path of ours: "//" would begin another host, a new line another header.
    let isPlain = path.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
        UInt8(ascii: "/"), UInt8(ascii: "-"):
        true
      default: false
      }
    }
    let target = isPlain && path.hasPrefix("/") && !path.hasPrefix("//") ? path : "/"
    return HTTPResponse(303, headers: [cookie, ("Location", target)] + Self.headers, .bytes([]))
  }

  private func logInPage(isWrong: Bool = false) -> HTTPResponse {
    html(401, tokenPage(isWrong: isWrong))
  }

  private func answer(_ asset: Route.Asset) -> HTTPResponse {
    let (body, type) =
      switch asset {
      case .style: (WebAssets.style, "text/css; charset=utf-8")
      case .script: (WebAssets.script, "text/javascript; charset=utf-8")
      case .icon: (WebAssets.icon, "image/svg+xml")
      }
    return HTTPResponse(
      200, headers: [("Content-Type", type)] + Self.headers, .bytes(Array(body.utf8)))
  }

  // MARK: - With the cluster

  func answer() async -> HTTPResponse {
    guard let (id, session) = parts.sessions.session(of: request),
      let route = Route(path: request.path, query: request.query)
    else { return logInPage() }
    let frame = WebFrame(
      cluster: parts.cluster, mayAct: parts.mayAct, formToken: session.formToken)
    do {
      switch route {
      case .overview, .graphs, .graph, .operation, .workers, .queues:
        guard let page = try await page(route, frame) else {
          return html(404, messagePage("The cluster knows nothing of it, or has forgotten it."))
        }
        return html(200, page.html(frame, note: parts.sessions.takeNote(of: id)))
      case .rows(let graph, let filter, let position):
        let (rows, count) = try await parts.watch.watch(graph).rows(filter, from: position)
        return html(200, rowsHTML(rows, from: position), [("X-Row-Count", "\(count)")])
      case .live(let page): return follow(page, frame)
      case .act(let action): return await act(action, session, id)
      case .asset(let asset): return answer(asset)
      }
    } catch {
      return html(502, messagePage("The coordinator does not answer: \(error)"))
    }
  }

  private var now: WallTime { WallTime(milliseconds: WallClock.now()) }

  /// nil: there is no such thing.
  private func page(_ route: Route, _ frame: WebFrame) async throws -> WebPage? {
    let reader = parts.watch.reader
    switch route {
    case .overview: return try await parts.watch.overview(now: now).page
    case .graphs(let listing):
      let (rows, hasMore) = try await reader.listed(listing)
      return GraphsView(listing: listing, rows: rows, hasMore: hasMore, now: now).page
    case .workers: return WorkersView(rows: try await reader.workers()).page
    case .queues: return QueuesView(rows: try await reader.queues()).page(frame)
    case .graph(let graph, let filter):
      return try await known {
        let watch = await parts.watch.watch(graph)
        let (view, read) = try await watch.view(now: now)
        let first = try await watch.rows(filter, from: 0).rows
        return view.page(frame, filter: filter, first: first, read: read)
      }
    case .operation(let graph, let index):
      return try await known {
        let id = OperationID(graph: graph, index: index)
        guard let view = try await reader.operationView(id, now: now) else { return nil }
        var logs: [(stream: String, text: String)] = []
        for stream in LogStream.allCases {
          var position = LogPosition(id, stream)
          let piece = await position.next(of: view.row.attempt, reader)
          logs.append((stream.name, piece?.text ?? ""))
        }
        return view.page(frame, logs: logs)
      }
    case .rows, .live, .asset, .act: return nil
    }
  }

  /// nil for what the coordinator refuses to know.
  private func known(_ body: () async throws -> WebPage?) async throws -> WebPage? {
    do {
      return try await body()
    } catch let error as ClientError {
      guard case .refused = error.kind else { throw error }
      return nil
    }
  }

  private func follow(_ page: Route, _ frame: WebFrame) -> HTTPResponse {
    let viewer = Viewer(parts: parts, route: page, frame: frame)
    return HTTPResponse(
      200,
      headers: [("Content-Type", "text/event-stream; charset=utf-8")] + Self.headers,
      .stream(viewer.begin()))
  }

  private func act(_ action: Route.Action, _ session: Sessions.Session, _ id: String) async
    -> HTTPResponse
  {
    let fields = FormFields(String(decoding: request.body, as: UTF8.self))
    guard Sessions.isSame(fields["form-token"] ?? "", session.formToken), isOriginOurs else {
      return text(403, "this form does not come from a page of this dashboard")
    }
    let done = await ActionOrder(action, fields, parts).carryOut()
    parts.sessions.leave(note: done.note, in: id)
    return HTTPResponse(303, headers: [("Location", done.next)] + Self.headers, .bytes([]))
  }

  /// Browsers say where a form comes from. A server before us may have changed the host.
  private var isOriginOurs: Bool {
    if let site = request.header("Sec-Fetch-Site"), site != "same-origin" { return false }
    guard let origin = request.header("Origin"), !parts.settings.isBehindProxy else { return true }
    return origin.pathNames.last == request.header("Host")
  }

  // MARK: - Answers

  private static let headers: [(name: String, value: String)] = [
    (
      "Content-Security-Policy",
      "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
        + "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "same-origin"), ("X-Frame-Options", "DENY"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
  ]

  private func html(
    _ status: Int, _ body: String, _ more: [(name: String, value: String)] = []
  ) -> HTTPResponse {
    HTTPResponse(
      status, headers: [("Content-Type", "text/html; charset=utf-8")] + more + Self.headers,
      .bytes(Array(body.utf8)))
  }

  private func text(
    _ status: Int, _ body: String, _ more: [(name: String, value: String)] = []
  ) -> HTTPResponse {
    HTTPResponse(
      status, headers: [("Content-Type", "text/plain; charset=utf-8")] + more + Self.headers,
      .bytes(Array((body + "\n").utf8)))
  }
}
