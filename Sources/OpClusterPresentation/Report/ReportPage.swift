// The parts of a report, in the order in which they are read: how it ended, what failed, what it
// looked like over time, what each name cost, and what ran.

import OpClusterModel

struct ReportPage {
  let report: GraphReport
  /// Laid out.
  let trace: GraphTrace
  private let activity: GraphActivity?
  private var statistics: GraphStatistics { report.statistics }
  private var row: GraphRow { statistics.structure.row }

  /// Parts of the time axis.
  private static let parts = 360
  /// Names that have a histogram and a bar; those that ran longest.
  private static let mostNames = 12
  private static let mostSteps = 30
  private static let mostWorkers = 100
  private static let manifestBytes = 128 * 1024
  private static let mostRows = 200
  /// A picture of more is not readable on a page.
  static let mostStagesInPicture = 200

  init(report: GraphReport, trace: GraphTrace) {
    self.report = report
    self.trace = trace
    activity = GraphActivity(trace, parts: Self.parts)
  }

  func head(_ html: inout HTMLText) {
    html.meta([("charset", "utf-8")])
    html.meta([("name", "viewport"), ("content", "width=device-width")])
    html.meta(
      [
        ("http-equiv", "Content-Security-Policy"),
        ("content", "default-src 'none'; style-src 'unsafe-inline'"),
      ])
    html.element("title", "\(row.graph.number) \(row.name): \(row.state.rawValue)")
    html.element("style") { $0.markup(reportStyle) }
  }

  // MARK: - How it ended

  func summary(_ html: inout HTMLText) {
    html.element("h1", "\(row.graph.number)  \(row.name)")
    html.element("p") { html in
      html.element("span", [("class", "state \(stateClass)")], row.state.rawValue)
      html.words(": \(shownCount(row.counts.total, "operation")), \(row.counts.sentence())")
    }
    html.element("dl") { html in
      pair("submitted", moment(row.submittedAt), &html)
      pair("finished", moment(row.finishedAt), &html)
      pair("took", statistics.span.map { shownDuration(milliseconds: $0) }, &html)
      pair("ran", statistics.ranSentence, &html)
      pair("waited", statistics.waitedSentence, &html)
      let processor = statistics.stages.reduce(Int64(0)) { $0 &+ $1.processorTime }
      pair(
        "processors", processor == 0 ? nil : shownDuration(milliseconds: processor) + " busy",
        &html)
      pair("repeated", repeatedSentence, &html)
      for label in row.labels { pair(label.key, label.value, &html) }
    }
  }

  private var stateClass: String {
    switch row.state.tone {
    case .good: "good"
    case .bad: "bad"
    case .active, .warning, .plain, .faint, .strong: "other"
    }
  }

  private var repeatedSentence: String? {
    let repeated = statistics.stages.reduce(UInt64(0)) { $0 &+ $1.repeated }
    return repeated == 0 ? nil : shownCount(repeated, "further attempt")
  }

  private func pair(_ name: String, _ value: String?, _ html: inout HTMLText) {
    guard let value else { return }
    html.element("dt", name)
    html.element("dd", value)
  }

  /// In UTC, since a report goes to other places.
  private func moment(_ time: WallTime) -> String? {
    guard time != .unknown else { return nil }
    let civil = CivilTime(time)
    return "\(civil.date) \(civil.clock) UTC"
  }

  // MARK: - Sections

  func sections(_ html: inout HTMLText) {
    failures(&html)
    picture(&html)
    overTime(&html)
    names(&html)
    criticalPath(&html)
    workers(&html)
    work(&html)
    manifest(&html)
  }

  private func section(_ title: String, _ html: inout HTMLText, _ body: (inout HTMLText) -> Void) {
    html.element("section") { html in
      html.element("h2", title)
      body(&html)
    }
  }

  /// What is not shown of many.
  private func others(
    than shown: Int, of count: Int, begin: String = "… and", _ html: inout HTMLText
  ) {
    guard count > shown else { return }
    html.element("p", [("class", "faint")], "\(begin) \(shownCount(count - shown)) others.")
  }

  /// - Parameter limit: Others are counted.
  func failures(atMost limit: Int = .max, _ html: inout HTMLText) {
    guard report.failureCount > 0 else { return }
    let shown = report.failures.prefix(limit)
    section("What failed", &html) { html in
      for failure in shown {
        html.element("h3", failure.name)
        var words = failure.sentence
        if !failure.worker.isEmpty { words += ", at \(failure.worker)" }
        if failure.attempt > 1 { words += ", attempt \(failure.attempt)" }
        if let moment = moment(failure.finishedAt) { words += ", \(moment)" }
        html.element("p", words)
        if !failure.lines.isEmpty { html.element("pre") { $0.lines(failure.lines) } }
      }
      let others = report.failureCount - UInt64(shown.count)
      if others > 0 {
        html.element("p", [("class", "faint")], "… and \(shownCount(others, "further failure")).")
      }
    }
  }

  func picture(_ html: inout HTMLText) {
    let stages = statistics.structure.stages.count
    guard stages > 1, stages <= Self.mostStagesInPicture,
      let picture = GraphSVG.document(statistics.structure)
    else { return }
    section("The graph", &html) { html in
      html.element("figure", [("class", "graph")]) { html in
        // Without the head of a document of its own.
        html.markup(picture.firstIndex(of: "\n").map { String(picture[$0...]) } ?? "")
      }
    }
  }

  func overTime(_ html: inout HTMLText) {
    guard let activity else { return }
    section("Over time", &html) { html in
      figure(activityPlot(activity), "Operations at once.", ["running", "waiting"], &html)
      let kinds = ["succeeded", "failed", "retried", "cancelled", "running"]
        .filter { kind in trace.slices.contains { $0.kind == kind } }
      figure(
        timelinePlot(trace, activity),
        isDetailed(trace, activity)
          ? "Attempts by worker." : "How busy the workers were that ran most: darker is more.",
        isDetailed(trace, activity) ? kinds : [], &html)
    }
  }

  private func figure(
    _ plot: (inout HTMLText) -> Void, _ caption: String, _ keys: [String], _ html: inout HTMLText
  ) {
    html.element("figure") { html in
      plot(&html)
      html.element("figcaption") { html in
        html.words(caption)
        for key in keys {
          html.empty("span", [("class", "key \(key)")])
          html.words(key)
        }
      }
    }
  }

  func names(_ html: inout HTMLText) {
    guard !statistics.stages.isEmpty else { return }
    section("By name", &html) { html in
      html.element("div", [("class", "scroll")]) { html in
        html.table(
          ["name", "ended", "failed", "median", "95 %", "longest", "waited", "cpus", "memory"],
          numeric: [1, 2, 3, 4, 5, 6, 7, 8],
          statistics.stages.prefix(Self.mostRows).map(\.reportCells))
      }
      others(than: Self.mostRows, of: statistics.stages.count, &html)
      html.element(
        "p", [("class", "faint")],
        "Waited: for a limit or a worker, a median. Cpus and memory: used/asked for; memory is the "
          + "most that one used.")
      advice(&html)
      let longest = statistics.stages.filter { $0.ran.count > 1 }
        .sorted { $0.ran.sum > $1.ran.sum }.prefix(Self.mostNames)
      html.element("div", [("class", "columns")]) { html in
        for stage in longest {
          figure(runTimePlot(stage.ran), "\(stage.name): how long they ran.", [], &html)
        }
      }
      let memory = Array(
        statistics.stages.filter { $0.peakMemory > 0 }
          .sorted { $0.peakMemory > $1.peakMemory }.prefix(Self.mostNames))
      if !memory.isEmpty {
        figure(
          memoryPlot(memory), "The most memory that one used, in what it asked for.", [], &html)
      }
    }
  }

  private func advice(_ html: inout HTMLText) {
    let advice = statistics.stages.flatMap { stage in
      stage.advice.map { "\(stage.name) \($0.sentence)." }
    }
    for sentence in advice.prefix(Self.mostNames) { html.element("p", sentence) }
    others(than: Self.mostNames, of: advice.count, &html)
  }

  func criticalPath(_ html: inout HTMLText) {
    let path = statistics.criticalPath()
    guard path.count > 1 else { return }
    section("Critical path", &html) { html in
      html.element(
        "p",
        "The chain of dependencies that ended last; to be faster, shorten it. "
          + statistics.sentence(of: path))
      html.element("div", [("class", "scroll")]) { html in
        html.table(
          ["operation", "waited", "ran"], numeric: [1, 2],
          path.suffix(Self.mostSteps).map { step in
            [
              step.name, shownDuration(milliseconds: step.waited),
              shownDuration(milliseconds: step.ran),
            ]
          })
      }
      others(than: Self.mostSteps, of: path.count, begin: "… after", &html)
      if let note = statistics.incompleteness { html.element("p", [("class", "faint")], note) }
    }
  }

  func workers(_ html: inout HTMLText) {
    guard let activity else { return }
    section("Workers", &html) { html in
      let workers = activity.workers.sorted { ($1.ran, $0.name) < ($0.ran, $1.name) }
      html.element("div", [("class", "scroll")]) { html in
        html.table(
          ["worker", "attempts", "failed", "at once", "ran", "processors"],
          numeric: [1, 2, 3, 4, 5],
          workers.prefix(Self.mostWorkers).map { worker in
            let processor = Int64(clamping: worker.processor / 1_000)
            return [
              worker.name.isEmpty ? "the coordinator" : worker.name, shownCount(worker.attempts),
              worker.failures == 0 ? "" : shownCount(worker.failures), shownCount(worker.rows),
              shownDuration(milliseconds: worker.ran),
              processor == 0 ? "" : shownDuration(milliseconds: processor),
            ]
          })
      }
      others(than: Self.mostWorkers, of: workers.count, &html)
    }
  }

  func work(_ html: inout HTMLText) {
    guard !report.works.isEmpty else { return }
    section("What ran", &html) { html in
      for work in report.works {
        html.element("h3", work.name)
        html.element("pre") { $0.lines(safeLines(work.line)) }
      }
    }
  }

  private func manifest(_ html: inout HTMLText) {
    guard let manifest = report.manifest else { return }
    section("Manifest", &html) { html in
      let shown = String(decoding: manifest.utf8.prefix(Self.manifestBytes), as: UTF8.self)
      html.element("pre") { $0.lines(safeLines(shown)) }
      if manifest.utf8.count > Self.manifestBytes {
        html.element("p", [("class", "faint")], "… \(shownSize(manifest.utf8.count)) in all.")
      }
    }
  }

  func foot(_ html: inout HTMLText) {
    let versions = report.versions.joined(separator: ", ")
    html.element("p", [("class", "faint")]) { html in
      html.words("Made \(moment(report.madeAt) ?? "") by OpCluster")
      if !versions.isEmpty { html.words(": " + versions) }
      html.words(".")
    }
  }
}

extension StageStatistics {
  fileprivate var reportCells: [String] {
    func time(_ milliseconds: Int64?) -> String {
      milliseconds.map { shownDuration(milliseconds: $0) } ?? ""
    }
    return [
      name, shownCount(counts.finished), counts.failures == 0 ? "" : shownCount(counts.failures),
      time(ran.quantile(0.5)), time(ran.quantile(0.95)), time(ran.count == 0 ? nil : ran.longest),
      time(waitedForStart.quantile(0.5)), processorsOfAsked, memoryOfAsked,
    ]
  }
}
