// The page of one operation: its facts as `opbatch show` has them, why it waits, and its log, which
// follows.

public import OpClusterModel

public struct OperationView: Sendable {
  /// With its command, attempts and readable outputs.
  public var row: OperationRow
  public var command: String?
  public var blocks: [ShownBlock]
  public var files: [StoredFile]
  public var reasons: [Explanation]
  public var now: WallTime

  public init(
    row: OperationRow, command: String?, blocks: [ShownBlock], files: [StoredFile],
    reasons: [Explanation], now: WallTime
  ) {
    self.row = row
    self.command = command
    self.blocks = blocks
    self.files = files
    self.reasons = reasons
    self.now = now
  }

  private var graph: UInt32 { row.id.graph.number }

  public func panels(_ frame: WebFrame) -> [WebPanel] {
    [
      WebPanel("summary") { summary(frame, &$0) }, WebPanel("facts", facts),
      WebPanel("why", why),
    ]
  }

  /// - Parameter logs: The end of each of its logs.
  public func page(_ frame: WebFrame, logs: [(stream: String, text: String)]) -> WebPage {
    var rest = HTMLText()
    for log in logs {
      rest.element("section", [("class", "panel")]) { html in
        html.element("h2", log.stream)
        html.element(
          "pre",
          [
            ("id", "log-\(log.stream)"), ("class", "log"), ("tabindex", "0"), ("role", "log"),
            ("aria-label", log.stream),
          ]
        ) { $0.lines(safeLines(log.text)) }
      }
    }
    rest.element("section", [("class", "panel")]) { commands(&$0) }
    let path = OperationPath(row).description
    return WebPage(
      title: path, place: .graphs, panels: panels(frame), rest: rest.text,
      live: "/live?page=" + percentEncoded("/graphs/\(graph)/operations/\(row.id.index)"))
  }

  private func summary(_ frame: WebFrame, _ html: inout HTMLText) {
    html.element("p") { html in
      html.element("a", [("href", "/graphs/\(graph)")], "Graph \(graph)")
    }
    html.element("h1") { html in
      html.words(OperationPath(row).description + " ")
      html.state(row.state.rawValue, row.state.tone)
    }
    guard frame.mayAct, row.outcome == nil else { return }
    let fields = [("graph", "\(graph)"), ("operation", "\(row.id.index)")]
    html.element("div", [("class", "actions")]) { html in
      html.action("/act/priority", "Set priority", fields, frame) { html in
        html.element("label") { html in
          html.element("span", [("class", "hidden")], "Priority")
          html.choice(
            "priority", Priority.allCases.map { ($0.word, $0.word) }, row.priority.word)
        }
      }
      html.question(
        "Cancel…", id: "cancel", "It is asked to stop, or is not run. This cannot be taken back."
      ) { html in
        html.action("/act/cancel", "Cancel this operation", fields, kind: "bad", frame)
      }
    }
  }

  private func facts(_ html: inout HTMLText) {
    var style = Style()
    style.now = now
    html.page(
      operationFacts(row, command: command, blocks: blocks, files: files, style),
      withoutFirst: 2)
  }

  private func why(_ html: inout HTMLText) {
    let lines = reasons.flatMap(\.lines)
    guard row.outcome == nil, row.state != .executing, !lines.isEmpty else { return }
    html.element("h2", "Why it waits")
    html.element("ul") { html in
      for line in lines { html.element("li", line.forShell) }
    }
  }

  private func commands(_ html: inout HTMLText) {
    let path = OperationPath(row).description
    html.element("h2", "The same in a shell")
    html.element("pre") { html in
      html.lines([
        "opbatch show \(path)", "opbatch logs \(path) --follow", "opbatch why \(path)",
        "opbatch cancel \(path)",
      ])
    }
  }
}

extension HTMLText {
  /// What a page of the terminal says, for a browser. Adjacent pairs are one list.
  mutating func page(_ page: Page, withoutFirst count: Int = 0) {
    var pairs: [(name: String, values: [String])] = []
    func close(_ html: inout HTMLText) {
      guard !pairs.isEmpty else { return }
      html.element("dl") { html in
        for pair in pairs {
          html.element("dt", pair.name)
          html.element("dd") { html in
            for (at, value) in pair.values.enumerated() {
              if at > 0 { html.markup("<br>") }
              html.words(value)
            }
          }
        }
      }
      pairs = []
    }
    for entry in page.entries.dropFirst(count) {
      if case .pair(let name, let value, _) = entry {
        if name.isEmpty, let last = pairs.indices.last {
          pairs[last].values.append(value)
        } else {
          pairs.append((name, [value]))
        }
        continue
      }
      close(&self)
      switch entry {
      case .pair, .blank: break
      case .line(let line): element("p", line.pieces.map(\.text).joined())
      case .prose(let text, _, _, _): element("p", text)
      case .quote(let quoted, _, _): element("pre") { $0.lines(quoted) }
      case .table(let table, _):
        element("div", [("class", "scroll")]) { html in
          html.table(
            table.columns.map { $0.title.lowercased() },
            numeric: Set(table.columns.indices.filter { table.columns[$0].isRight }),
            table.rows.map { $0.map(\.text) })
        }
      }
    }
    close(&self)
  }
}
