// Tables and bars that several pages have.

import OpClusterModel

func graphTable(_ rows: some Sequence<GraphRow>, now: WallTime, _ html: inout HTMLText) {
  html.element("div", [("class", "scroll")]) { html in
    html.element("table") { html in
      html.heads(
        ["graph", "name", "state", "progress", "done", "failed", "age"], numeric: [4, 5, 6])
      html.element("tbody") { html in
        for row in rows { graphLine(row, now: now, &html) }
      }
    }
  }
}

private func graphLine(_ row: GraphRow, now: WallTime, _ html: inout HTMLText) {
  html.element("tr") { html in
    html.element("td") { html in
      html.element("a", [("href", "/graphs/\(row.graph.number)")], "\(row.graph.number)")
    }
    html.element("td", row.name)
    html.element("td") { $0.state(row.state.rawValue, row.state.tone) }
    html.element("td", [("class", "progress")]) { $0.bar(row.counts.parts, of: row.counts.total) }
    html.element(
      "td", [("class", "number")],
      "\(shownCount(row.counts.finished))/\(shownCount(row.counts.total))")
    html.element(
      "td", [("class", "number")],
      row.counts.failures == 0 ? "" : shownCount(row.counts.failures))
    html.element(
      "td", [("class", "number")],
      row.submittedAt == .unknown
        ? "" : shownDuration(milliseconds: max(0, (now - row.submittedAt).wholeMilliseconds)))
  }
}

/// Small bars of many workers.
func workerBars(_ rows: some Collection<WorkerRow>, _ html: inout HTMLText) {
  guard !rows.isEmpty else {
    html.element("p") { html in
      html.words("None has joined yet. Start one: ")
      html.element("code", "opworker serve --coordinator …")
    }
    return
  }
  html.element("ul", [("class", "workers")]) { html in
    for row in rows {
      html.element("li") { html in
        html.element("span", [("class", "name")], row.name)
        html.use(row.processorShare, row.processorsInUse + " cpus")
        html.use(row.memoryShare, row.memoryInUse)
        html.element(
          "span", [("class", "faint")],
          row.state == .connected
            ? "\(shownCount(row.executing)) run, \(row.processorsInUse) cpus" : row.state.rawValue)
      }
    }
  }
}

extension WorkerRow {
  private func share(_ free: Int64, _ all: Int64) -> Double {
    all > 0 ? Double(all.saturatingSubtract(free)) / Double(all) : 0
  }
  var processorShare: Double {
    share(free.cpus.tenThousandths, capacity.cpus.tenThousandths)
  }
  var memoryShare: Double { share(free.memoryBytes, capacity.memoryBytes) }
  var processorsInUse: String {
    let all = capacity.cpus.tenThousandths
    let used = max(0, all.saturatingSubtract(free.cpus.tenThousandths))
    return "\(plotNumber(Double(used) / 10_000))/\(plotNumber(Double(all) / 10_000))"
  }
  var memoryInUse: String {
    let used = max(0, capacity.memoryBytes.saturatingSubtract(free.memoryBytes))
    return "\(shownSize(used))/\(shownSize(capacity.memoryBytes))"
  }
}
