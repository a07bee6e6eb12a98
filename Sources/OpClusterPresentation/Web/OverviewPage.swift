// The first page: how the cluster is, what it does, what fails.

public import OpClusterModel

/// Some figures of the cluster each second, for plots.
public struct RateHistory: Sendable {
  struct Second: Sendable {
    var ended: UInt32 = 0
    var started: UInt32 = 0
    /// At its end.
    var executing: UInt32?
    var waiting: UInt32?
  }
  /// In seconds.
  public static let length = 600
  private(set) var last: Int64
  /// A ring; the newest is at `last % seconds`.
  private var ring: [Second]

  /// - Parameter now: Seconds of any clock that does not go back.
  public init(now: Int64) {
    last = Self.bounded(now)
    ring = Array(repeating: Second(), count: Self.length)
  }

  /// Costs the seconds that went by, at most all.
  public mutating func pass(to now: Int64) {
    let now = Self.bounded(now)
    guard now > last else { return }
    let gone = min(now - last, Int64(Self.length))
    for second in (now - gone + 1)...now { ring[place(second)] = Second() }
    last = now
  }

  public mutating func count(started: Int, ended: Int, now: Int64) {
    pass(to: now)
    ring[place(last)].started = ring[place(last)].started.saturatingAdd(UInt32(clamping: started))
    ring[place(last)].ended = ring[place(last)].ended.saturatingAdd(UInt32(clamping: ended))
  }

  public mutating func note(executing: UInt32, waiting: UInt32, now: Int64) {
    pass(to: now)
    ring[place(last)].executing = executing
    ring[place(last)].waiting = waiting
  }

  private func place(_ second: Int64) -> Int { Int(second % Int64(Self.length)) }

  /// Any time of a clock becomes one that sums fit around.
  private static func bounded(_ second: Int64) -> Int64 {
    min(max(second, Int64(length)), .max / 2)
  }

  /// From the oldest to the newest; the running second is not over yet.
  var all: [Second] {
    (1..<Self.length).map { ring[place(last - Int64(Self.length - $0))] }
  }

  /// Operations that ended each second, over the last ten.
  public var rate: Double {
    Double(all.suffix(10).reduce(UInt64(0)) { $0 + UInt64($1.ended) }) / 10
  }
}

/// What the first page shows.
public struct OverviewView: Sendable {
  public var figures: TopFigures
  public var rates: RateHistory
  /// Newest first.
  public var failures: [OperationRow]
  public var now: WallTime

  public init(
    figures: TopFigures, rates: RateHistory, failures: [OperationRow], now: WallTime
  ) {
    self.figures = figures
    self.rates = rates
    self.failures = failures
    self.now = now
  }

  private static let mostGraphs = 20
  private static let mostWorkers = 40
  private static let mostQueues = 20

  public var page: WebPage {
    WebPage(
      title: "Overview", place: .overview,
      panels: [
        WebPanel("figures", totals), WebPanel("rates", plots), WebPanel("graphs", graphs),
        WebPanel("failures", failing), WebPanel("workers", workers), WebPanel("queues", queues),
      ], live: "/live?page=/")
  }

  private func totals(_ html: inout HTMLText) {
    let connected = figures.workers.count { $0.state == .connected }
    let executing = figures.workers.reduce(UInt32(0)) { $0.saturatingAdd($1.executing) }
    let more = figures.hasMoreGraphs ? " or more" : ""
    html.element("h1", [("class", "hidden")], "Overview")
    html.element("ul", [("class", "figures")]) { html in
      for (value, words) in [
        (shownCount(executing), "running"),
        (shownRate(rates.rate), "ended each second"),
        (shownCount(figures.graphs.count) + more, "graphs under way"),
        ("\(shownCount(connected)) of \(shownCount(figures.workers.count))", "workers connected"),
      ] {
        html.element("li") { html in
          html.element("strong", value)
          html.words(" " + words)
        }
      }
    }
  }

  private func plots(_ html: inout HTMLText) {
    html.element("h2", "The last ten minutes")
    html.element("div", [("class", "columns")]) { html in
      html.element("figure") { html in
        ratePlot(rates)(&html)
        html.element("figcaption", "Operations that ended each second.")
      }
      html.element("figure") { html in
        queuePlot(rates)(&html)
        html.element("figcaption") { html in
          html.words("Operations at once.")
          for kind in ["running", "waiting"] {
            html.empty("span", [("class", "key \(kind)")])
            html.words(kind)
          }
        }
      }
    }
  }

  private func graphs(_ html: inout HTMLText) {
    html.element("h2", "Graphs under way")
    guard !figures.graphs.isEmpty else {
      html.element("p", [("class", "faint")], "None. ")
      html.element("p") { html in
        html.words("Submit one: ")
        html.element("code", "opbatch submit FILE")
      }
      return
    }
    graphTable(figures.graphs.suffix(Self.mostGraphs).reversed(), now: now, &html)
    if figures.graphs.count > Self.mostGraphs {
      html.element("p") { $0.element("a", [("href", "/graphs?state=active")], "All of them") }
    }
  }

  private func failing(_ html: inout HTMLText) {
    html.element("h2", "What failed last")
    guard !failures.isEmpty else {
      return html.element("p", [("class", "faint")], "Nothing since this page is served.")
    }
    html.element("div", [("class", "scroll")]) { html in
      html.element("table") { html in
        html.heads(["operation", "how", "worker", "when"])
        html.element("tbody") { html in
          for row in failures {
            html.element("tr") { html in
              html.element("td") { operationLink(row, &$0) }
              html.element("td", row.result?.sentence ?? row.state.rawValue)
              html.element("td", row.workerName)
              html.element("td", ago(row.finishedAt, now))
            }
          }
        }
      }
    }
  }

  private func workers(_ html: inout HTMLText) {
    html.element("h2", "Workers")
    workerBars(figures.workers.prefix(Self.mostWorkers), &html)
    if figures.workers.count > Self.mostWorkers {
      html.element("p") { $0.element("a", [("href", "/workers")], "All of them") }
    }
  }

  private func queues(_ html: inout HTMLText) {
    html.element("h2", "Queues")
    html.element("div", [("class", "scroll")]) { html in
      html.table(
        ["queue", "state", "limit", "operations", "executing"], numeric: [2, 3, 4],
        figures.queues.prefix(Self.mostQueues).map { row in
          [
            row.settings.name, row.settings.isSuspended ? "suspended" : "open",
            row.settings.maximumConcurrent.map { shownCount($0) } ?? "none",
            shownCount(row.operationCount), shownCount(row.executing),
          ]
        })
    }
  }
}

// MARK: - Plots

private func ratePlot(_ rates: RateHistory) -> (inout HTMLText) -> Void {
  let plot = Plot(height: 120)
  // Of five seconds each: single ones jump.
  let all = rates.all.map { Double($0.ended) }
  let values = stride(from: 0, to: all.count, by: 5).map { first in
    let part = all[first..<min(all.count, first + 5)]
    return part.reduce(0, +) / Double(part.count)
  }
  let most = max(values.max() ?? 0, 1)
  return plot.draw("Operations that ended each second, over the last ten minutes") { html in
    plot.counts(most, &html)
    plot.ago(RateHistory.length, &html)
    html.empty("path", [("class", "succeeded"), ("d", plot.area(values, most))])
    plot.line(from: (plot.left, plot.bottom), to: (plot.x(1), plot.bottom), "axis", &html)
  }
}

private func queuePlot(_ rates: RateHistory) -> (inout HTMLText) -> Void {
  let plot = Plot(height: 120)
  var (running, waiting): ([Double], [Double]) = ([], [])
  var (lastRunning, lastWaiting) = (0.0, 0.0)
  for second in rates.all {
    lastRunning = second.executing.map(Double.init) ?? lastRunning
    lastWaiting = second.waiting.map(Double.init) ?? lastWaiting
    running.append(lastRunning)
    waiting.append(lastRunning + lastWaiting)
  }
  let most = max(waiting.max() ?? 0, 1)
  return plot.draw("Operations that run and wait, over the last ten minutes") { html in
    plot.counts(most, &html)
    plot.ago(RateHistory.length, &html)
    html.empty("path", [("class", "waiting"), ("d", plot.area(waiting, most))])
    html.empty("path", [("class", "running"), ("d", plot.area(running, most))])
    plot.line(from: (plot.left, plot.bottom), to: (plot.x(1), plot.bottom), "axis", &html)
  }
}

extension Plot {
  /// Marks of minutes that have passed.
  fileprivate func ago(_ seconds: Int, _ html: inout HTMLText) {
    for minutes in stride(from: 0, through: seconds / 60, by: 2) {
      let x = x(1 - Double(minutes * 60) / Double(seconds))
      line(from: (x, top), to: (x, bottom), "grid", &html)
      label(minutes == 0 ? "now" : "−\(minutes)m", at: (x, bottom + 15), "middle", &html)
    }
  }
}
