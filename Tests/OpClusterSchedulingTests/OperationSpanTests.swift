// Neighbours that change together (`OperationSpan`). The model is a world in which each operation
// has a cell of its own; whatever the size of the pages, the same must come of it.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct OperationSpans {
  // The same requests and reports in four worlds: states, places, reasons, numbers of events, and
  // what workers are given, after each.
  @Test(.checks("S51", "S52", "S96", "S97", "S106", "G4"), arguments: 0..<60)
  func thePagesChangeNoMeaning(seed: UInt64) {
    var worlds = [0, 1, 3, 8].map { World(pageBits: $0) }
    for at in worlds.indices { worlds[at].invariantChecks = .never }
    forEach(&worlds) { world in
      var chance = Seeded(state: seed)
      world.join("w1", cpus: 2)
      world.ask(.createQueue(QueueSettings(name: "other")))
      for _ in 0..<3 { world.ask(.submit(Self.arrays(&chance))) }
    }
    for step in 0..<60 {
      forEach(&worlds) { world in
        var chance = Seeded(state: seed &* 1_000 &+ UInt64(step))
        Self.act(&world, &chance)
      }
      guard expectEqual(worlds, "seed \(seed), step \(step)") else { return }
    }
    for at in worlds.indices {
      #expect(worlds[at].scheduler.brokenInvariant() == nil, "seed \(seed)")
      #expect(Self.kinds(worlds[at]) == Self.kinds(worlds[0]), "seed \(seed)")
      let replayed = worlds[at].replayed()
      #expect(replayed.snapshot() == worlds[0].scheduler.snapshot(), "seed \(seed)")
      #expect(replayed.brokenInvariant() == nil, "seed \(seed)")
    }
  }

  // What is skipped comes in two parts, for its middle has ended before. It is the end of one array
  // all the same: what waits for that and for another goes on waiting (seed 65749).
  @Test(.checks("S22", "S23")) func anArrayThatEndsInPartsOpensOneGate() {
    var world = World()
    var submission = GraphSubmission(name: "parts")
    submission.templates = [noops("a"), noops("b", 5), noops("other"), noops("c", 3)]
    submission.groupEdges = [
      GroupEdge(from: 0, to: 1, policy: .succeeded, match: .all),
      GroupEdge(from: 1, to: 3, policy: .finished, match: .all),
      GroupEdge(from: 2, to: 3, policy: .finished, match: .all),
    ]
    world.ask(.submit(submission))
    world.ask(.cancel(.operations([operation(1, 3)]), reason: "", grace: nil))
    world.ask(.cancel(.operations([operation(1, 0)]), reason: "", grace: nil))
    #expect((1...5).allSatisfy { world.cell(1, $0)?.phase == .finished })
    #expect((7...9).allSatisfy { world.cell(1, $0)?.phase == .waiting })
    #expect(world.brokenInvariant == nil)
    world.ask(.cancel(.operations([operation(1, 6)]), reason: "", grace: nil))
    #expect((7...9).allSatisfy { world.cell(1, $0)?.phase == .ready })
  }

  // Each element behind another has a reason of its own, and each such end skips the whole array
  // behind them: it is gone through once, and not for each of them.
  @Test(.checks("S23", "S96")) func manyCausesOfOneSkipCostOneWalk() {
    let count: UInt32 = 20_000
    var world = World()
    world.invariantChecks = .never
    var submission = GraphSubmission(name: "wide")
    submission.templates = [noops("a", count), noops("b", count), noops("c", count)]
    submission.groupEdges = [
      GroupEdge(from: 0, to: 1, policy: .succeeded, match: .sameIndex),
      GroupEdge(from: 1, to: 2, policy: .succeeded, match: .all),
    ]
    world.ask(.submit(submission))
    // The worst case: each operation has a cell of its own.
    var again = World(pageBits: 0)
    again.invariantChecks = .never
    again.ask(.submit(submission))
    var selection = Selection.graph(GraphID(1))
    selection.operation = "a"
    for world in [world, again] {
      var world = world
      world.ask(.cancel(.selection(selection), reason: "", grace: nil))
      world.followEnds()
      #expect(world.endings.count == 1)
      #expect(world.endings.first?.row.counts[.skipped] == 2 * count)
    }
  }

  private func forEach(_ worlds: inout [World], _ body: (inout World) -> Void) {
    for at in worlds.indices { body(&worlds[at]) }
  }

  private func expectEqual(_ worlds: [World], _ note: String) -> Bool {
    let (state, given) = (worlds[0].scheduler.snapshot(), Self.given(worlds[0]))
    for world in worlds.dropFirst() {
      let (otherState, otherGiven) = (world.scheduler.snapshot(), Self.given(world))
      #expect(otherState == state, "\(note)")
      #expect(otherGiven == given, "\(note)")
      if otherState != state || otherGiven != given { return false }
    }
    return true
  }

  private static func given(_ world: World) -> [[AttemptID]] {
    world.workers.map { $0.assigned.map(\.attempt) }
  }

  /// The kinds of events of each operation, in its order. An order between operations is promised
  /// only where one waits for the other, which the sequence of states above has shown.
  private static func kinds(_ world: World) -> [OperationID: [Event.Kind]] {
    var kinds: [OperationID: [Event.Kind]] = [:]
    for event in world.events {
      if case .operation(let id, _) = event.subject { kinds[id, default: []].append(event.kind) }
    }
    return kinds
  }

  private static func arrays(_ chance: inout Seeded) -> GraphSubmission {
    var submission = GraphSubmission(name: "arrays")
    submission.isDeclaredOnly = chance.chance(15)
    submission.queues = [.named("default"), .named("other")]
    for at in 0..<(2 + chance.below(3)) {
      var template = noops("t\(at)", UInt32([1, 4, 8, 20, 40].randomElement(using: &chance) ?? 8))
      template.isHeld = chance.chance(15)
      if chance.chance(15) { template.notBefore = .after(.milliseconds(20)) }
      if chance.chance(20) { template.maximumParallel = 2 }
      if chance.chance(15) { template.work = .nothing }
      template.queue = UInt32(chance.below(2))
      if template.count == 1, chance.chance(40) { template.isBarrier = true }
      submission.templates.append(template)
      for before in 0..<at where chance.chance(40) {
        let isSame = submission.templates[before].count == template.count
        submission.groupEdges.append(
          GroupEdge(
            from: UInt32(before), to: UInt32(at),
            policy: EdgePolicy.allCases.randomElement(using: &chance) ?? .finished,
            match: isSame && chance.chance(60) ? .sameIndex : .all))
      }
    }
    if chance.chance(25) { submission.failurePolicy = chance.chance(50) ? .cancel : .stop }
    return submission
  }

  private static func act(_ world: inout World, _ chance: inout Seeded) {
    switch chance.below(12) {
    case 0, 1:
      if let next = world.workers[0].assigned.first(where: { $0.awaits.isEmpty }) {
        world.start(0, next.attempt.operation)
      }
    case 2, 3:
      if let running = world.workers[0].executing.first {
        world.end(0, running.operation, chance.chance(15) ? .failure() : .success)
      }
      world.workers[0].clearAwaits()
      world.report(0)
    case 4: world.ask(.hold(target(&chance), chance.chance(50)))
    case 5: world.ask(.setPriority(target(&chance), chance.chance(50) ? .high : .low))
    case 6: world.ask(.setQueue(target(&chance), queue: chance.chance(50) ? "other" : "default"))
    case 7:
      let isSuspended = chance.chance(40)
      world.ask(.changeQueue("other", QueueChange(isSuspended: isSuspended)))
    case 8: world.ask(.suspendGraphs(Selection.graph(someGraph(&chance)), chance.chance(40)))
    case 9:
      if chance.chance(35) { world.ask(.cancel(target(&chance), reason: "why", grace: nil)) }
      if chance.chance(5) { world.ask(.cancelQueue("other", reason: "")) }
    case 10:
      let (graph, at) = (someGraph(&chance).number, UInt32(chance.below(20)))
      world.ask(
        .addDependency(
          from: operation(graph, at), to: operation(graph, at + UInt32(1 + chance.below(9))),
          .succeeded))
      world.ask(.enqueue([operation(graph, at)], queue: "other"))
    default: world.tick(after: .milliseconds(Int64(chance.below(40))))
    }
  }

  private static func someGraph(_ chance: inout Seeded) -> GraphID {
    GraphID(UInt32(1 + chance.below(3)))
  }

  private static func target(_ chance: inout Seeded) -> OperationTarget {
    var selection = Selection.graph(someGraph(&chance))
    if chance.chance(60) { selection.operation = "t\(chance.below(3))" }
    if chance.chance(30) {
      selection.elements = [
        IndexRun(first: UInt32(chance.below(12)), count: UInt32(1 + chance.below(24)))
      ]
    }
    if chance.chance(20) { selection.states = [.waiting, .ready, .held] }
    if chance.chance(10) { selection.priority = .high }
    if chance.chance(10) { selection.queue = "other" }
    if chance.chance(15) {
      return .dependents(of: operation(someGraph(&chance).number, UInt32(chance.below(10))))
    }
    return .selection(selection)
  }
}
