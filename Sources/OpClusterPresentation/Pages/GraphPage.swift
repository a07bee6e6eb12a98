// `show 12`: one graph in full, with its stages.
// The same stages as a drawing are in `GraphText.swift`, live in `StageTable.swift`.

public import OpClusterModel

/// Maximum number of stages on a page.
/// More lines would be scrolled away; `opbatch graph` has all.
private let stagesOnPage = 100

/// Returns the lines of the page of one graph.
/// Pairs without a value are left out, so a young graph has a short page.
public func graphPage(_ structure: GraphStructure, _ style: Style) -> [String] {
  var page = Page(style)
  let row = structure.row
  page.line(
    StyledLine([
      .init("\(row.graph.number)  ", .strong), .init(safe(row.name), .strong), .init("  "),
      .init(row.state.rawValue, row.state.tone),
    ]))
  page.blank()
  page.pair("operations", shownCount(row.counts.total) + ": " + row.counts.sentence())
  if row.allowedFailures > 0 {
    page.pair(
      "allowed", shownCount(row.allowedFailures) + " of the failures were allowed to happen")
  }
  page.pair("labels", row.labels.map { "\($0.key)=\($0.value)" }.joined(separator: " "))
  page.pair("submitted", row.submittedAt == .unknown ? nil : style.shownTime(row.submittedAt))
  page.pair("finished", row.finishedAt == .unknown ? nil : style.shownTime(row.finishedAt))
  page.pair("took", took(row, style))
  guard !structure.stages.isEmpty else { return page.lines }
  page.blank()
  if let lines = narrowListing(structure, style) {
    for line in lines { page.prose(line.text, indent: line.indent, line.tone) }
  } else {
    page.table(stageListing(structure, style))
  }
  let hidden = structure.stages.count - stagesOnPage
  if hidden > 0 {
    page.line(
      StyledLine(
        "  … \(shownCount(hidden, "more stage")): opbatch graph \(row.graph.number)", .faint))
  }
  // The command for what people ask next after a failure.
  if row.counts.failures > 0 {
    page.blank()
    let path = "\(row.graph.number)"
    page.line(
      StyledLine([
        .init("  what failed: ", .faint),
        .init("opbatch ls \(path) --state failed,timed-out,lost"),
      ]))
  }
  return page.lines
}

/// On a narrower page only DONE shows the successes.
private let narrowPage = 80

/// Without successes a finished stage has no words left, so they are told then.
private func shownCounts(_ counts: StateCounts, _ isNarrow: Bool) -> String {
  guard isNarrow else { return counts.sentence() }
  let rest = counts.sentence(unless: [.succeeded])
  return rest.isEmpty && counts[.succeeded] > 0 ? StateWord.succeeded.rawValue : rest
}

/// Shows at most `stagesOnPage` stages.
private func stageListing(_ structure: GraphStructure, _ style: Style) -> Table {
  // On a narrow page the numbers must stay whole; DONE includes the successes.
  let isNarrow = style.width.map { $0 < narrowPage } ?? false
  var table = Table([
    .name("STAGE", shortest: 16), .number("DONE"),
    .text("COUNTS", shortest: isNarrow ? nil : 30),
    .text("QUEUE", shortest: 7, dispensable: 2), .text("RUNS", shortest: 8, dispensable: 3),
    .text("NEEDS", shortest: 12, dispensable: 1),
  ])
  let needs = stageNeeds(structure)
  for (position, stage) in structure.stages.prefix(stagesOnPage).enumerated() {
    table.add([
      .init(stageLabel(stage), .strong),
      .init(shownCount(stage.counts.finished) + "/" + shownCount(stage.count)),
      .init(shownCounts(stage.counts, isNarrow), stageTone(stage.counts)), .init(stage.queue),
      .init(stage.work, .faint), .init(needs[position], .faint),
    ])
  }
  return table
}

/// Returns two lines per stage if a stage's text does not fit on one line; nil if it fits.
private func narrowListing(
  _ structure: GraphStructure, _ style: Style
) -> [(text: String, indent: Int, tone: Tone)]? {
  guard let width = style.width, width < narrowPage else { return nil }
  let stages = structure.stages.prefix(stagesOnPage)
  let told = stages.map { shownCounts($0.counts, true) }
  func done(_ stage: GraphStructure.Stage) -> String {
    shownCount(stage.counts.finished) + "/" + shownCount(stage.count)
  }
  let name = min(16, stages.reduce(0) { max($0, displayWidth(safe(stageLabel($1)))) })
  // Six columns of gaps and indentation; a name is worth at most sixteen here.
  let needed =
    stages.reduce(0) { max($0, done($1).count) } + told.reduce(0) { max($0, $1.count) } + name + 6
  guard needed > width else { return nil }
  var table = Table([.name("STAGE", shortest: 16), .number("DONE")])
  for stage in stages { table.add([.init(stageLabel(stage), .strong), .init(done(stage))]) }
  var narrower = style
  narrower.width = max(width - 2, Style.narrowest)
  // The table makes the words safe; the caller paints them, so they carry no colours here.
  narrower.usesColour = false
  var lines: [(text: String, indent: Int, tone: Tone)] = []
  for (at, line) in table.lines(narrower).enumerated() {
    lines.append((line, 2, at == 0 ? .faint : .strong))
    if at > 0 { lines.append((told[at - 1], 6, stageTone(stages[at - 1].counts))) }
  }
  return lines
}

/// `align [400]` for an array, the bare name otherwise.
func stageLabel(_ stage: GraphStructure.Stage) -> String {
  stage.isArray ? "\(stage.name) [\(shownCount(stage.count))]" : stage.name
}

/// The tone of the most notable state of a stage.
func stageTone(_ counts: StateCounts) -> Tone {
  stageState(counts)?.tone ?? .plain
}

/// The one word for a stage: its worst outcome, or `executing` if something runs and nothing
/// failed; nil for an empty stage.
/// States are in the order of what somebody should see first.
func stageState(_ counts: StateCounts) -> StateWord? {
  let notable: [StateWord] = [
    .failed, .timedOut, .lost, .executing, .stopping, .dispatched, .ready, .held,
  ]
  if let word = notable.first(where: { counts[$0] > 0 }) { return word }
  let rest: [StateWord] =
    counts.finished == counts.total
    ? [.cancelled, .skipped, .succeeded] : [.waiting, .declared, .cancelled, .skipped]
  return rest.first { counts[$0] > 0 }
}

/// For each stage the names of the stages that it waits for; the policy too if it is not the
/// default.
/// O(stages + edges). An edge from or to a stage that is not there is left out: the structure may
/// be of another release.
private func stageNeeds(_ structure: GraphStructure) -> [String] {
  var needs = Array(repeating: [String](), count: structure.stages.count)
  for edge in structure.groupEdges {
    guard Int(edge.from) < needs.count, Int(edge.to) < needs.count else { continue }
    let name = structure.stages[Int(edge.from)].name
    let policy = edge.policy == .succeeded ? "" : " (\(edge.policy.word))"
    needs[Int(edge.to)].append(name + policy)
  }
  return needs.map { $0.joined(separator: ", ") }
}
