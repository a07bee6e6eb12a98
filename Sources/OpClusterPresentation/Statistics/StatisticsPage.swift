// `stats 12`: what a graph cost and where its time went, for people.

import OpClusterModel

/// Steps of the critical path that a page shows.
private let stepsOnPage = 20

/// Returns the lines of the page of one graph's statistics.
public func statisticsPage(_ statistics: GraphStatistics, _ style: Style) -> [String] {
  var page = Page(style)
  let row = statistics.structure.row
  page.line(
    StyledLine([
      .init("\(row.graph.number)  ", .strong), .init(safe(row.name), .strong), .init("  "),
      .init(row.state.rawValue, row.state.tone),
    ]))
  page.blank()
  page.pair("operations", shownCount(row.counts.total) + ": " + row.counts.sentence())
  page.pair("took", statistics.span.map { shownDuration(milliseconds: $0) + " to its last end" })
  page.pair("ran", statistics.ranSentence)
  page.pair("waited", statistics.waitedSentence)
  let repeated = statistics.stages.reduce(UInt64(0)) { $0 &+ $1.repeated }
  page.pair("repeated", repeated == 0 ? nil : shownCount(repeated, "attempt"))
  guard !statistics.stages.isEmpty else { return page.lines }
  page.blank()
  page.table(stageTable(statistics.stages))
  let path = statistics.criticalPath()
  if path.count > 1 { add(path, of: statistics, to: &page) }
  if let note = statistics.incompleteness { page.prose(note, indent: 2, .faint) }
  let advice = statistics.stages.flatMap { stage in stage.advice.map { (stage.name, $0) } }
  if !advice.isEmpty {
    page.blank()
    page.line(StyledLine("advice", .strong))
    for (name, advice) in advice { page.prose("\(name) \(advice.sentence)", indent: 2, hanging: 2) }
  }
  return page.lines
}

extension GraphStatistics {
  var ranSentence: String? {
    guard ran > 0 else { return nil }
    var text = shownDuration(milliseconds: ran) + " in all"
    if let parallelism { text += ", \(decimal(parallelism)) at once on average" }
    return text
  }

  var waitedSentence: String? {
    let dependencies = stages.reduce(Int64(0)) { $0 &+ $1.waitedForDependencies.sum }
    let start = stages.reduce(Int64(0)) { $0 &+ $1.waitedForStart.sum }
    guard dependencies > 0 || start > 0 else { return nil }
    return shownDuration(milliseconds: dependencies) + " for dependencies, "
      + shownDuration(milliseconds: start) + " for a limit or a worker, in all"
  }

  /// `12 operations: ran 3m 10s, waited 2.0s`, of a critical path.
  func sentence(of path: [Step]) -> String {
    let (ran, waited) = path.reduce((Int64(0), Int64(0))) { ($0.0 &+ $1.ran, $0.1 &+ $1.waited) }
    return shownCount(path.count, "operation") + ": ran " + shownDuration(milliseconds: ran)
      + ", waited " + shownDuration(milliseconds: waited)
  }

  /// Why the critical path may be another; nil: it is not.
  var incompleteness: String? {
    guard !knowsAllDependencies else { return nil }
    return "of its \(shownCount(structure.elementEdgeCount)) single dependencies only some are "
      + "known here: the critical path may be another"
  }
}

/// One line for each name. MEDIAN, 95% and LONGEST are run times; WAITED is a median.
private func stageTable(_ stages: [StageStatistics]) -> Table {
  var table = Table([
    .text("NAME", shortest: 8), .number("ENDED"), .number("FAILED", dispensable: 2),
    .number("MEDIAN", dispensable: 1), .number("95%", dispensable: 5), .number("LONGEST"),
    .number("WAITED", dispensable: 6), .number("CPUS", dispensable: 4),
    .number("MEMORY", dispensable: 3),
  ])
  for stage in stages {
    func time(_ milliseconds: Int64?) -> StyledLine.Piece {
      .init(milliseconds.map { shownDuration(milliseconds: $0) } ?? "")
    }
    let failures = stage.counts.failures
    table.add([
      .init(stage.name, .strong), .init(shownCount(stage.counts.finished)),
      .init(failures == 0 ? "" : shownCount(failures), .bad), time(stage.ran.quantile(0.5)),
      time(stage.ran.quantile(0.95)), time(stage.ran.count == 0 ? nil : stage.ran.longest),
      time(stage.waitedForStart.quantile(0.5)), .init(stage.processorsOfAsked),
      .init(stage.memoryOfAsked),
    ])
  }
  return table
}

extension StageStatistics {
  /// `0.9/2`; empty: unknown.
  var processorsOfAsked: String {
    guard let used = processorsUsed else { return "" }
    return decimal(used) + (demand.map { "/" + shownAmount($0.cpus) } ?? "")
  }

  /// `0.6 GiB/8 GiB`; empty: unknown.
  var memoryOfAsked: String {
    guard peakMemory > 0 else { return "" }
    let asked = demand?.memoryBytes ?? 0
    return shownSize(peakMemory) + (asked > 0 ? "/" + shownSize(asked) : "")
  }
}

/// The last steps; the first ones of a long path are told as a number.
private func add(
  _ path: [GraphStatistics.Step], of statistics: GraphStatistics, to page: inout Page
) {
  page.blank()
  page.line(StyledLine("critical path", .strong))
  page.prose(statistics.sentence(of: path), indent: 2)
  var table = Table([.text("OPERATION", shortest: 8), .number("WAITED"), .number("RAN")])
  for step in path.suffix(stepsOnPage) {
    table.add([
      .init(step.name), .init(shownDuration(milliseconds: step.waited)),
      .init(shownDuration(milliseconds: step.ran), .strong),
    ])
  }
  page.table(table)
  if path.count > stepsOnPage {
    page.line(StyledLine("  … after \(shownCount(path.count - stepsOnPage)) others", .faint))
  }
}

extension ResourceAdvice {
  /// `asks for 8 GiB, uses at most 0.6 GiB`, behind the name of the stage.
  public var sentence: String {
    switch self {
    case .fewerProcessors(let asked, let used):
      "asks for \(decimal(asked)) cpus, and keeps \(decimal(used)) busy: ask for fewer"
    case .moreProcessors(let asked, let used):
      "asks for \(decimal(asked)) cpus, and keeps \(decimal(used)) busy: ask for as many"
    case .lessMemory(let asked, let used):
      "asks for \(shownSize(asked)), and uses at most \(shownSize(used)): ask for less"
    case .someMemory(let used):
      "asks for no memory, and uses up to \(shownSize(used)): ask for it, so that machines are "
        + "not overfull"
    }
  }

  /// The word for programs.
  public var word: String {
    switch self {
    case .fewerProcessors: "fewer_cpus"
    case .moreProcessors: "more_cpus"
    case .lessMemory: "less_memory"
    case .someMemory: "some_memory"
    }
  }
}

/// With one decimal, or two below one.
private func decimal(_ number: Double) -> String {
  guard number.isFinite, abs(number) < 1e12 else { return "?" }
  let factor = number < 1 ? 100.0 : 10
  let rounded = (number * factor).rounded() / factor
  return rounded == rounded.rounded() ? "\(Int64(rounded))" : "\(rounded)"
}
