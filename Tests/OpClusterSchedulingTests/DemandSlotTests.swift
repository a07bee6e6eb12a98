// Slots of demands are used again, and nothing of the one before is believed of the next.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct DemandSlotTests {
  /// What runs inside the coordinator goes to no worker, not ahead of time either, where
  /// the slot of its demand was that of one which the worker served. (Found by seed 61.)
  @Test(.checks("S4", "S151")) func insideAfterServed() {
    var world = World()
    let worker = world.join("w1")
    world.ask(.submit(graph(["a", "b", "c"])))
    world.runAll()
    var joined = graph(["join", "first"], [("first", "join")])
    joined.templates[0].work = .nothing
    world.ask(.submit(joined))
    #expect(world.workers[worker].assigned.map(\.attempt.operation) == [operation(2, 1)])
    for demandClass in 0..<world.scheduler.classes.slots
    where world.scheduler.classes[demandClass].demandClass.isInside {
      #expect(!world.scheduler.fits(1, demandClass))
    }
    world.runAll()
    #expect(world.endings.map(\.row.graph.number) == [1, 2])
    #expect(world.brokenInvariant == nil)
  }
}
