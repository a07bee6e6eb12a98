// What a selection means in a graph: against going through its operations one by one.

import Citations
import OpClusterModel
import OpClusterQueries
import Testing

@Suite struct OperationFilterTests {
  private var random = SystemRandomNumberGenerator()

  private mutating func number(_ range: ClosedRange<Int>) -> Int {
    Int.random(in: range, using: &random)
  }

  private mutating func someLabels() -> [Label] {
    ["a", "b", "c"].filter { _ in number(0...2) == 0 }.map { Label(key: $0, value: "1") }
  }

  private static let names = ["split", "solve", "sum", "join", "s*", "x1", "x2"]

  private mutating func submission() -> GraphSubmission {
    var submission = GraphSubmission(name: "g")
    submission.labels = someLabels()
    var own = QueueSettings(name: "own")
    own.qos = .utility
    submission.queues = [.named("io"), .own(own)]
    for name in Self.names.shuffled(using: &random).prefix(number(0...7)) {
      var template = OperationTemplate(name: name, count: UInt32(number(0...6)), work: .command)
      template.isArray = template.count != 1
      template.labels = someLabels()
      template.priority = number(0...1) == 0 ? .normal : .high
      template.queue = UInt32(number(0...2))
      if number(0...2) == 0 {
        template.indexRuns = [IndexRun(first: 10, count: 2), IndexRun(first: 3, count: 9, step: 2)]
      }
      submission.templates.append(template)
    }
    return submission
  }

  private mutating func selection() -> Selection {
    var selection = Selection(graphs: .all)
    if number(0...1) == 0 {
      selection.operation = ["split", "s*", "x?", "*", "none", "?oin"].randomElement(using: &random)
    }
    if number(0...2) == 0 {
      selection.elements = (0..<number(1...3)).map { _ in
        IndexRun(
          first: UInt32(number(0...14)), count: UInt32(number(0...4)), step: UInt32(number(1...3)))
      }
    }
    if number(0...2) == 0 {
      selection.states = [[.succeeded], [.failed, .skipped]][number(0...1)]
    }
    if number(0...2) == 0 { selection.labels = someLabels() }
    if number(0...2) == 0 { selection.queue = ["io", "own", "7/own", "default"][number(0...3)] }
    if number(0...2) == 0 { selection.priority = .high }
    return selection
  }

  /// Whether the single operation is meant, said as plainly as may be.
  private func isMeant(
    _ index: UInt32, _ stage: Int, _ view: EndedGraphView, _ selection: Selection
  ) -> Bool {
    let template = view.outline.submission.templates[stage]
    let shown = template.shownIndex(ofElement: index - view.indices(of: stage).lowerBound)
    let numbers = selection.elements.flatMap { run in
      (0..<run.count).map { run.first + $0 * run.step }
    }
    let labels = template.labels + view.outline.submission.labels
    let queue = ["io", "7/own", "default"][Int(template.queue)]
    return (selection.operation.map { NamePattern($0).matches(template.name) } ?? true)
      && (selection.elements.isEmpty || numbers.contains(shown))
      && (selection.states.isEmpty || selection.states.contains(view.state(of: index)))
      && selection.labels.allSatisfy { labels.contains($0) }
      && (selection.queue.map { $0 == queue || "7/\($0)" == queue } ?? true)
      && (selection.priority.map { $0 == template.priority } ?? true)
  }

  private mutating func view(_ submission: GraphSubmission) -> EndedGraphView {
    let outline = GraphOutline(submission, graph: GraphID(7))
    let ends: [Outcome] = [.succeeded, .failed, .skipped]
    var outcomes = (0..<outline.operationCount).map { _ in ends[number(0...2)].rawValue }
    if number(0...3) == 0 { outcomes = [ends[number(0...2)].rawValue] }
    return EndedGraphView(outline, outcomes: outcomes, submittedAt: .unknown)
  }

  @Test(.checks("S97")) mutating func selectionsMeanWhatTheySay() {
    for _ in 0..<4_000 {
      let view = view(submission())
      let selection = selection()
      let filter = OperationFilter(selection)
      var expected: [UInt32] = []
      for index in 0..<view.operationCount {
        if let stage = view.stage(of: index), isMeant(index, stage, view, selection) {
          expected.append(index)
        }
      }
      let first = UInt32(number(0...5))
      var found: [UInt32] = []
      filter.forEachOperation(of: view, from: first) {
        found.append($0)
        return true
      }
      #expect(found == expected.filter { $0 >= first }, "\(selection)")
      let limit = number(0...3)
      let rows = view.rows(filter, from: first, limit: limit)
      #expect(rows.map(\.id.index) == Array(found.prefix(limit)))
      guard selection.states.isEmpty else { continue }
      // A graph that was only submitted knows no states: events are told by these runs.
      var ranges: [UInt32] = []
      filter.forEachRange(of: view.outline) {
        ranges += $0
        return true
      }
      #expect(ranges == expected, "\(selection)")
      #expect(!filter.isWhole || !selection.labels.isEmpty || ranges.count == view.operationCount)
    }
  }

  /// A list of graphs shows one whose own labels and those of its stages together are asked for.
  @Test func labelsOfGraphs() {
    var submission = GraphSubmission(name: "g")
    submission.labels = [Label(key: "project", value: "x")]
    submission.templates = [OperationTemplate(name: "t", work: .command)]
    submission.templates[0].labels = [Label(key: "kind", value: "y")]
    let outline = GraphOutline(submission, graph: GraphID(1))
    let both = submission.labels + submission.templates[0].labels
    #expect(OperationFilter.carries(both, outline) && OperationFilter.carries([], outline))
    #expect(!OperationFilter.carries([Label(key: "kind", value: "x")], outline))
  }

  /// A queue that is gone has no name, and no selection means it (an unset variable of a script).
  @Test func noNameIsNoQueue() {
    var submission = GraphSubmission(name: "g")
    submission.queues = [.named("")]
    submission.templates = [OperationTemplate(name: "t", work: .command)]
    var selection = Selection(graphs: .all)
    selection.queue = ""
    var isMeant = false
    OperationFilter(selection).forEachRange(of: GraphOutline(submission, graph: GraphID(1))) { _ in
      isMeant = true
      return true
    }
    #expect(!isMeant)
  }

  @Test func paths() {
    var submission = GraphSubmission(name: "g")
    submission.templates = [
      OperationTemplate(name: "one", work: .command),
      OperationTemplate(name: "none", count: 0, work: .command),
      OperationTemplate(name: "many", count: 3, work: .command),
    ]
    submission.templates[2].isArray = true
    submission.templates[2].indexRuns = [IndexRun(first: 10, count: 2, step: 5)]
    let outline = GraphOutline(submission, graph: GraphID(12))
    #expect(outline.operationCount == 4)
    #expect(
      (0...4).map { outline.path(of: $0) } == [
        "12/one", "12/many/10", "12/many/15", "12/many/3", "12/#4",
      ])
  }
}
