// What a selection of many runs costs (G29): they are merged and halved, not gone through for each
// element, and nobody looks beyond the rows that are asked for. Compared with the plain rule; looks
// are counted, not time.

import Citations
import OpClusterModel
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
    let plain = rows(Selection(graphs: .all), 0, &world).filter { row in
      (selection.operation ?? row.name) == row.name && isNamed(row.index ?? 1, selection.elements)
        && (selection.states.isEmpty || selection.states.contains(row.state))
        && (selection.priority ?? row.priority) == row.priority
        && (selection.queue ?? row.queue) == row.queue
    }
    #expect(all.map(\.id) == plain.map(\.id), "seed \(seed)")
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
