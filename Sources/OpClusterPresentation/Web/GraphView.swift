// The page of one graph. Counts and the map of elements follow events; what needs rows (times,
// failures, plots) is as old as the last reading of them.

public import OpClusterModel

public struct GraphView: Sendable {
  /// Follows events.
  public var progress: GraphProgress
  public var elements: ElementStates
  /// As of the last reading.
  public var structure: GraphStructure
  public var waiting: [WhyGroup]
  /// Operations of which the rows were read; fewer than all while the first reading is under way.
  public var rowsRead: Int
  public var now: WallTime

  public init(
    progress: GraphProgress, elements: ElementStates, structure: GraphStructure,
    waiting: [WhyGroup], rowsRead: Int, now: WallTime
  ) {
    self.progress = progress
    self.elements = elements
    self.structure = structure
    self.waiting = waiting
    self.rowsRead = rowsRead
    self.now = now
  }

  private var number: UInt32 { progress.graph.number }
  private static let mostStages = 60
  private static let mostFailures = 4
  /// Rows of a list that are sent at once.
  public static let rowsAtOnce = 100

  /// The panels that follow events; cheap.
  public func livePanels(_ frame: WebFrame) -> [WebPanel] {
    [
      WebPanel("summary") { summary(frame, &$0) }, WebPanel("stages", stages),
      WebPanel("elements") { HeatMap(elements, of: progress.graph).draw(&$0) },
    ]
  }

  /// The panels that come with a reading; they cost the attempts.
  public func readPanels(_ report: GraphReport) -> [WebPanel] {
    var trace = report.trace
    trace.layOut()
    let page = ReportPage(report: report, trace: trace)
    return [
      WebPanel("waiting", waits),
      WebPanel("failures") { html in
        page.failures(atMost: Self.mostFailures, &html)
        guard report.failureCount > 0 else { return }
        let query = ElementStates.Filter(states: [.failed, .timedOut, .lost]).query
        html.element("p") { html in
          html.element("a", [("href", "/graphs/\(number)?\(query)#operations")], "All of them")
        }
      },
      WebPanel("picture") { picture(page, &$0) }, WebPanel("time") { page.overTime(&$0) },
      WebPanel("names") { page.names(&$0) }, WebPanel("path") { page.criticalPath(&$0) },
      WebPanel("workers") { page.workers(&$0) },
    ]
  }

  /// - Parameter first: The first rows of the list.
  public func page(
    _ frame: WebFrame, filter: ElementStates.Filter, first: [OperationRow], read: [WebPanel]
  ) -> WebPage {
    var rest = HTMLText()
    rest.element("section", [("class", "panel"), ("id", "operations")]) { html in
      operations(filter, first, &html)
    }
    var end = HTMLText()
    end.element("section", [("class", "panel")]) { commands(&$0) }
    let address = "/graphs/\(number)" + (filter.query.isEmpty ? "" : "?" + filter.query)
    return WebPage(
      title: "\(number) \(progress.name)", place: .graphs,
      panels: livePanels(frame) + (read.isEmpty ? Self.empty : read),
      inserted: ("failures", rest.text), rest: end.text,
      live: "/live?page=" + percentEncoded(address))
  }

  /// The panels of a reading before the first one.
  private static let empty = [
    "waiting", "failures", "picture", "time", "names", "path", "workers",
  ].map { WebPanel($0) { _ in } }

  // MARK: - Live

  private func summary(_ frame: WebFrame, _ html: inout HTMLText) {
    html.element("h1") { html in
      html.words("\(number)  \(progress.name) ")
      html.state(progress.state.rawValue, progress.state.tone)
    }
    html.element("div", [("class", "wide")]) { $0.bar(parts, of: progress.total) }
    html.element("p") { html in
      html.words(
        "\(shownCount(progress.finished)) of \(shownCount(progress.total, "operation")) ended, "
          + "\(shownCount(progress.executing)) running"
          + (progress.failures > 0 ? ", \(shownCount(progress.failures)) failed" : ""))
      html.words(" · \(progress.elapsed(now))")
    }
    if rowsRead < Int(progress.total) {
      html.element(
        "p", [("class", "faint"), ("role", "status")],
        "Reading: \(shownCount(rowsRead)) of \(shownCount(progress.total)).")
    }
    if frame.mayAct { actions(frame, &html) }
  }

  private var parts: [(count: UInt32, kind: String)] {
    [
      (progress.count(.succeeded), "succeeded"), (progress.failures, "failed"),
      (progress.count(.cancelled).saturatingAdd(progress.count(.skipped)), "cancelled"),
      (progress.executing, "running"),
    ]
  }

  private func actions(_ frame: WebFrame, _ html: inout HTMLText) {
    let graph = ("graph", "\(number)")
    html.element("div", [("class", "actions")]) { html in
      if progress.outcome == nil {
        html.action(
          "/act/suspend", progress.isSuspended ? "Resume" : "Suspend",
          [graph, ("suspended", progress.isSuspended ? "no" : "yes")], frame)
        html.action("/act/priority", "Set priority", [graph], frame) { html in
          html.element("label") { html in
            html.element("span", [("class", "hidden")], "Priority")
            html.choice(
              "priority", Priority.allCases.map { ($0.word, $0.word) }, Priority.normal.word)
          }
        }
        html.question(
          "Cancel…", id: "cancel",
          "What runs is asked to stop, and what waits is not run. This cannot be taken back."
        ) { html in
          html.action("/act/cancel", "Cancel graph \(number)", [graph], kind: "bad", frame)
        }
      } else {
        html.action("/act/retry", "Run again", [graph, ("failed", "no")], frame)
        if progress.failures > 0 {
          html.action(
            "/act/retry", "Run what failed again", [graph, ("failed", "yes")], frame)
        }
      }
    }
  }

  private func stages(_ html: inout HTMLText) {
    html.element("h2", "Names")
    html.element("div", [("class", "scroll")]) { html in
      html.element("table") { html in
        html.heads(["name", "progress", "ended", "running", "failed"], numeric: [2, 3, 4])
        html.element("tbody") { html in
          for stage in shownStages { tableRow(stage, &html) }
        }
      }
    }
    if progress.stages.count > Self.mostStages {
      html.element(
        "p", [("class", "faint")],
        "… and \(shownCount(progress.stages.count - Self.mostStages)) others; those that run or "
          + "failed are shown first.")
    }
  }

  private var shownStages: [GraphProgress.Stage] {
    guard progress.stages.count > Self.mostStages else { return progress.stages }
    func rank(_ stage: GraphProgress.Stage) -> Int {
      if stage.failures > 0 { return 0 }
      if stage.executing > 0 { return 1 }
      return stage.finished < stage.total ? 2 : 3
    }
    let ranked = progress.stages.enumerated()
      .sorted { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }
    return ranked.prefix(Self.mostStages).sorted { $0.offset < $1.offset }.map(\.element)
  }

  private func tableRow(_ stage: GraphProgress.Stage, _ html: inout HTMLText) {
    let query = ElementStates.Filter(stage: stage.name).query
    html.element("tr") { html in
      html.element("td") { html in
        html.element("a", [("href", "/graphs/\(number)?\(query)#operations")], stage.label)
      }
      html.element("td", [("class", "progress")]) { html in
        html.bar(
          [
            (stage.count(.succeeded), "succeeded"), (stage.failures, "failed"),
            (stage.count(.cancelled).saturatingAdd(stage.count(.skipped)), "cancelled"),
            (stage.executing, "running"),
          ], of: stage.total)
      }
      html.element(
        "td", [("class", "number")], "\(shownCount(stage.finished))/\(shownCount(stage.total))")
      html.element(
        "td", [("class", "number")], stage.executing == 0 ? "" : shownCount(stage.executing))
      html.element(
        "td", [("class", "number")], stage.failures == 0 ? "" : shownCount(stage.failures))
    }
  }

  // MARK: - As of the last reading

  private func waits(_ html: inout HTMLText) {
    let groups = waiting.filter { $0.state.position < StateWord.executing.position }
    guard !groups.isEmpty else { return }
    html.element("h2", "Why they wait")
    html.element("ul", [("class", "waits")]) { html in
      for group in groups.prefix(20) {
        html.element("li") { html in
          html.state(group.state.rawValue, group.state.tone)
          let others = group.count > 1 ? " and \(shownCount(group.count - 1)) like it" : ""
          html.words(
            group.shown.isEmpty ? " \(shownCount(group.count))" : " \(group.shown)\(others)")
          for line in group.lines.prefix(4) {
            html.element("div", [("class", "faint")], line.forShell)
          }
        }
      }
    }
  }

  /// Of too many stages a picture shows layers.
  private func picture(_ page: ReportPage, _ html: inout HTMLText) {
    guard structure.stages.count > ReportPage.mostStagesInPicture else {
      return page.picture(&html)
    }
    html.element("h2", "The graph")
    html.element("figure", [("class", "graph")]) { layerPicture(structure, &$0) }
    html.element(
      "p", [("class", "faint")],
      "\(shownCount(structure.stages.count)) names in layers: each waits for those above it.")
  }

  // MARK: - The list

  private func operations(
    _ filter: ElementStates.Filter, _ first: [OperationRow], _ html: inout HTMLText
  ) {
    html.element("h2", "Operations")
    html.element(
      "form",
      [("method", "get"), ("action", "/graphs/\(number)#operations"), ("class", "filter")]
    ) { html in
      html.element("label") { html in
        html.words("State ")
        html.choice(
          "state", [("", "any")] + StateWord.allCases.map { ($0.rawValue, $0.rawValue) },
          filter.states.first?.rawValue ?? "")
      }
      html.element("label") { html in
        html.words("Name ")
        html.choice(
          "name", [("", "any")] + elements.stages.prefix(500).map { ($0.name, $0.name) },
          filter.stage ?? "")
      }
      html.element("button", [("type", "submit")], "Show")
    }
    let count = elements.count(filter)
    html.element("p", [("class", "faint"), ("id", "row-count")], shownCount(count, "operation"))
    html.element(
      "div",
      [
        ("id", "rows"), ("class", "rows"), ("role", "table"), ("aria-label", "Operations"),
        ("tabindex", "0"), ("aria-rowcount", "\(count)"), ("data-count", "\(count)"),
        ("data-source", "/graphs/\(number)/rows?\(filter.query)"),
        ("data-at-once", "\(Self.rowsAtOnce)"),
      ]
    ) { html in
      html.markup(rowsHTML(first, from: 0))
    }
    if count > first.count {
      html.element("noscript") { html in
        html.element(
          "p",
          "Without scripts the first \(shownCount(first.count)) are shown; "
            + "'opbatch ls \(number)' lists all.")
      }
    }
  }

  private func commands(_ html: inout HTMLText) {
    html.element("h2", "The same in a shell")
    html.element("pre") { html in
      html.lines([
        "opbatch watch \(number)", "opbatch ls \(number) --state failed,timed-out,lost",
        "opbatch why \(number)", "opbatch stats \(number)",
        "opbatch report \(number) -o report.html", "opbatch trace \(number) -o trace.json",
      ])
    }
  }
}

/// Some rows of a list, from this position on.
public func rowsHTML(_ rows: [OperationRow], from position: Int) -> String {
  var html = HTMLText()
  html.element("div", [("class", "chunk"), ("role", "rowgroup")]) { html in
    for (offset, row) in rows.enumerated() {
      html.element(
        "div", [("class", "row"), ("role", "row"), ("aria-rowindex", "\(position + offset + 1)")]
      ) { html in
        html.element("span", [("role", "cell"), ("class", "name")]) { operationLink(row, &$0) }
        html.element("span", [("role", "cell")]) { $0.state(row.state.rawValue, row.state.tone) }
        html.element("span", [("role", "cell")], row.workerName)
        html.element("span", [("role", "cell"), ("class", "number")], rowTime(row))
        html.element("span", [("role", "cell"), ("class", "faint")], shortReason(row))
      }
    }
  }
  return html.text
}

private func rowTime(_ row: OperationRow) -> String {
  shownDuration(from: row.startedAt, to: row.finishedAt) ?? ""
}

extension ElementStates.Filter {
  /// For an address; empty for everything.
  public var query: String {
    var parts: [String] = []
    if !states.isEmpty {
      parts.append("state=" + states.map { percentEncoded($0.rawValue) }.joined(separator: ","))
    }
    if let stage { parts.append("name=" + percentEncoded(stage)) }
    return parts.joined(separator: "&")
  }

  /// Understands what a list of ours sends; what is not understood is left out.
  public init(state: String, name: String) {
    self.init(
      states: state.split(separator: ",").prefix(StateWord.allCases.count)
        .compactMap { StateWord(rawValue: String($0)) },
      stage: name.isEmpty ? nil : name)
  }
}
