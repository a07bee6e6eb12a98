// The struct that exists a million times stays small (W6).

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct Sizes {
  @Test(.checks("W6")) func aCellFitsIntoTwentyFourBytes() {
    #expect(MemoryLayout<OperationCell>.stride <= 24)
  }

  // An array that waits has no cells at all, however long it is.
  @Test(.checks("W6")) func aWaitingArrayCostsNoCells() {
    var world = World()
    world.invariantChecks = .never
    var submission = GraphSubmission(name: "waiting")
    submission.templates = [noops("first"), noops("many", 1_000_000)]
    submission.groupEdges = [GroupEdge(from: 0, to: 1, policy: .succeeded)]
    world.ask(.submit(submission))
    #expect(world.scheduler.graphs[1].cells.cellCount == 0)
    #expect(world.scheduler.graphs[1].unfinished == 1_000_001)
  }
}
