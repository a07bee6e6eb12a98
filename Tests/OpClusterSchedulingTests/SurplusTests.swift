// When a worker has to give unstarted operations back, and when it must not.

import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct Surplus {
  // S47 S148: a worker whose other slot has been busy for long still starts what fits.
  @Test func whatFitsBesideALongOperationIsNotRecalled() {
    var world = World()
    world.join("w1", cpus: 2)
    world.ask(.submit(graph(["long"])))
    world.start(0, operation(1, 0))
    world.report(0)
    world.tick(after: .milliseconds(900))
    world.workers[0].answersRecalls = false
    world.ask(.submit(graph(["short"])))
    #expect(world.workers[0].held.map(\.attempt.operation) == [operation(2, 0)])
    #expect(world.workers[0].recalls.isEmpty)
  }

  // S47: what was fetched ahead while operations were short comes back when one turns out long.
  @Test func whatWasFetchedAheadComesBackWhenTheWorkerTurnsSlow() {
    var world = World()
    world.join("w1", cpus: 1)
    var many = GraphSubmission(name: "many")
    many.templates = [noops("many", 3_000)]
    world.ask(.submit(many))
    for _ in 0..<4 {
      world.now = world.now + .milliseconds(1)
      for dispatch in world.workers[0].held { world.start(0, dispatch.attempt.operation) }
      for attempt in world.workers[0].executing { world.end(0, attempt.operation) }
      world.report(0)
    }
    let held = world.workers[0].held.count
    #expect(held > 2, "short operations are fetched ahead")
    let first = world.workers[0].held[0].attempt.operation
    world.start(0, first)
    world.report(0)
    world.tick(after: .milliseconds(500))
    world.report(0)
    #expect(world.workers[0].held.isEmpty)
    world.join("w2", cpus: 1)
    #expect(world.workers[1].held.count == 1)
    world.runAll()
    #expect(world.endings.count == 1)
    #expect(world.brokenInvariant == nil)
  }

  // HB: what is left with a worker once its surplus has been looked at keeps nobody awake.
  @Test func aHeldOperationAsksForNoTicksOfItsOwn() throws {
    var world = World()
    world.join("w1", cpus: 1)
    world.ask(.submit(graph(["a"])))
    let first = try #require(world.scheduler.nextDeadline())
    #expect(first < world.now + .milliseconds(100), "its surplus is looked at soon")
    world.tick(after: .milliseconds(500))
    #expect(world.workers[0].held.count == 1)
    let next = try #require(world.scheduler.nextDeadline())
    #expect(next >= world.now + .milliseconds(400))
  }
}
