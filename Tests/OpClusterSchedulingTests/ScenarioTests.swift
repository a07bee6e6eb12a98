// The scenario that is also run with real processes (house habit 18): a diamond with a failure, a
// retry, an array and an allowed failure; here with fake workers, turn by turn.

import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct Scenario {
  ///     make ─┬─ left[1-4] (second tries only) ──────┬─ join ─ after (join failed: compensates)
  ///           └─ right (fails, and is allowed to) ───┘
  private var diamond: GraphSubmission {
    var graph = GraphSubmission(name: "diamond")
    graph.templates = [
      noops("make"), noops("left", 4), noops("right"), noops("join"), noops("never"),
      noops("after"),
    ]
    graph.templates[1].retry.maximum = 2
    graph.templates[2].allowedFailures = .all
    graph.groupEdges = [
      GroupEdge(from: 0, to: 1, policy: .succeeded),
      GroupEdge(from: 0, to: 2, policy: .succeeded),
      GroupEdge(from: 1, to: 3, policy: .succeeded),
      GroupEdge(from: 2, to: 3, policy: .finished),
      GroupEdge(from: 3, to: 4, policy: .succeeded),
      GroupEdge(from: 3, to: 5, policy: .failed),
    ]
    return graph
  }

  // S12 S22 S23 S114
  @Test(arguments: 1...3) func diamondWithAFailureARetryAnArrayAndAnAllowedFailure(
    workers: Int
  ) throws {
    var world = World()
    for number in 1...workers { world.join("w\(number)") }
    world.ask(.submit(diamond))
    var tries: [UInt32: Int] = [:]
    world.runAll { id in
      tries[id.index, default: 0] += 1
      let isLeft = (1...4).contains(id.index)
      if id.index == 5 || id.index == 6 { return .failure(4) }
      return isLeft && tries[id.index] == 1 ? .failure() : .success
    }
    let ending = try #require(world.endings.first)
    #expect(ending.structure.row.state == .failed)
    #expect(ending.structure.row.allowedFailures == 1)
    let outcomes = ending.outcomes.map { Outcome(rawValue: $0) }
    #expect(
      outcomes == [
        .succeeded, .succeeded, .succeeded, .succeeded, .succeeded, .failed, .failed, .skipped,
        .succeeded,
      ])
    #expect((1...4).allSatisfy { tries[$0] == 2 })
    #expect(tries[7] == nil)
    #expect(world.brokenInvariant == nil)
    #expect(world.replayed().snapshot() == world.scheduler.snapshot())
  }
}
