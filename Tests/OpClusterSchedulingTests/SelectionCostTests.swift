// What a selection of many runs costs (G29): they are merged and halved, not gone through for each
// element, and nobody looks beyond the rows that are asked for. Compared with the plain rule; looks
// are counted, not time.

import Citations
import OpClusterModel
import OpClusterQueries
import Testing

@testable import OpClusterScheduling

@Suite struct SelectionCosts {
  private func isNamed(_ number: UInt32, _ runs: [IndexRun]) -> Bool {
    runs.isEmpty
      || runs.contains { run in
        let step = max(run.step, 1)
        return number >= run.first && (number - run.first) % step == 0
          && (number - run.first) / step < run.count
      }
  }

  private func randomRuns(_ chance: inout Seeded, most: Int) -> [IndexRun] {
    (0..<chance.below(most)).map { _ in
      let isEdge = chance.chance(10)
      return IndexRun(
        first: isEdge ? .max - UInt32(chance.below(4)) : UInt32(chance.below(60)),
        count: isEdge ? .max : UInt32(chance.below(12)),
        step: chance.chance(60) ? 1 : UInt32(chance.below(6)))
    }
  }

  // The same elements as by looking at each run for each number.
  @Test(.checks("S97"), arguments: 0..<300) func elementsAreThoseOfTheRuns(seed: UInt64) {
    var chance = Seeded(state: seed)
    let runs = randomRuns(&chance, most: 6)
    let numbers = ElementNumbers(runs)
    for number in Array(UInt32(0)..<90) + [.max - 5, .max - 2, .max - 1, .max] {
      #expect(numbers.contains(number) == isNamed(number, runs), "seed \(seed): \(number)")
    }
    var template = noops("t", UInt32(1 + chance.below(50)))
    template.isArray = true
    template.indexRuns = randomRuns(&chance, most: 4).map {
      IndexRun(first: $0.first, count: min($0.count, 9), step: $0.step)
    }
    let start = UInt32(chance.below(8))
    var found: [UInt32] = []
    template.forEachElements(from: start, numbered: numbers) {
      found += $0
      return true
    }
    let expected = (0..<template.count).filter {
      $0 >= start && isNamed(template.shownIndex(ofElement: $0), runs)
    }
    #expect(found == expected, "seed \(seed)")
  }

  // As many looks as there are runs, though the array is long; one where one is asked for.
  @Test(.checks("G29")) func manyRunsInALongArray() {
    var template = noops("t", 1_000_000)
    template.isArray = true
    let runs = (0..<UInt32(Limits.indexRunsPerSelection)).map {
      IndexRun(first: 1 + ($0 &* 7_919) % 10_000 * 100, count: 2)
    }
    let numbers = ElementNumbers(runs)
    #expect(numbers.ranges.ranges.count == Limits.indexRunsPerSelection)
    var looks = 0
    template.forEachElements(numbered: numbers) { _ in
      looks += 1
      return true
    }
    #expect(looks == Limits.indexRunsPerSelection)
    looks = 0
    let goesOn = template.forEachElements(numbered: numbers) { _ in
      looks += 1
      return false
    }
    #expect(looks == 1)
    #expect(!goesOn)
    // Overlapping ones are one.
    let same = ElementNumbers((1...5_000).map { IndexRun(first: $0, count: 5_000) })
    #expect(same.ranges.ranges == [1...9_999])
  }

  // Elements of an array with a step are computed, not searched.
  @Test(.checks("G29")) func aStepOfALongArray() {
    var template = noops("t", 2_000_000_000)
    template.isArray = true
    template.indexRuns = [IndexRun(first: 1, count: 2_000_000_000, step: 2)]
    let numbers = ElementNumbers([
      IndexRun(first: 3_999_999_997, count: 9), IndexRun(first: 2_000_000, count: 1),
      IndexRun(first: 7, count: 1), IndexRun(first: 9, count: 1), IndexRun(first: 20, count: 2),
    ])
    var found: [Range<UInt32>] = []
    template.forEachElements(from: 4, numbered: numbers) {
      found.append($0)
      return true
    }
    #expect(found == [4..<5, 10..<11, 1_999_999_998..<2_000_000_000])
  }

  // One operation of many with different names, and a page from the middle of them.
  @Test(.checks("G29"), arguments: [100, 3_000, 60_000] as [UInt32])
  func oneOfManyNames(count: UInt32) throws {
    var world = World()
    world.invariantChecks = .never
    var submission = GraphSubmission(name: "g")
    submission.templates = (0..<count).map { noops("t\($0)") }
    submission.templates[Int(count) - 1].name = "t7"
    world.ask(.submit(submission))
    let view = CountingView(LivingGraphView(GraphID(1), world.scheduler.state))
    func found(_ name: String?, from first: UInt32 = 0) -> [UInt32] {
      var selection = Selection.graph(GraphID(1))
      selection.operation = name
      var found: [UInt32] = []
      OperationFilter(selection).forEachOperation(of: view, from: first) {
        found.append($0)
        return found.count < 5
      }
      return found
    }
    #expect(found("t\(count - 2)") == [count - 2])
    #expect(found("t7") == [7, count - 1])
    #expect(found("t7", from: 7) == [7, count - 1] && found("t7", from: 8) == [count - 1])
    #expect(found("t8", from: 9) == [] && found("none") == [])
    #expect(found(nil, from: count / 2) == Array(count / 2..<count / 2 + 5))
    #expect(view.looks.count < 60, "\(view.looks.count) looks at \(count) stages")
    #expect(found("t1?") == Array(10..<15))
  }

  // Many of one name: the next one is found at once.
  @Test(.checks("G29")) func manyOfOneName() {
    var world = World()
    world.invariantChecks = .never
    var submission = GraphSubmission(name: "g")
    submission.templates = (0..<2_000).map { _ in noops("same") }
    world.ask(.submit(submission))
    guard world.scheduler.graphs.contains(1) else { return }
    let names = world.scheduler.graphs[1].stageNames
    for start in [0, 1, 999, 1_999] {
      let stages = world.scheduler.graphs[1].stages
      #expect(names.stage(named: "same", from: start, in: stages) == start)
    }
  }

  // Different steps are what costs; they are few.
  @Test(.checks("G29")) func stepsAreCounted() {
    let most = UInt32(Limits.indexStepsPerSelection)
    let runs = (0..<most).map { IndexRun(first: 1, count: 3, step: $0 + 2) }
    #expect(ElementNumbers.steps(in: runs + runs) == Limits.indexStepsPerSelection)
    #expect(ElementNumbers.steps(in: [IndexRun(first: 1, count: 1, step: 9)]) == 0)
  }

  // Pages of a listing say the same as all of it, whatever is asked for.
  @Test(.checks("S97"), arguments: 0..<40) func pagesAreTheWhole(seed: UInt64) {
    var chance = Seeded(state: seed)
    var world = World()
    world.join("w1")
    for number in 1...3 {
      var submission = GraphSubmission(name: "g\(number)")
      submission.templates = (0..<3).map { at in
        var template = noops("t\(at)", UInt32(1 + chance.below(9)))
        template.isArray = true
        template.priority = chance.chance(50) ? .high : .normal
        return template
      }
      world.ask(.submit(submission))
    }
    world.ask(.setPriority(.operations([operation(2, 1)]), .low))
    var selection = Selection(graphs: .active)
    if chance.chance(40) {
      selection.graphs = .numbers([
        .init(GraphID(3), GraphID(9)), .init(GraphID(1), GraphID(2)), .init(GraphID(2), GraphID(2)),
        .init(GraphID(8), GraphID(7)),
      ])
    }
    if chance.chance(40) { selection.operation = "t1" }
    if chance.chance(40) { selection.elements = [IndexRun(first: 2, count: 3)] }
    if chance.chance(40) { selection.states = [chance.chance(50) ? .ready : .dispatched] }
    if chance.chance(40) { selection.priority = .high }
    if chance.chance(30) { selection.queue = chance.chance(70) ? "default" : "none" }
    let all = rows(selection, 0, &world)
    for limit in UInt32(1)...3 { #expect(rows(selection, limit, &world) == all, "seed \(seed)") }
    let graphs = graphNumbers(selection, 0, &world)
    for limit in UInt32(1)...2 {
      #expect(graphNumbers(selection, limit, &world) == graphs, "seed \(seed)")
    }
    let plain = rows(Selection(graphs: .all), 0, &world).filter { row in
      (selection.operation ?? row.name) == row.name && isNamed(row.index ?? 1, selection.elements)
        && (selection.states.isEmpty || selection.states.contains(row.state))
        && (selection.priority ?? row.priority) == row.priority
        && (selection.queue ?? row.queue) == row.queue
    }
    #expect(all.map(\.id) == plain.map(\.id), "seed \(seed)")
  }

  // The graphs before a page and behind it are not visited, however many there are.
  @Test(.checks("G29")) func aPageVisitsItself() {
    var world = World()
    world.invariantChecks = .never
    for number in 1...300 {
      var submission = GraphSubmission(name: "g\(number)")
      submission.templates = [noops("t", 1)]
      world.ask(.submit(submission))
    }
    // A gap, so that the place of a graph is not its number.
    world.ask(.cancel(.selection(.graph(GraphID(7))), reason: "", grace: nil))
    var visited: [UInt32] = []
    let ranges: [Selection.ClosedRangeOfGraphs] = [
      .init(GraphID(1), GraphID(9)), .init(GraphID(151), GraphID(152)),
      .init(GraphID(200), GraphID(.max)), .init(GraphID(153), GraphID(153)),
    ]
    for wanted in [Selection.Graphs.all, .active, .numbers(ranges)] {
      visited = []
      world.scheduler.forEachLivingNumber(of: wanted, NumberRanges(wanted), after: 150) { number in
        visited.append(number)
        return visited.count < 4
      }
      #expect(visited == [151, 152, 153, wanted == .numbers(ranges) ? 200 : 154])
    }
    visited = []
    let numbered = Selection.Graphs.numbers(ranges)
    world.scheduler.forEachLivingNumber(of: numbered, NumberRanges(numbered)) { number in
      visited.append(number)
      return visited.count < 9
    }
    #expect(visited == [1, 2, 3, 4, 5, 6, 8, 9, 151])
    #expect(graphNumbers(Selection(graphs: .active), 0, &world).count == 299)
  }

  /// All pages of the graphs of a selection.
  private func graphNumbers(
    _ selection: Selection, _ limit: UInt32, _ world: inout World
  ) -> [UInt32] {
    var numbers: [UInt32] = []
    while true {
      let after = numbers.last.map { GraphID($0) }
      guard case .graphs(let page, let more) = world.ask(
        .graphs(selection, after: after, limit: limit))
      else { return numbers }
      numbers += page.map(\.graph.number)
      if !more { return numbers }
    }
  }

  private func rows(
    _ selection: Selection, _ limit: UInt32, _ world: inout World
  ) -> [OperationRow] {
    var rows: [OperationRow] = []
    while true {
      let reply = world.ask(.operations(selection, after: rows.last?.id, limit: limit))
      guard case .operations(let page, let more) = reply else {
        if case .refused(let refusal) = reply { #expect(refusal.code == .unknownOperation) }
        return rows
      }
      rows += page.map {
        // Only who asks for one row is told of these.
        var row = $0
        (row.command, row.commandArgument, row.blockedBy) = ([], [], [])
        return row
      }
      if !more { return rows }
    }
  }
}

/// A graph that counts the stages that are looked at.
private struct CountingView: GraphView {
  final class Looks { var count = 0 }
  let looks = Looks()
  private let view: LivingGraphView
  init(_ view: LivingGraphView) { self.view = view }

  var graph: GraphID { view.graph }
  var labels: [Label] { view.labels }
  var stageCount: Int { view.stageCount }
  var hasMoved: Bool { view.hasMoved }
  var hasOwnPriorities: Bool { view.hasOwnPriorities }
  func template(of stage: Int) -> OperationTemplate {
    looks.count += 1
    return view.template(of: stage)
  }
  func name(of stage: Int) -> String {
    looks.count += 1
    return view.name(of: stage)
  }
  func labels(of stage: Int) -> [Label] { view.labels(of: stage) }
  func indices(of stage: Int) -> Range<UInt32> { view.indices(of: stage) }
  func stage(of index: UInt32) -> Int? { view.stage(of: index) }
  func stage(named name: String, from start: Int) -> Int? { view.stage(named: name, from: start) }
  func queueName(of stage: Int) -> String { view.queueName(of: stage) }
  func state(of index: UInt32) -> StateWord { view.state(of: index) }
  func mayHave(_ states: [StateWord], stage: Int) -> Bool { view.mayHave(states, stage: stage) }
  func queueName(of index: UInt32, stage: Int) -> String {
    view.queueName(of: index, stage: stage)
  }
  func priority(of index: UInt32, stage: Int) -> Priority { view.priority(of: index, stage: stage) }
  func equalEnd(from index: UInt32, before end: UInt32) -> UInt32 {
    view.equalEnd(from: index, before: end)
  }
}
