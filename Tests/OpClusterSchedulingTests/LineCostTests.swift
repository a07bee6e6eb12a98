// What waits in many lines and for many demands costs a turn nothing (G29): neither where nothing
// has changed, nor where one worker has, nor where something enters that has nothing to do with it.
// Steps are counted, not time.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct LineCosts {
  private static let other = OperationType(name: "other")

  /// Two busy workers, and one with much room for operations of another type alone: the most that
  /// is free at any worker says nothing about what fits.
  private func world() -> World {
    var world = World()
    world.invariantChecks = .never
    for at in 0..<2 {
      var worker = FakeWorker(
        name: "w\(at + 1)", session: WorkerSession(UInt64(at + 1)),
        peer: PeerID(UInt64(100 + at)))
      worker.capacity.cpus = ResourceAmount(1)
      worker.labels = [Label(key: "world", value: "yes")]
      world.workers.append(worker)
      world.greet(at)
    }
    world.join("other", cpus: 8, types: [Self.other])
    var running = GraphSubmission(name: "running")
    running.templates = [noops("a", 200)]
    world.ask(.submit(running))
    return world
  }

  private func submit(_ name: String, to queue: String, _ world: inout World) {
    var one = GraphSubmission(name: name)
    one.queues = [.named(queue)]
    one.templates = [noops("a")]
    world.ask(.submit(one))
  }

  private func lines(_ count: Int, pool: [LabelRequirement] = []) -> World {
    var world = world()
    for number in 0..<count {
      world.ask(.createQueue(QueueSettings(name: "q\(number)", pool: pool)))
      submit("one", to: "q\(number)", &world)
    }
    return world
  }

  private func demands(_ count: Int) -> World {
    var world = world()
    var submission = GraphSubmission(name: "demands")
    submission.templates = (0..<count).map { noops("t\($0)") }
    for at in 0..<count { submission.templates[at].demand.memoryBytes = Int64(at + 1) }
    world.ask(.submit(submission))
    return world
  }

  private func steps(_ world: inout World, _ body: (inout World) -> Void) -> Int {
    let before = world.scheduler.assignmentPass.steps + world.scheduler.looks
    body(&world)
    return world.scheduler.assignmentPass.steps + world.scheduler.looks - before
  }

  private func check(_ world: inout World, _ name: String) {
    // The windows of the workers have ended with time.
    for _ in 0..<3 { world.tick(after: .milliseconds(100)) }
    let tick = steps(&world) { $0.tick(after: .milliseconds(10)) }
    #expect(tick < 60, "\(name): a tick takes \(tick) steps")
    let question = steps(&world) { $0.ask(.queues(named: "default")) }
    #expect(question < 20, "\(name): a question takes \(question) steps")
    var kept = GraphSubmission(name: "kept")
    kept.templates = [OperationTemplate(name: "a", work: .call(Self.other))]
    kept.templates[0].isHeld = true
    world.ask(.submit(kept))
    kept.templates[0].isHeld = false
    let graph = steps(&world) { world in
      world.ask(.submit(kept))
      let operation = world.workers[2].assigned.last?.attempt.operation
      guard let operation else {
        Issue.record("\(name): nobody runs it")
        return
      }
      world.start(2, operation)
      world.end(2, operation)
      world.report(2)
    }
    #expect(graph < 400, "\(name): a graph takes \(graph) steps")
    for round in 0..<20 {
      guard let next = world.workers[round % 2].assigned.first?.attempt.operation else {
        Issue.record("\(name): worker \(round % 2) has nothing")
        return
      }
      world.now = world.now + .milliseconds(100)
      world.start(round % 2, next)
      world.end(round % 2, next)
      let end = steps(&world) { $0.report(round % 2) }
      #expect(end < 400, "\(name): an end takes \(end) steps")
    }
    #expect(world.brokenInvariant == nil, "\(name)")
  }

  @Test(.checks("G29"), arguments: [30, 300, 3_000]) func manyLines(count: Int) {
    var world = lines(count)
    check(&world, "\(count) lines")
  }

  // Each queue has a pool, whose workers are busy.
  @Test(.checks("G29", "S146"), arguments: [30, 300, 3_000]) func manyPools(count: Int) {
    var world = lines(count, pool: [LabelRequirement(key: "world", values: ["yes"])])
    check(&world, "\(count) lines with pools")
  }

  @Test(.checks("G29"), arguments: [30, 300, 3_000]) func manyDemands(count: Int) {
    var world = demands(count)
    check(&world, "\(count) demands")
  }

  // In rotation: each queue gets one operation before any gets two (S60), also those that entered
  // in another order, and what was found full before is found again.
  @Test(.checks("S60")) func sleepingQueuesAreServedInRotation() {
    var world = World()
    world.join("w1", cpus: 1)
    for name in ["a", "b", "c"] { world.ask(.createQueue(QueueSettings(name: name))) }
    for name in ["c", "a", "b", "b", "a", "c"] { submit(name, to: name, &world) }
    var served: [String] = []
    while let next = world.workers[0].assigned.first {
      let queue = world.scheduler.graphs[next.attempt.operation.graph.number].queue(of: 0, stage: 0)
      served.append(world.scheduler.queues[queue.number].settings.name)
      world.tick(after: .seconds(1))
      world.start(0, next.attempt.operation)
      world.end(0, next.attempt.operation)
      world.report(0)
    }
    #expect(served == ["c", "a", "b", "c", "a", "b"])
    #expect(world.brokenInvariant == nil)
  }

  // A queue at its limit or suspended sleeps as well, and nobody knows what fits when it wakes.
  @Test(.checks("S64", "S71")) func aQueueThatOpensAgainIsLookedAt() {
    var world = World()
    world.join("w1", cpus: 4)
    world.ask(.createQueue(QueueSettings(name: "a", maximumConcurrent: 1)))
    for _ in 0..<4 { submit("one", to: "a", &world) }
    #expect(world.workers[0].assigned.count == 1)
    world.ask(.changeQueue("a", QueueChange(limit: .atMost(2))))
    #expect(world.workers[0].assigned.count == 2)
    world.ask(.changeQueue("a", QueueChange(limit: .atMost(3), isSuspended: true)))
    world.report(0)
    world.tick(after: .seconds(1))
    world.ask(.changeQueue("a", QueueChange(isSuspended: false)))
    #expect(world.workers[0].assigned.count == 3)
    world.ask(.changeQueue("a", QueueChange(qos: .userInteractive, limit: .unlimited)))
    #expect(world.workers[0].assigned.count == 4)
    #expect(world.brokenInvariant == nil)
  }
}
