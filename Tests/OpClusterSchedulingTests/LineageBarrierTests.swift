// What runs again takes its old place in its queue, which may be before a barrier that is ready, at
// a worker, or between two attempts by then (S77, S78, S153).

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite(.checks("S77", "S153")) struct LineageBarrierTests {
  private static let made = operation(1, 0)
  private static let barrier = operation(1, 1)
  private static let reader = operation(1, 2)
  /// The one that runs `made` again.
  private static let again = operation(2, 0)

  /// `make` at worker `a`, a barrier behind it at worker `b`, and `read` of what it made in another
  /// queue, which is held.
  private static func world(
    _ change: (inout GraphSubmission) -> Void = { _ in }
  ) throws -> World {
    var world = ContentTests.world()
    wait(&world)
    wait(&world)
    var graph = GraphSubmission(name: "g")
    graph.queues = [.named("default"), .own(QueueSettings(name: "readers"))]
    for (name, worker) in [("make", "a"), ("barrier", "b"), ("read", "b")] {
      var template = noops(name)
      template.requirements = [LabelRequirement(key: "worker", values: [worker])]
      graph.templates.append(template)
    }
    graph.templates[1].isBarrier = true
    graph.templates[2].wantsInputs = true
    graph.templates[2].isHeld = true
    graph.templates[2].queue = 1
    graph.groupEdges = [GroupEdge(from: 0, to: 2, policy: .succeeded)]
    change(&graph)
    world.ask(.submit(graph))
    try run(made, leaving: ContentTests.content(1), &world)
    return world
  }

  private static func run(
    _ id: OperationID, leaving content: StoredContent, _ world: inout World
  ) throws {
    let at = try #require(world.worker(of: id), "\(id) is not handed over")
    world.start(at, id)
    world.end(at, id, ContentTests.result(content))
    world.workers[at].held = [content]
    world.report(at)
  }

  /// What `make` left is lost, and `read` is released: `make` has to run again.
  private static func lose(_ world: inout World) throws {
    world.workers[0].lost = [try ContentTests.content(1).digest]
    world.report(0)
    world.ask(.hold(.operations([reader]), false))
    wait(&world)
    #expect(world.scheduler.graphs.numbers == [1, 2])
  }

  /// Long enough for a content to be missed; all workers are heard meanwhile.
  private static func wait(_ world: inout World) {
    for _ in 0..<20 {
      world.tick(after: .seconds(1))
      for at in world.workers.indices { world.report(at) }
    }
  }

  /// A replay and a restore see the same, and the restored one goes on the same way.
  private static func expectSameElsewhere(_ world: World) {
    let snapshot = world.scheduler.snapshot()
    #expect(world.replayed().snapshot() == snapshot)
    var restored = Scheduler()
    restored.restore(snapshot, commit: world.scheduler.lastCommit)
    #expect(restored.snapshot() == snapshot)
    #expect(restored.brokenInvariant() == nil)
  }

  /// It is unready until that has ended, as with a late edge; its observers are told.
  @Test func aReadyBarrierWaits() throws {
    // Nobody may run it yet.
    var world = try Self.world {
      $0.templates[1].requirements = [LabelRequirement(key: "worker", values: ["c"])]
    }
    #expect(world.cell(1, 1)?.phase == .ready)
    try Self.lose(&world)
    #expect(world.cell(1, 1)?.phase == .waiting)
    #expect(world.kinds(1, 1).suffix(2) == [.isReady(true), .isReady(false)])
    ContentTests.join("c", &world)
    #expect(world.worker(of: Self.barrier) == nil)
    Self.expectSameElsewhere(world)
    try Self.run(Self.again, leaving: ContentTests.content(1), &world)
    #expect(world.kinds(1, 1).last == .isReady(true))
    #expect(world.worker(of: Self.barrier) == 2)
    #expect(world.brokenInvariant == nil)
  }

  /// A barrier that runs, runs alone in its queue: what came before it meanwhile begins after it.
  @Test(.checks("S78")) func aRunningBarrierIsWaitedFor() throws {
    var world = try Self.world()
    world.start(1, Self.barrier)
    world.report(1)
    try Self.lose(&world)
    #expect(world.worker(of: Self.again) == nil)
    #expect(world.cell(2, 0)?.phase == .waiting)
    Self.expectSameElsewhere(world)
    world.end(1, Self.barrier)
    world.report(1)
    #expect(world.worker(of: Self.again) == 0)
    #expect(world.brokenInvariant == nil)
  }

  /// One that a worker has and gives back unstarted is after what came before it meanwhile.
  @Test func aBarrierThatIsGivenBackYields() throws {
    var world = try Self.world()
    #expect(world.worker(of: Self.barrier) == 1)
    try Self.lose(&world)
    #expect(world.worker(of: Self.again) == nil)
    world.ask(.hold(.operations([Self.barrier]), true))
    world.report(1)
    #expect(world.cell(1, 1)?.isHeld == true)
    #expect(world.worker(of: Self.again) == 0)
    Self.expectSameElsewhere(world)
    world.ask(.hold(.operations([Self.barrier]), false))
    #expect(world.worker(of: Self.barrier) == nil)
    try Self.run(Self.again, leaving: ContentTests.content(1), &world)
    #expect(world.worker(of: Self.barrier) == 1)
    #expect(world.brokenInvariant == nil)
  }

  /// Between two attempts of a barrier others may come before the second.
  @Test func aBarrierThatIsRetriedYields() throws {
    var world = try Self.world { $0.templates[1].retry = RetryPolicy(maximum: 1) }
    world.start(1, Self.barrier)
    world.report(1)
    try Self.lose(&world)
    #expect(world.worker(of: Self.again) == nil)
    world.end(1, Self.barrier, AttemptResult.failure())
    world.report(1)
    #expect(world.worker(of: Self.again) == 0)
    #expect(world.worker(of: Self.barrier) == nil)
    Self.expectSameElsewhere(world)
    try Self.run(Self.again, leaving: ContentTests.content(1), &world)
    #expect(world.worker(of: Self.barrier) == 1)
    #expect(world.brokenInvariant == nil)
  }

  /// A barrier that fails, since one of its inputs cannot be made again, fails although another
  /// could; nothing runs again for it.
  @Test func aBarrierOfWhichOneInputIsLostFails() throws {
    var world = ContentTests.world()
    Self.wait(&world)
    Self.wait(&world)
    var graph = GraphSubmission(name: "g")
    for (name, worker) in [("once", "a"), ("make", "a"), ("barrier", "b")] {
      var template = noops(name)
      template.requirements = [LabelRequirement(key: "worker", values: [worker])]
      graph.templates.append(template)
    }
    graph.templates[0].isReproducible = false
    graph.templates[2].isBarrier = true
    graph.templates[2].wantsInputs = true
    graph.templates[2].isHeld = true
    graph.groupEdges = [
      GroupEdge(from: 0, to: 2, policy: .succeeded), GroupEdge(from: 1, to: 2, policy: .succeeded),
    ]
    world.ask(.submit(graph))
    try Self.run(operation(1, 0), leaving: ContentTests.content(1), &world)
    try Self.run(operation(1, 1), leaving: ContentTests.content(2), &world)
    world.workers[0].lost = [
      try ContentTests.content(1).digest, try ContentTests.content(2).digest,
    ]
    world.report(0)
    world.ask(.hold(.operations([operation(1, 2)]), false))
    Self.wait(&world)
    #expect(world.scheduler.graphs.numbers.isEmpty)
    #expect(world.history.last?.result.cause == .inputUnavailable)
    #expect(world.brokenInvariant == nil)
  }

  /// The one that waits for what runs again may be a barrier between two attempts itself.
  @Test func aRetriedBarrierThatNeedsItYields() throws {
    var world = try Self.world {
      $0.templates[1].retry = RetryPolicy(maximum: 1)
      $0.templates[1].wantsInputs = true
      $0.groupEdges.append(GroupEdge(from: 0, to: 1, policy: .succeeded))
    }
    world.start(1, Self.barrier)
    world.report(1)
    world.workers[0].lost = [try ContentTests.content(1).digest]
    world.report(0)
    world.end(1, Self.barrier, AttemptResult.failure())
    world.report(1)
    Self.wait(&world)
    #expect(world.worker(of: Self.again) == 0)
    #expect(world.worker(of: Self.barrier) == nil)
    Self.expectSameElsewhere(world)
    try Self.run(Self.again, leaving: ContentTests.content(1), &world)
    #expect(world.worker(of: Self.barrier) == 1)
    #expect(world.brokenInvariant == nil)
  }
}
