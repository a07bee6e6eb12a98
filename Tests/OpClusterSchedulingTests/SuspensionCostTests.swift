// What a suspension costs (G29): the orders of the workers are gone through once for a whole
// request, however many graphs it names, and not at all if nothing of them is at a worker. Looks
// are counted, not time.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct SuspensionCosts {
  /// Two workers with room for everything, and graphs of two operations each, one of them held by
  /// a worker.
  private func world(graphs count: Int) -> World {
    var world = World()
    world.invariantChecks = .never
    world.join("w1", cpus: Int64(count))
    world.join("w2", cpus: Int64(count))
    for _ in 0..<count { world.ask(.submit(graph(["a", "b"], [("a", "b")]))) }
    world.workers[0].answersRecalls = false
    world.workers[1].answersRecalls = false
    return world
  }

  private func looks(_ world: inout World, _ request: ClientRequest) -> Int {
    let before = world.scheduler.looks
    world.ask(request)
    return world.scheduler.looks - before
  }

  // One walk for all graphs.
  @Test(.checks("G29", "S148"), arguments: [10, 100, 400])
  func manyGraphsAreSuspendedInOneWalk(count: Int) {
    var world = world(graphs: count)
    let all = Selection(graphs: .all)
    #expect(looks(&world, .suspendGraphs(all, true)) <= 2 * count + 8)
    #expect(world.workers.reduce(0) { $0 + $1.recalls.count } >= count)
    #expect(looks(&world, .suspendGraphs(all, false)) <= 16)
    #expect(world.scheduler.brokenInvariant() == nil)
  }

  // Nothing is looked at for a graph of which no worker has anything.
  @Test(.checks("G29"), arguments: [10, 100, 400])
  func whatIsAtNoWorkerIsSuspendedWithoutALook(count: Int) {
    var world = world(graphs: count)
    var waiting = graph(["c"])
    waiting.templates[0].isHeld = true
    world.ask(.submit(waiting))
    let one = Selection.graph(GraphID(UInt32(count + 1)))
    #expect(looks(&world, .suspendGraphs(one, true)) <= 16)
    #expect(looks(&world, .suspendGraphs(one, false)) <= 16)
  }

  // The same for a queue: one walk if it has something at workers, else none.
  @Test(.checks("G29", "S66"), arguments: [10, 100, 400])
  func aQueueIsSuspendedInOneWalk(count: Int) {
    var world = world(graphs: count)
    world.ask(.createQueue(QueueSettings(name: "idle")))
    let suspension = QueueChange(isSuspended: true)
    let resumption = QueueChange(isSuspended: false)
    #expect(looks(&world, .changeQueue("idle", suspension)) <= 16)
    #expect(looks(&world, .changeQueue("idle", resumption)) <= 16)
    #expect(looks(&world, .changeQueue("default", suspension)) <= 2 * count + 8)
    #expect(world.workers.reduce(0) { $0 + $1.recalls.count } >= count)
    #expect(looks(&world, .changeQueue("default", resumption)) <= 16)
    #expect(looks(&world, .changeQueue("default", QueueChange(qos: .userInitiated))) <= 16)
    #expect(world.scheduler.brokenInvariant() == nil)
  }

  // What is tried again and starts before its recall arrives is named once in the answer.
  @Test(.checks("S72")) func whatIsTriedAgainIsNamedOnce() {
    var world = World()
    world.join("w1")
    var submission = graph(["a"])
    submission.templates[0].retry.maximum = 1
    world.ask(.submit(submission))
    world.start(0, operation(1, 0))
    world.end(0, operation(1, 0), .failure())
    world.report(0)
    world.workers[0].answersRecalls = false
    #expect(world.ask(.changeQueue("default", QueueChange(isSuspended: true))) == nil)
    let recalled = world.workers[0].recalls
    #expect(recalled.map(\.operation) == [operation(1, 0)])
    world.start(0, operation(1, 0))
    for attempt in recalled { world.workers[0].answerRecall(attempt) }
    world.report(0)
    #expect(world.replies[world.lastRequest] == .suspended(executing: [operation(1, 0)]))
    #expect(world.brokenInvariant == nil)
  }
}
