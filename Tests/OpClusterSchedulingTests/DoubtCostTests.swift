// What operations cost that not every worker may take (G29): those that lost their worker, and
// those that avoid one. However many wait, a turn looks at a few of them, and none is forgotten.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct DoubtCosts {
  private func looks(_ world: inout World, _ body: (inout World) -> Void) -> Int {
    let before = world.scheduler.looks + world.scheduler.assignmentPass.steps
    body(&world)
    return world.scheduler.looks + world.scheduler.assignmentPass.steps - before
  }

  private func array(_ name: String, _ count: UInt32, avoids: Bool = false) -> GraphSubmission {
    var submission = GraphSubmission(name: name)
    submission.templates = [noops(name, count)]
    submission.templates[0].retry = RetryPolicy(maximum: 1, avoidsWorker: avoids)
    return submission
  }

  /// One worker with all of an array is lost, while others are busy.
  private func worldOfLost(_ count: Int) -> World {
    var world = World()
    world.invariantChecks = .never
    world.join("large", cpus: Int64(count))
    world.ask(.submit(array("lost", UInt32(count))))
    while world.workers[0].assigned.count < count { world.tick(after: .zero) }
    for at in 1...2 { world.join("small\(at)", cpus: 1) }
    world.ask(.submit(array("busy", 8)))
    for at in 1...2 {
      world.start(at, world.workers[at].assigned[0].attempt.operation)
      world.report(at)
    }
    for _ in 0..<20 {
      world.tick(after: .seconds(1))
      for at in 1...2 { world.report(at) }
    }
    return world
  }

  // They wait in line with the others of their class, where nobody has room.
  @Test(.checks("G17", "G29"), arguments: [4, 64, 1_024])
  func whatLostItsWorkerCostsNothingWhileAllAreBusy(count: Int) {
    var world = worldOfLost(count)
    #expect(world.cell(1, 0)?.losses == 1)
    #expect(world.scheduler.doubtful.isEmpty)
    #expect(looks(&world) { $0.tick(after: .milliseconds(10)) } < 50)
    #expect(looks(&world) { $0.ask(.submit(graph(["a"]))) } < 100)
    #expect(world.scheduler.brokenInvariant() == nil)
  }

  // Only the worker that they avoid has room. As soon as another has, all of them get there.
  @Test(.checks("G29"), arguments: [4, 64, 512])
  func whatAvoidsAWorkerIsTriedInSmallNumbers(count: Int) {
    var world = World()
    world.invariantChecks = .never
    world.join("other", cpus: 1)
    world.ask(.submit(array("busy", 1)))
    world.start(0, operation(1, 0))
    world.report(0)
    world.join("failing", cpus: Int64(count))
    world.ask(.submit(array("avoiding", UInt32(count), avoids: true)))
    while let next = world.workers[1].assigned.first?.attempt.operation {
      world.start(1, next)
      world.end(1, next, .failure())
      world.report(1)
    }
    #expect(world.scheduler.doubtful.count >= count - Limits.doubtfulPerTurn)
    for _ in 0..<5 {
      #expect(looks(&world) { $0.tick(after: .milliseconds(10)) } < 50 * Limits.doubtfulPerTurn)
    }
    world.end(0, operation(1, 0))
    world.report(0)
    var rounds = 0
    while rounds < 20 * count, world.endings.count < 2 {
      rounds += 1
      for next in world.workers[0].assigned.map(\.attempt.operation) {
        world.start(0, next)
        world.end(0, next)
      }
      world.report(0)
      world.tick(after: .milliseconds(10))
    }
    #expect(world.endings.count == 2, "some were forgotten")
    #expect(world.scheduler.doubtful.isEmpty)
    #expect(world.scheduler.brokenInvariant() == nil)
  }

  // Many lost their worker as often as they may but for once, at the same time. The others have
  // room, and one such operation each: a turn looks for a worker for a few, and none is forgotten.
  @Test(.checks("G17", "G29"), arguments: [32, 256])
  func manyNearTheirLastLossAreTriedInSmallNumbers(count: Int) {
    var world = World()
    world.invariantChecks = .never
    world.join("large", cpus: Int64(count))
    var submission = array("lost", UInt32(count))
    submission.templates[0].maximumLosses = 3
    world.ask(.submit(submission))
    while world.workers[0].assigned.count < count { world.tick(after: .zero) }
    for at in 1...8 { world.join("small\(at)", cpus: 64) }
    var most = 0
    var ticks = 0
    func isLost(_ world: World) -> Bool { world.cell(1, 0)?.losses == 1 }
    while !isLost(world), ticks < 100 {
      ticks += 1
      world.now = world.now + .seconds(1)
      for at in 1...8 { world.report(at) }
      most = max(most, looks(&world) { $0.tick(after: .zero) })
    }
    #expect(isLost(world))
    #expect(most < 8 * count + 200 * Limits.doubtfulPerTurn, "\(most) looks for \(count)")
    // Those for which no worker was looked for yet are due at once; then nothing is.
    var turns = 0
    while world.scheduler.doubtfulUntried > 0, turns < count {
      turns += 1
      let deadline = world.scheduler.nextDeadline()
      #expect(deadline.map { $0 <= world.now } ?? false)
      #expect(looks(&world) { $0.tick(after: .zero) } < 200 * Limits.doubtfulPerTurn)
    }
    #expect(turns <= count / Limits.doubtfulPerTurn + 1)
    #expect((1...8).allSatisfy { world.workers[$0].assigned.count == 1 })
    var rounds = 0
    while rounds < 4 * count, world.endings.isEmpty {
      rounds += 1
      for at in 1...8 {
        for next in world.workers[at].assigned.map(\.attempt.operation) {
          world.start(at, next)
          world.end(at, next)
        }
        world.report(at)
      }
      world.tick(after: .milliseconds(10))
    }
    #expect(world.endings.count == 1, "some were forgotten")
    #expect(world.scheduler.brokenInvariant() == nil)
  }
}
