// Somebody who looks at a page: gets each panel again when it has changed, at most once a second,
// and pieces of logs as they are written. Whoever comes back after a break gets all panels, so that
// nothing is missed.

import OpClusterClient
import OpClusterHTTP
import OpClusterModel
import OpClusterPresentation
import OpClusterReading
import OpClusterSystem
import Synchronization

final class Viewer: Sendable {
  private let parts: Dashboard.Parts
  private let route: Route
  private let frame: WebFrame

  /// Between two looks.
  private static let pause = Duration.seconds(1)
  /// A sign of life for proxies, and the only way to notice that a reader has gone.
  private static let silence = Duration.seconds(15)
  /// Of what no event tells: memory, heartbeats, times.
  private static let oldest = Duration.seconds(5)

  init(parts: Dashboard.Parts, route: Route, frame: WebFrame) {
    self.parts = parts
    self.route = route
    self.frame = frame
  }

  /// Returns the stream of its changes.
  func begin() -> HTTPStream {
    let stopper = Stopper()
    let stream = HTTPStream { stopper.stop() }
    let task = Task { await follow(stream) }
    stopper.set { task.cancel() }
    return stream
  }

  /// What was sent so far.
  private struct Sent {
    var panels: [String: String] = [:]
    var version: UInt64 = 0
    var rowsVersion: UInt64 = 0
    var lookedAt = ContinuousClock.now - .seconds(3_600)
    var spokeAt = ContinuousClock.now
    var problem: String?
    var logs: [LogPosition] = []
    /// Whether an operation had ended at the last look, and its logs were read to their ends.
    var hasEnded = false
  }

  private func follow(_ stream: HTTPStream) async {
    var sent = Sent()
    if case .operation(let graph, let index) = route {
      let id = OperationID(graph: graph, index: index)
      sent.logs = LogStream.allCases.map { LogPosition(id, $0) }
    }
    var isOpen = stream.send("retry: 2000\n\n".utf8)
    while isOpen, !Task.isCancelled {
      do {
        isOpen = try await look(stream, &sent)
        if sent.problem != nil {
          sent.problem = nil
          isOpen = isOpen && send(stream, "state", &sent) { $0.field("isReached", true) }
        }
      } catch {
        let words = "\(error)"
        if sent.problem != words, !Task.isCancelled {
          sent.problem = words
          isOpen = send(stream, "state", &sent) { json in
            json.field("isReached", false)
            json.field("words", words)
          }
        }
      }
      if ContinuousClock.now - sent.spokeAt > Self.silence {
        sent.spokeAt = .now
        isOpen = isOpen && stream.send(": here\n\n".utf8)
      }
      try? await Task.sleep(for: Self.pause)
    }
    stream.end()
  }

  private func send(
    _ stream: HTTPStream, _ event: String, _ sent: inout Sent,
    _ body: (inout JSONText) -> Void
  ) -> Bool {
    var json = JSONText()
    json.object(body)
    sent.spokeAt = .now
    return stream.send("event: \(event)\ndata: \(json.text)\n\n".utf8)
  }

  private func send(_ panels: [WebPanel], _ stream: HTTPStream, _ sent: inout Sent) -> Bool {
    for panel in panels where sent.panels[panel.name] != panel.html {
      sent.panels[panel.name] = panel.html
      let isOpen = send(stream, "panel", &sent) { json in
        json.field("name", panel.name)
        json.field("html", panel.html)
      }
      if !isOpen { return false }
    }
    return true
  }

  // MARK: - One look

  /// Returns false if nobody reads any more.
  private func look(_ stream: HTTPStream, _ sent: inout Sent) async throws -> Bool {
    let now = WallTime(milliseconds: WallClock.now())
    let reader = parts.watch.reader
    switch route {
    case .graph(let graph, _): return try await look(at: graph, now, stream, &sent)
    case .operation(let graph, let index):
      let id = OperationID(graph: graph, index: index)
      // What has ended changes no more; times are told as moments.
      guard !sent.hasEnded else { return true }
      guard let view = try await reader.operationView(id, now: now) else { return true }
      var hasNews = false
      // So many at once: who writes faster is shown later, and never more than that.
      for at in sent.logs.indices.flatMap({ Array(repeating: $0, count: 8) }) {
        guard view.row.attempt > 0,
          let piece = await sent.logs[at].next(of: view.row.attempt, reader)
        else { continue }
        hasNews = true
        let isOpen = send(stream, "log", &sent) { json in
          json.field("stream", piece.stream.name)
          json.field("isAgain", piece.isAgain)
          json.field("text", piece.text)
        }
        if !isOpen { return false }
      }
      sent.hasEnded = view.row.outcome != nil && !hasNews
      return send(view.panels(frame), stream, &sent)
    case .overview:
      return send(try await parts.watch.overview(now: now).page.panels, stream, &sent)
    case .workers:
      return send(WorkersView(rows: try await reader.workers()).page.panels, stream, &sent)
    case .queues:
      return send(QueuesView(rows: try await reader.queues()).page(frame).panels, stream, &sent)
    case .graphs(let listing):
      // It costs the rows that are searched.
      guard ContinuousClock.now - sent.lookedAt > Self.oldest else { return true }
      sent.lookedAt = .now
      let (rows, hasMore) = try await reader.listed(listing)
      let page = GraphsView(listing: listing, rows: rows, hasMore: hasMore, now: now).page
      return send(page.panels.filter { $0.name == "list" }, stream, &sent)
    case .rows, .live, .asset, .act: return false
    }
  }

  private func look(
    at graph: GraphID, _ now: WallTime, _ stream: HTTPStream, _ sent: inout Sent
  ) async throws -> Bool {
    let watch = await parts.watch.watch(graph)
    try await parts.watch.checkAnswers()
    if let problem = await parts.watch.problem { throw HTTPServerError(text: problem) }
    let version = await watch.version
    let isOld = ContinuousClock.now - sent.lookedAt > Self.oldest
    guard version != sent.version || isOld else { return true }
    sent.version = version
    sent.lookedAt = .now
    let (view, read) = try await watch.view(now: now)
    guard send(view.livePanels(frame) + read, stream, &sent) else { return false }
    let rowsVersion = await watch.rowsVersion
    guard rowsVersion != sent.rowsVersion else { return true }
    sent.rowsVersion = rowsVersion
    return send(stream, "rows", &sent) { $0.field("version", rowsVersion) }
  }
}

/// Ends something once, whichever comes first: the wish to end it, or the knowledge of how.
private final class Stopper: Sendable {
  private struct State {
    var isStopped = false
    var stop: (@Sendable () -> Void)?
  }
  private let state = Mutex(State())

  func set(_ stop: @escaping @Sendable () -> Void) {
    let isStopped = state.withLock { state in
      state.stop = stop
      return state.isStopped
    }
    if isStopped { stop() }
  }

  func stop() {
    let stop = state.withLock { state in
      state.isStopped = true
      return state.stop
    }
    stop?()
  }
}
