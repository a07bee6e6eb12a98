// When a worker has to give unstarted operations back, and when it must not.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct Surplus {
  // A worker whose other slot has been busy for long still starts what fits.
  @Test(.checks("S47", "S148")) func whatFitsBesideALongOperationIsNotRecalled() {
    var world = World()
    world.join("w1", cpus: 2)
    world.ask(.submit(graph(["long"])))
    world.start(0, operation(1, 0))
    world.report(0)
    world.tick(after: .milliseconds(900))
    world.workers[0].answersRecalls = false
    world.ask(.submit(graph(["short"])))
    #expect(world.workers[0].assigned.map(\.attempt.operation) == [operation(2, 0)])
    #expect(world.workers[0].recalls.isEmpty)
  }

  /// A worker with one cpu that has ended short operations fast, and then got a long one.
  private func slowWorld(of count: UInt32 = 600, queue: QueueSettings? = nil) -> World {
    var world = World()
    world.join("w1", cpus: 1)
    var many = GraphSubmission(name: "many")
    many.templates = [noops("many", count)]
    if let queue {
      world.ask(.createQueue(queue))
      many.queues = [.named(queue.name)]
    }
    world.ask(.submit(many))
    for _ in 0..<4 {
      world.now = world.now + .milliseconds(1)
      for dispatch in world.workers[0].assigned { world.start(0, dispatch.attempt.operation) }
      for attempt in world.workers[0].executing { world.end(0, attempt.operation) }
      world.report(0)
    }
    world.start(0, world.workers[0].assigned[0].attempt.operation)
    world.report(0)
    return world
  }

  // What was fetched ahead stays while nobody else could take it.
  @Test(.checks("S47", "S148")) func whatNobodyElseCanTakeStays() {
    var world = slowWorld()
    let held = world.workers[0].assigned.count
    #expect(held > 2, "short operations are fetched ahead")
    world.tick(after: .milliseconds(500))
    world.report(0)
    #expect(world.workers[0].assigned.count == held)
  }

  // Another worker takes as many as it has room for, and no more come back.
  @Test(.checks("S47")) func whatAnotherWorkerCanTakeComesBack() {
    var world = slowWorld()
    let held = world.workers[0].assigned.count
    world.tick(after: .milliseconds(500))
    world.join("w2", cpus: 2)
    world.tick(after: .milliseconds(60))
    world.report(0)
    #expect(world.workers[0].assigned.count == held - 2)
    #expect(world.workers[1].assigned.count == 2)
    world.runAll()
    #expect(world.endings.count == 1)
    #expect(world.brokenInvariant == nil)
  }

  // What asks for no cpu fits where none is free.
  @Test(.checks("S47")) func whatNeedsNoCPUComesBack() {
    var world = World()
    world.join("w1", cpus: 0)
    var many = GraphSubmission(name: "many")
    many.templates = [noops("many", 600)]
    many.templates[0].demand = Resources(cpus: .zero, memoryBytes: 1 << 30)
    world.ask(.submit(many))
    for _ in 0..<3 {
      world.now = world.now + .milliseconds(1)
      for dispatch in world.workers[0].assigned { world.start(0, dispatch.attempt.operation) }
      for attempt in world.workers[0].executing { world.end(0, attempt.operation) }
      world.report(0)
    }
    for _ in 0..<4 { world.start(0, world.workers[0].assigned[0].attempt.operation) }
    world.report(0)
    world.tick(after: .milliseconds(500))
    let held = world.workers[0].assigned.count
    #expect(held > 100, "short operations are fetched ahead")
    world.join("w2", cpus: 0)
    world.tick(after: .milliseconds(60))
    world.report(0)
    #expect(world.workers[0].assigned.count == held - 4)
    #expect(world.workers[1].assigned.count == 4)
    #expect(world.brokenInvariant == nil)
  }

  // A higher level does not wait behind what was fetched ahead.
  @Test(.checks("S47")) func aHigherLevelOvertakesWhatWasFetchedAhead() {
    var world = slowWorld(of: 3_000)
    var urgent = graph(["urgent"])
    urgent.templates[0].priority = .veryHigh
    // It has become slow: it may hold nothing more, and gives back what it holds.
    world.tick(after: .milliseconds(500))
    world.report(0)
    world.ask(.submit(urgent))
    world.tick(after: .milliseconds(100))
    world.report(0)
    #expect(world.workers[0].assigned.isEmpty)
    world.end(0, world.workers[0].executing[0].operation)
    world.report(0)
    #expect(world.workers[0].assigned.first?.attempt.operation == operation(2, 0))

    // As long as it is fast it gets it at once, and takes it first by its own order.
    var fast = slowWorld(of: 3_000)
    fast.ask(.submit(urgent))
    #expect(fast.workers[0].assigned.contains { $0.attempt.operation == operation(2, 0) })
    #expect(fast.workers[0].recalls.isEmpty && fast.brokenInvariant == nil)
  }

  // Nor does a queue of higher service, whichever it is: the first one as any other.
  @Test(.checks("S60"), arguments: [true, false])
  func aHigherServiceOvertakesWhatWasFetchedAhead(isFirst: Bool) {
    var world = slowWorld(of: 3_000, queue: QueueSettings(name: "low", qos: .background))
    world.ask(.createQueue(QueueSettings(name: "other")))
    world.tick(after: .milliseconds(500))
    world.report(0)
    #expect(!world.workers[0].assigned.isEmpty)
    var urgent = graph(["urgent"])
    urgent.queues = [.named(isFirst ? "default" : "other")]
    world.ask(.submit(urgent))
    world.tick(after: .milliseconds(100))
    world.report(0)
    #expect(world.workers[0].assigned.isEmpty)
    world.end(0, world.workers[0].executing[0].operation)
    world.report(0)
    #expect(world.workers[0].assigned.first?.attempt.operation == operation(2, 0))
    #expect(world.brokenInvariant == nil)
  }
}
