// The pages of workers and of queues.

public import OpClusterModel

public struct WorkersView: Sendable {
  public var rows: [WorkerRow]
  public init(rows: [WorkerRow]) { self.rows = rows }

  private static let mostRows = 500

  public var page: WebPage {
    WebPage(
      title: "Workers", place: .workers, panels: [WebPanel("workers", list)],
      live: "/live?page=/workers")
  }

  private func list(_ html: inout HTMLText) {
    html.element("h1", "Workers")
    guard !rows.isEmpty else {
      html.element("p") { html in
        html.words("None has joined yet. Start one: ")
        html.element("code", "opworker serve --coordinator …")
      }
      return
    }
    html.element("div", [("class", "scroll")]) { html in
      html.element("table") { html in
        html.heads(
          ["worker", "state", "executing", "cpus", "", "memory", "", "labels", "heard"],
          numeric: [2])
        html.element("tbody") { html in
          for row in rows.prefix(Self.mostRows) { tableRow(row, &html) }
        }
      }
    }
    if rows.count > Self.mostRows {
      html.element(
        "p", [("class", "faint")], "… and \(shownCount(rows.count - Self.mostRows)) others.")
    }
  }

  private func tableRow(_ row: WorkerRow, _ html: inout HTMLText) {
    html.element("tr") { html in
      html.element("td", row.name)
      html.element("td") { html in
        html.state(row.state.rawValue, row.state == .connected ? .good : .warning)
        if !row.trouble.isEmpty { html.element("div", [("class", "faint")], row.trouble) }
      }
      html.element("td", [("class", "number")], shownCount(row.executing))
      html.element("td", row.processorsInUse)
      html.element("td", [("class", "progress")]) {
        $0.use(row.processorShare, row.processorsInUse)
      }
      html.element("td", row.memoryInUse)
      html.element("td", [("class", "progress")]) { $0.use(row.memoryShare, row.memoryInUse) }
      html.element("td", row.labels.map { "\($0.key)=\($0.value)" }.joined(separator: " "))
      html.element("td", row.lastHeard.map { shownDuration($0) + " ago" } ?? "not yet")
    }
  }
}

public struct QueuesView: Sendable {
  public var rows: [QueueRow]
  public init(rows: [QueueRow]) { self.rows = rows }

  private static let mostRows = 300

  public func page(_ frame: WebFrame) -> WebPage {
    WebPage(
      title: "Queues", place: .queues, panels: [WebPanel("queues") { list(frame, &$0) }],
      live: "/live?page=/queues")
  }

  private func list(_ frame: WebFrame, _ html: inout HTMLText) {
    html.element("h1", "Queues")
    html.element("div", [("class", "scroll")]) { html in
      html.element("table") { html in
        html.heads(
          ["queue", "state", "operations", "executing", "limit"] + (frame.mayAct ? [""] : []),
          numeric: [2, 3])
        html.element("tbody") { html in
          for row in rows.prefix(Self.mostRows) { tableRow(row, frame, &html) }
        }
      }
    }
    if rows.count > Self.mostRows {
      html.element(
        "p", [("class", "faint")], "… and \(shownCount(rows.count - Self.mostRows)) others.")
    }
  }

  private func tableRow(_ row: QueueRow, _ frame: WebFrame, _ html: inout HTMLText) {
    let settings = row.settings
    html.element("tr") { html in
      html.element("td", settings.name)
      html.element("td") { html in
        html.state(
          settings.isSuspended ? "suspended" : "open", settings.isSuspended ? .warning : .plain)
      }
      html.element("td", [("class", "number")], shownCount(row.operationCount))
      html.element("td", [("class", "number")], shownCount(row.executing))
      guard frame.mayAct else {
        html.element("td", settings.maximumConcurrent.map { shownCount($0) } ?? "none")
        return
      }
      html.element("td") { limit(settings, frame, &$0) }
      html.element("td") { html in
        html.action(
          "/act/suspend-queue", settings.isSuspended ? "Resume" : "Suspend",
          [("queue", settings.name), ("suspended", settings.isSuspended ? "no" : "yes")], frame)
      }
    }
  }

  /// The slider reaches four times the limit; a script lets the number follow it, and without one
  /// the number alone is sent.
  private func limit(_ settings: QueueSettings, _ frame: WebFrame, _ html: inout HTMLText) {
    let now = settings.maximumConcurrent
    let most = max(64, Int(clamping: now ?? 0).multipliedReportingOverflow(by: 4).partialValue)
    html.action(
      "/act/queue-limit", "Set", [("queue", settings.name)], kind: "small", frame
    ) { html in
      html.input(
        [
          ("type", "range"), ("min", "0"), ("max", "\(most)"), ("value", "\(now ?? UInt32(0))"),
          ("class", "slider"), ("aria-label", "limit of \(settings.name)"),
        ])
      html.input(
        [
          ("type", "number"), ("name", "limit"), ("min", "0"), ("max", "\(UInt32.max)"),
          ("value", now.map { "\($0)" } ?? ""), ("placeholder", "none"),
          ("aria-label", "limit of \(settings.name), empty for none"),
        ])
    }
  }
}
