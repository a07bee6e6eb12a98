// The struct that exists a million times stays small (W6).

import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct Sizes {
  // W6
  @Test func aCellFitsIntoTwentyFourBytes() {
    #expect(MemoryLayout<OperationCell>.stride <= 24)
  }

  // W6: an array that waits has no cells at all, however long it is.
  @Test func aWaitingArrayCostsNoCells() {
    var world = World()
    world.checksEveryTurn = false
    var submission = GraphSubmission(name: "waiting")
    submission.templates = [noops("first"), noops("many", 1_000_000)]
    submission.groupEdges = [GroupEdge(from: 0, to: 1, policy: .succeeded)]
    world.ask(.submit(submission))
    #expect(world.scheduler.graphs[1].cells.pageCount == 0)
    #expect(world.scheduler.graphs[1].unfinished == 1_000_001)
  }
}
