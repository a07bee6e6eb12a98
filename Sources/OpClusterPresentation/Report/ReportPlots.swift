// The plots of a report: what ran and waited over time, who ran what when, how long operations of a
// name ran, and how much memory they used of what they asked for.

import OpClusterModel

/// How many ran and waited at once, over time.
func activityPlot(_ activity: GraphActivity) -> (inout HTMLText) -> Void {
  let plot = Plot(height: 150)
  let (running, waiting) = (activity.running.averages, activity.waiting.averages)
  let together = zip(running, waiting).map { $0 + $1 }
  let most = max(together.max() ?? 0, 0.001)
  return plot.draw("How many operations ran and waited, over time") { html in
    plot.counts(most, &html)
    plot.times(activity.span, &html)
    html.empty("path", [("class", "waiting"), ("d", plot.area(together, most))])
    html.empty("path", [("class", "running"), ("d", plot.area(running, most))])
    plot.line(from: (plot.left, plot.bottom), to: (plot.x(1), plot.bottom), "axis", &html)
  }
}

extension Plot {
  /// The outline of steps from the ground.
  func area(_ values: [Double], _ most: Double) -> String {
    var path = "M\(plotNumber(left)) \(plotNumber(bottom))"
    for (at, value) in values.enumerated() {
      let height = plotNumber(y(value / most))
      path += "V" + height + "H" + plotNumber(x(Double(at + 1) / Double(values.count)))
    }
    return path + "V\(plotNumber(bottom))Z"
  }
}

/// Who ran what when: a row for each that a worker ran at once, a box for each attempt; of many
/// attempts, how busy each worker was. Costs what is drawn, after the attempts are counted.
func timelinePlot(_ trace: GraphTrace, _ activity: GraphActivity) -> (inout HTMLText) -> Void {
  isDetailed(trace, activity) ? attemptTimeline(trace, activity) : busyTimeline(activity)
}

/// Whether a timeline shows each attempt.
func isDetailed(_ trace: GraphTrace, _ activity: GraphActivity) -> Bool {
  trace.slices.count <= Timeline.mostAttempts && activity.rows <= Timeline.mostRows
}

private enum Timeline {
  /// A picture of more is as large as the rest of the report, and shows no single one.
  static let mostAttempts = 3_000
  static let mostRows = 96
  static let mostWorkers = 64
  static let left = 120.0
  /// Letters of a name that have room there.
  static let nameLength = 17
}

private func attemptTimeline(
  _ trace: GraphTrace, _ activity: GraphActivity
) -> (inout HTMLText) -> Void {
  let gap = 6.0
  let rowHeight = max(3, min(14, 420 / Double(max(1, activity.rows))))
  let height = Double(activity.rows) * rowHeight + Double(activity.workers.count) * gap
  let plot = Plot(left: Timeline.left, height: height)
  let span = Double(activity.span)
  return plot.draw("Which worker ran which attempt, over time") { html in
    plot.times(activity.span, &html)
    var tops: [Double] = []
    var top = plot.top
    for worker in activity.workers {
      tops.append(top)
      let middle = top + Double(worker.rows) * rowHeight / 2
      plot.label(
        truncate(worker.name, to: Timeline.nameLength), at: (plot.left - 6, middle + 4), "end",
        &html)
      top += Double(worker.rows) * rowHeight + gap
    }
    for slice in trace.slices {
      let from = plot.x((Double(slice.start) - Double(activity.start)) / span)
      let to = plot.x((Double(slice.end) - Double(activity.start)) / span)
      let name = trace.structure.name(of: slice.index)
      let attempt = slice.attempt > 1 ? ", attempt \(slice.attempt)" : ""
      let time = WallTime(milliseconds: slice.end) - WallTime(milliseconds: slice.start)
      plot.box(
        x: from, y: tops[slice.worker] + Double(slice.lane) * rowHeight, width: max(0.7, to - from),
        height: rowHeight - (rowHeight > 5 ? 1 : 0.3), slice.kind,
        "\(name)\(attempt): \(slice.kind), \(shownDuration(time))", &html)
    }
  }
}

extension GraphTrace.Slice {
  /// The class of its box, and the word that a pointer shows.
  var kind: String {
    if isRunning { return "running" }
    switch outcome {
    case .succeeded: return "succeeded"
    case .cancelled, .skipped: return "cancelled"
    case .failed, .timedOut, .lost: return "failed"
    case nil: return cause == .none ? "succeeded" : "retried"
    }
  }
}

/// A row for each worker, darker the more ran there at once.
private func busyTimeline(_ activity: GraphActivity) -> (inout HTMLText) -> Void {
  let shown = activity.workers.sorted { ($1.ran, $0.name) < ($0.ran, $1.name) }
    .prefix(Timeline.mostWorkers)
  let rowHeight = max(6, min(18, 420 / Double(max(1, shown.count))))
  let plot = Plot(left: Timeline.left, height: Double(shown.count) * rowHeight)
  let most = max(shown.flatMap(\.running.averages).max() ?? 0, 0.001)
  let shades = 5
  return plot.draw("How busy each worker was, over time") { html in
    plot.times(activity.span, &html)
    for (row, worker) in shown.enumerated() {
      let top = plot.top + Double(row) * rowHeight
      plot.label(
        truncate(worker.name, to: Timeline.nameLength), at: (plot.left - 6, top + rowHeight - 3),
        "end", &html)
      // Neighbours of one shade are one box.
      var shadeOfRun = 0
      var begin = 0
      let averages = worker.running.averages
      let parts = Double(averages.count)
      for (at, average) in (averages + [0]).enumerated() {
        let isLast = at == averages.count
        let shade = isLast ? -1 : Int(saturating: (average / most * Double(shades)).rounded(.up))
        if shade == shadeOfRun { continue }
        if shadeOfRun > 0 {
          let (from, to) = (plot.x(Double(begin) / parts), plot.x(Double(at) / parts))
          plot.box(
            x: from, y: top, width: to - from, height: rowHeight - 1,
            "shade\(min(shades, shadeOfRun))", nil, &html)
        }
        (shadeOfRun, begin) = (shade, at)
      }
    }
  }
}

/// How many ran how long, of one name; by logarithmic classes.
func runTimePlot(_ times: TimeSeries) -> (inout HTMLText) -> Void {
  let bars = times.histogram(atMost: 24)
  let plot = Plot(height: 90)
  let most = Double(bars.map(\.count).max() ?? 1)
  let width = plot.areaWidth / Double(max(1, bars.count))
  return plot.draw("How long they ran") { html in
    plot.counts(most, &html)
    for (at, bar) in bars.enumerated() {
      let left = plot.left + Double(at) * width
      let top = plot.y(Double(bar.count) / most)
      let time = shownDuration(milliseconds: bar.longest)
      plot.box(
        x: left + 1, y: top, width: max(1, width - 2), height: plot.bottom - top, "running",
        "up to \(time): \(shownCount(bar.count))", &html)
      if at % max(1, bars.count / 6) == 0 || bars.count <= 8 {
        plot.label(time, at: (left + width / 2, plot.bottom + 15), "middle", &html)
      }
    }
  }
}

/// The most memory that one of each name used, against what it asked for.
func memoryPlot(_ stages: [StageStatistics]) -> (inout HTMLText) -> Void {
  let rowHeight = 22.0
  let plot = Plot(left: 160, height: Double(stages.count) * rowHeight)
  func asked(_ stage: StageStatistics) -> Double { Double(max(0, stage.demand?.memoryBytes ?? 0)) }
  let most = max(1, stages.map { max(asked($0), Double($0.peakMemory)) }.max() ?? 1)
  return plot.draw("Memory used of what was asked for", foot: 4) { html in
    for (at, stage) in stages.enumerated() {
      let top = plot.top + Double(at) * rowHeight
      let used = plot.x(Double(stage.peakMemory) / most) - plot.left
      plot.label(truncate(stage.name, to: 24), at: (plot.left - 6, top + 13), "end", &html)
      if asked(stage) > 0 {
        plot.box(
          x: plot.left, y: top + 2, width: plot.x(asked(stage) / most) - plot.left, height: 16,
          "asked", "asked for \(shownSize(stage.demand?.memoryBytes ?? 0))", &html)
      }
      let isOver = asked(stage) > 0 && Double(stage.peakMemory) > asked(stage)
      plot.box(
        x: plot.left, y: top + 5, width: max(1, used), height: 10, isOver ? "failed" : "running",
        "used \(shownSize(stage.peakMemory))", &html)
    }
  }
}

extension GraphActivity {
  /// Of all workers.
  fileprivate var rows: Int { workers.reduce(0) { $0 + $1.rows } }

  /// Milliseconds; above 0.
  var span: Int64 {
    max(1, (WallTime(milliseconds: end) - WallTime(milliseconds: start)).wholeMilliseconds)
  }
}
