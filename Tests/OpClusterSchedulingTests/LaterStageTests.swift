// A graph whose operations have each a demand of their own is taken in by parts (`LaterStages`),
// and let go by parts (`RetiredParts`).

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct LaterStageTests {
  private func graph(_ count: Int, from first: Int = 0) -> GraphSubmission {
    var graph = GraphSubmission(name: "demands")
    for number in 0..<count {
      var template = noops("t\(number)")
      template.demand.memoryBytes = Int64(first + number + 1) << 10
      graph.templates.append(template)
    }
    return graph
  }

  // No turn takes in more classes than it has steps for; in the end all operations are ready, in
  // the order of the line, and a replay comes to the same after each turn.
  @Test(.checks("G4", "G29", "S51")) func theyComeInParts() {
    var world = World(share: TurnShare(graphs: 512, endSteps: 40))
    world.invariantChecks = .afterEveryTurn
    let atOnce = LaterStages.demandsAtOnce(40)
    world.ask(.submit(graph(100)))
    var known = world.scheduler.classes.count
    #expect(known == atOnce)
    while world.scheduler.hasPendingEnds {
      #expect(world.scheduler.cell(99).phase == .waiting)
      #expect(world.replayed().classes.count == known)
      world.tick(after: .milliseconds(1))
      #expect(world.scheduler.classes.count - known <= 40 / LaterStages.stepsOfDemandClass + 1)
      known = world.scheduler.classes.count
    }
    #expect(known == 100)
    #expect((0..<100).allSatisfy { world.scheduler.cell($0).phase == .ready })
    #expect(world.replayed().snapshot() == world.scheduler.snapshot())
    world.join("w1", cpus: 100)
    #expect(world.workers[0].assigned.map(\.attempt.operation.index) == Array(0..<100))
    #expect(world.brokenInvariant == nil)
  }

  // Of two graphs the second does not wait for all of the first.
  @Test(.checks("G29")) func theyTakeTurns() {
    var world = World(share: TurnShare(graphs: 512, endSteps: 40))
    world.invariantChecks = .afterEveryTurn
    world.ask(.submit(graph(200)))
    world.ask(.submit(graph(60)))
    while world.scheduler.graphs[2].cell(59).phase == .waiting {
      world.tick(after: .milliseconds(1))
    }
    #expect(world.scheduler.cell(199).phase == .waiting)
    world.followEnds()
    #expect(world.scheduler.cell(199).phase == .ready)
    #expect(world.replayed().snapshot() == world.scheduler.snapshot())
  }

  // What several graphs used that end together is let go together: one after the other it would
  // pile up.
  @Test(.checks("G29")) func theyAreLetGoTogether() {
    var world = World()
    world.invariantChecks = .never
    let count = RetiredParts.classesReleasedPerTurn + 1
    for number in 0..<3 { world.ask(.submit(graph(count, from: number * count))) }
    world.followEnds()
    #expect(world.scheduler.classes.count == 3 * count)
    world.ask(.cancel(.selection(Selection(graphs: .active)), reason: "", grace: nil))
    #expect(world.scheduler.graphs.numbers.isEmpty)
    world.tick(after: .milliseconds(1))
    #expect(world.scheduler.classes.count == 0)
  }

  // A journal of an earlier release, whose turns had more steps, takes in all at once: so did they.
  @Test(.checks("G4", "G16")) func earlierJournalsKnewNoParts() {
    #expect(LaterStages.demandsAtOnce(0) == .max)
    #expect(LaterStages.demandsAtOnce(16_384) == .max)
    #expect(LaterStages.demandsAtOnce(8_192) == 1_024)
    #expect(Limits.endStepsPerTurn <= LaterStages.mostSteps)
  }

  // What waits for a part that is not there yet says so, and can be held, moved and cancelled.
  @Test(.checks("S61", "S96", "S97")) func whatIsNotThereYetCanBeChanged() {
    var world = World(share: TurnShare(graphs: 512, endSteps: 16))
    world.invariantChecks = .afterEveryTurn
    world.join("w1", cpus: 100)
    world.ask(.createQueue(QueueSettings(name: "other")))
    world.ask(.submit(graph(60)))
    let last = OperationTarget.operations([operation(1, 59)])
    guard case .explanations(let rows, _)? = world.ask(.explain(.graph(GraphID(1)))) else {
      Issue.record("no explanation")
      return
    }
    #expect("\(rows)".contains("is yet being taken in"))
    world.ask(.hold(last, true))
    world.ask(.setQueue(.operations([operation(1, 58)]), queue: "other"))
    world.ask(.cancel(.operations([operation(1, 57)]), reason: "", grace: nil))
    world.followEnds()
    #expect(world.scheduler.cell(57).ending.outcome == .cancelled)
    #expect(world.scheduler.cell(58).phase == .dispatched)
    #expect(world.scheduler.cell(59).phase == .waiting)
    world.ask(.hold(last, false))
    world.runAll()
    #expect(world.scheduler.graphs.numbers.isEmpty)
    #expect(world.brokenInvariant == nil)
    #expect(world.replayed().snapshot() == world.scheduler.snapshot())
  }

  // A graph that is cancelled while it comes leaves nothing behind, and neither does one of more
  // classes than a turn releases.
  @Test(.checks("G29")) func nothingIsLeft() {
    var world = World(share: TurnShare(graphs: 512, endSteps: 40))
    world.invariantChecks = .never
    let count = 2 * RetiredParts.classesReleasedPerTurn + 3
    world.ask(.submit(graph(count)))
    for round in 0..<2 {
      if round == 1 {
        world.ask(.submit(graph(count)))
        world.followEnds()
        #expect(world.scheduler.classes.count == count)
      }
      world.ask(
        .cancel(.selection(.graph(GraphID(UInt32(round + 1)))), reason: "", grace: nil))
      world.followEnds()
      for _ in 0..<4 { world.tick(after: .milliseconds(1)) }
      #expect(world.scheduler.graphs.numbers.isEmpty)
      #expect(world.scheduler.classes.count == 0)
    }
    #expect(world.scheduler.brokenInvariant() == nil)
  }
}

extension Scheduler {
  fileprivate func cell(_ index: UInt32) -> OperationCell { graphs[1].cell(index) }
}
