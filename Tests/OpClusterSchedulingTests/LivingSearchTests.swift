// Questions that look at much and find little: answered in parts, between which the world goes on,
// and no less exact.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct LivingSearches {
  /// The pages of a question, each in parts of so many looks; `between` happens between parts.
  private func pages(
    _ selection: Selection, limit: UInt32, looks: Int, _ world: inout World,
    between: (inout World) -> Void = { _ in }
  ) -> [OperationID] {
    var rows: [OperationRow] = []
    while true {
      let question = ClientRequest.operations(selection, after: rows.last?.id, limit: limit)
      guard var search = LivingSearch(question) else { return [] }
      while !world.scheduler.goOn(with: &search, atMost: looks) { between(&world) }
      let answer = try? world.scheduler.answer(search, at: world.now)
      guard case .operations(let page, let more)? = answer else { return rows.map(\.id) }
      #expect(page.count <= Int(limit) && (!more || page.count == Int(limit)))
      expectMeant(page, selection, world)
      rows += page
      if !more { return rows.map(\.id) }
    }
  }

  /// Whether each row is what is asked for, and shows what is now.
  private func expectMeant(_ page: [OperationRow], _ selection: Selection, _ world: World) {
    for row in page {
      guard world.scheduler.graphs.contains(row.id.graph.number) else {
        Issue.record("\(row.id) does not live")
        continue
      }
      let cell = world.scheduler.graphs[row.id.graph.number].cell(row.id.index)
      #expect(row.state == cell.word)
      #expect(selection.states.isEmpty || selection.states.contains(row.state))
      #expect(selection.priority.map { $0 == row.priority } ?? true)
      #expect(selection.queue.map { $0 == row.queue } ?? true)
    }
  }

  private func world(_ chance: inout Seeded) -> World {
    var world = World(pageBits: UInt32(chance.below(3)))
    world.join("w1")
    world.ask(.createQueue(QueueSettings(name: "other")))
    for number in 1...3 {
      var submission = GraphSubmission(name: "g\(number)")
      if chance.chance(30) { submission.labels = [Label(key: "of", value: "graph")] }
      submission.templates = (0..<4).map { at in
        var template = noops("t\(at)", UInt32(chance.below(9)))
        template.isArray = true
        template.priority = chance.chance(50) ? .high : .normal
        if chance.chance(30) { template.labels = [Label(key: "of", value: "stage")] }
        return template
      }
      world.ask(.submit(submission))
    }
    return world
  }

  private func selection(_ chance: inout Seeded) -> Selection {
    var selection = Selection(graphs: .active)
    if chance.chance(30) {
      selection.graphs = .numbers([.init(GraphID(2), GraphID(3)), .init(GraphID(1), GraphID(1))])
    }
    if chance.chance(40) { selection.operation = ["t1", "t?", "*2"].randomElement(using: &chance) }
    if chance.chance(40) {
      selection.elements = [
        IndexRun(first: 2, count: 5, step: chance.chance(50) ? 1 : 2),
        IndexRun(first: 1, count: 1),
      ]
    }
    if chance.chance(40) { selection.states = [chance.chance(50) ? .ready : .dispatched] }
    if chance.chance(30) { selection.priority = .high }
    if chance.chance(30) { selection.queue = chance.chance(60) ? "default" : "other" }
    if chance.chance(30) {
      selection.labels = [Label(key: "of", value: chance.chance(50) ? "graph" : "stage")]
    }
    return selection
  }

  // Where nothing happens the parts say the same as the whole.
  @Test(.checks("S97"), arguments: 0..<200) func partsAreTheWhole(seed: UInt64) {
    var chance = Seeded(state: seed)
    var world = world(&chance)
    let selection = selection(&chance)
    let whole = pages(selection, limit: 1_000, looks: .max, &world)
    for looks in 5...8 {
      let limit = UInt32(1 + chance.below(5))
      #expect(pages(selection, limit: limit, looks: looks, &world) == whole, "seed \(seed)")
    }
    for graph in world.scheduler.graphs.numbers {
      let isMeant = world.scheduler.carries(selection.labels, graph)
      let plain = selection.labels.allSatisfy { label in
        world.scheduler.graphs[graph].submission.labels.contains(label)
          || world.scheduler.graphs[graph].stages.contains { $0.template.labels.contains(label) }
      }
      #expect(isMeant == plain)
    }
  }

  // What is told is so when it is told; and what was so all the time is told.
  @Test(.checks("S97"), arguments: 0..<200) func theWorldGoesOn(seed: UInt64) {
    var chance = Seeded(state: seed)
    var world = world(&chance)
    let selection = selection(&chance)
    var always = Set(pages(selection, limit: 1_000, looks: .max, &world))
    let looks = 5 + chance.below(4)
    var found: [OperationID] = []
    found = pages(selection, limit: UInt32(1 + chance.below(9)), looks: looks, &world) { world in
      if let request = RandomSteering.request(&chance) { world.ask(request) }
      if chance.chance(30) {
        let graph = GraphID(UInt32(1 + chance.below(3)))
        world.ask(.cancel(.selection(.graph(graph)), reason: "", grace: nil))
      }
      if chance.chance(30) { world.runAll() }
      always.formIntersection(pages(selection, limit: 1_000, looks: .max, &world))
    }
    #expect(Set(found).count == found.count && found == found.sorted(), "seed \(seed)")
    #expect(always.isSubset(of: found), "seed \(seed)")
  }

  // One that finds nothing among many stages, or graphs, leaves after its looks.
  @Test(.checks("G29")) func looksAreCounted() throws {
    var world = World()
    world.invariantChecks = .never
    var submission = GraphSubmission(name: "g")
    submission.templates = (0..<5_000).map { noops("t\($0)") }
    world.ask(.submit(submission))
    var pattern = Selection.graph(GraphID(1))
    pattern.operation = "x*"
    #expect(parts(.operations(pattern, after: nil, limit: 9), &world) == 5)
    #expect(parts(.explain(pattern), &world) == 5)
    guard case .explanations(let told, more: true) = world.ask(.explain(.graph(GraphID(1)))) else {
      Issue.record("nothing is explained")
      return
    }
    #expect(told.count == Limits.explanationsPerReply)
    // Single elements of an array, in steps.
    var array = GraphSubmission(name: "array")
    array.templates = [noops("t", 5_000)]
    array.templates[0].isArray = true
    array.templates[0].indexRuns = [IndexRun(first: 1, count: 5_000, step: 2)]
    world.ask(.submit(array))
    var even = Selection.graph(GraphID(2))
    even.elements = [IndexRun(first: 2, count: 5_000, step: 2)]
    #expect(parts(.operations(even, after: nil, limit: 9), &world) == 5)
    for _ in 0..<3_000 {
      submission.templates = [noops("t")]
      world.ask(.submit(submission))
    }
    let suspended = Selection(graphs: .all, states: [.held])
    #expect(parts(.operations(suspended, after: nil, limit: 9), &world) >= 8)
    // Ranges in which nothing lives.
    let ranges = (0..<5_000).map { at in
      let number = GraphID(10_000 + 2 * UInt32(at))
      return Selection.ClosedRangeOfGraphs(number, number)
    }
    #expect(parts(.graphs(Selection(graphs: .numbers(ranges)), after: nil, limit: 9), &world) == 5)
    let labels = Selection(graphs: .all, labels: [Label(key: "no", value: "one")])
    #expect(parts(.graphs(labels, after: nil, limit: 9), &world) == 3)
  }

  private func parts(_ question: ClientRequest, _ world: inout World) -> Int {
    guard var search = LivingSearch(question) else { return 0 }
    var parts = 1
    while !world.scheduler.goOn(with: &search, atMost: 1_024) { parts += 1 }
    return parts
  }
}
