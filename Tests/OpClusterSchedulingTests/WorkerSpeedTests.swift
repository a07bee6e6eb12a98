// How much a worker is given ahead of time follows from how fast it runs operations, and not from
// how long its messages take: beside a thousand workers each of them is far away.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct WorkerSpeed {
  /// The way to a worker and back, among many.
  private static let way = Span.milliseconds(40)

  private func world() -> World {
    var world = World()
    world.join("w1", cpus: 1)
    var many = GraphSubmission(name: "many")
    many.templates = [noops("many", 100_000)]
    world.ask(.submit(many))
    return world
  }

  /// Everything that the worker was given begins and ends between two of its reports.
  private func endAtOnce(_ world: inout World) {
    for dispatch in world.workers[0].assigned {
      world.workers[0].outbox.append(.finished(dispatch.attempt, .success))
    }
    world.workers[0].assigned = []
    world.report(0)
  }

  @Test(.checks("S47")) func whatEndsAtOnceIsFetchedAheadHoweverLongTheWay() {
    var world = world()
    for _ in 0..<16 {
      world.now = world.now + Self.way
      endAtOnce(&world)
    }
    let held = world.workers[0].assigned.count
    #expect(held > 100, "\(held) are given at once")
    #expect(world.brokenInvariant == nil)
  }

  // Whose start was told by itself has taken the whole time in between.
  @Test(.checks("S47")) func whatTakesAsLongAsTheWayIsNot() {
    var world = world()
    for _ in 0..<16 {
      let next = world.workers[0].assigned[0].attempt.operation
      world.start(0, next)
      world.report(0)
      world.now = world.now + Self.way
      world.end(0, next)
      world.report(0)
      #expect(world.workers[0].assigned.count == 1)
    }
    #expect(world.brokenInvariant == nil)
  }
}
