// What many workers cost (G29): a turn, a tick and the end of a graph look at the workers that they
// concern, and at no others but for the depth of a tree. Looks are counted, not time.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct WorkerCosts {
  private func world(workers count: Int, cpus: Int64 = 1) -> World {
    var world = World()
    world.invariantChecks = .never
    for at in 0..<count { world.join("w\(at)", cpus: cpus) }
    return world
  }

  private func looks(_ world: inout World, _ body: (inout World) -> Void) -> Int {
    let before = world.scheduler.looks
    body(&world)
    return world.scheduler.looks - before
  }

  private func array(_ count: UInt32) -> GraphSubmission {
    var submission = GraphSubmission(name: "array")
    submission.templates = [noops("a", count)]
    return submission
  }

  // All workers are busy and many operations wait: one ends, and the next one goes there.
  @Test(.checks("G29"), arguments: [4, 32, 256])
  func anOperationCostsNoMoreBesideManyBusyWorkers(count: Int) {
    var world = world(workers: count)
    world.ask(.submit(array(UInt32(count + 1_000))))
    for at in 0..<count {
      world.start(at, world.workers[at].assigned[0].attempt.operation)
      world.report(at)
    }
    var most = 0
    for round in 0..<20 {
      let at = round * 7 % count
      world.now = world.now + .seconds(1)
      let running = world.workers[at].executing[0].operation
      world.end(at, running)
      most = max(most, looks(&world) { $0.report(at) })
      guard let next = world.workers[at].assigned.first?.attempt.operation else {
        Issue.record("worker \(at) has nothing to do")
        return
      }
      world.start(at, next)
      world.report(at)
    }
    #expect(most < 100, "\(most) looks beside \(count) workers")
    #expect(world.scheduler.brokenInvariant() == nil)
  }

  // Each worker has free cpus, and its only token is in use: an operation ends, and the next one
  // gets that token. Nobody looks at the workers without one.
  @Test(.checks("G29"), arguments: [4, 32, 256])
  func anEndCostsNoMoreBesideManyWorkersWithoutATokenLeft(count: Int) {
    let token = Resources.NamedAmount(name: "token", amount: ResourceAmount(1))
    var world = world(workers: 0)
    for at in 0..<count {
      let peer = UInt64(500 + at)
      var worker = FakeWorker(name: "w\(at)", session: WorkerSession(peer), peer: PeerID(peer))
      worker.capacity.cpus = ResourceAmount(4)
      worker.capacity.custom = [token]
      world.workers.append(worker)
      world.greet(at)
    }
    var submission = array(UInt32(count + 1_000))
    submission.templates[0].demand.cpus = ResourceAmount(1)
    submission.templates[0].demand.custom = [token]
    world.ask(.submit(submission))
    for at in 0..<count {
      world.start(at, world.workers[at].assigned[0].attempt.operation)
      world.report(at)
    }
    var most = 0
    for round in 0..<20 {
      let at = round * 7 % count
      world.now = world.now + .milliseconds(1)
      let running = world.workers[at].executing[0].operation
      world.end(at, running)
      most = max(most, looks(&world) { $0.report(at) })
      guard let next = world.workers[at].assigned.first?.attempt.operation else {
        Issue.record("worker \(at) has nothing to do")
        return
      }
      world.start(at, next)
      world.report(at)
    }
    #expect(most < 100, "\(most) looks beside \(count) workers")
    #expect(world.scheduler.brokenInvariant() == nil)
  }

  // All workers are idle: a graph of one operation comes, runs and ends. The kind of its demand is
  // known already: each worker is compared once with a new one.
  @Test(.checks("G29"), arguments: [4, 32, 256])
  func aGraphCostsNoMoreBesideManyIdleWorkers(count: Int) {
    var world = world(workers: count)
    var held = graph(["held"])
    held.templates[0].isHeld = true
    world.ask(.submit(held))
    var most = 0
    for _ in 0..<20 {
      most = max(
        most,
        looks(&world) {
          $0.ask(.submit(graph(["a"])))
          $0.runAll()
        })
    }
    #expect(world.endings.count == 20)
    #expect(most < 200, "\(most) looks beside \(count) workers")
  }

  // A tick looks at those workers to whom something is due.
  @Test(.checks("G29", "G22"), arguments: [4, 32, 256])
  func aTickLooksAtWhoIsDue(count: Int) {
    var world = world(workers: count)
    // One worker speaks after all others.
    world.tick(after: .milliseconds(500))
    let early = looks(&world) { $0.tick(after: .milliseconds(100)) }
    #expect(early < 20, "\(early) looks beside \(count) workers")
    let beats = looks(&world) { $0.tick(after: .seconds(1)) }
    #expect(beats >= count && beats <= 8 * count + 20)
    #expect(world.turn.atOnce.count == count)
    let again = looks(&world) { $0.tick(after: .milliseconds(100)) }
    #expect(again < 20, "\(again) looks beside \(count) workers")
  }

  /// Each worker has ended short operations fast, and then begun one that is not short.
  private func slowWorld(of count: Int) -> World {
    var world = world(workers: count)
    world.ask(.submit(array(UInt32(count * 100))))
    for _ in 0..<2 {
      world.now = world.now + .milliseconds(1)
      for at in 0..<count {
        for dispatch in world.workers[at].assigned { world.start(at, dispatch.attempt.operation) }
        for attempt in world.workers[at].executing { world.end(at, attempt.operation) }
        world.report(at)
      }
    }
    for at in 0..<count {
      world.start(at, world.workers[at].assigned[0].attempt.operation)
      world.report(at)
      #expect(world.workers[at].assigned.count > 2, "short operations are fetched ahead")
    }
    return world
  }

  // All workers hold more than they have room for, and nobody else has any: what was fetched ahead
  // stays there, and no turn of one worker looks at what the others hold.
  @Test(.checks("G29", "S148"), arguments: [4, 32, 256])
  func whatNoRecallHelpsIsNotLookedAt(count: Int) {
    var world = slowWorld(of: count)
    world.tick(after: .milliseconds(500))
    var most = 0
    for round in 0..<20 {
      let at = round * 7 % count
      world.now = world.now + .milliseconds(60)
      let running = world.workers[at].executing[0].operation
      world.end(at, running)
      world.start(at, world.workers[at].assigned[0].attempt.operation)
      most = max(most, looks(&world) { $0.report(at) })
    }
    #expect(most < 100, "\(most) looks beside \(count) workers")
    #expect(world.workers.allSatisfy { $0.recalls.isEmpty })
    #expect(world.scheduler.brokenInvariant() == nil)
  }

  // Who is due a little later is spoken to with the others: a thousand workers do not wake the
  // coordinator a thousand times.
  @Test(.checks("G22", "G29")) func heartbeatsLeaveTogether() {
    var world = World()
    for at in 0..<100 {
      world.now = world.now + .milliseconds(1)
      world.join("w\(at)")
    }
    world.tick(after: .milliseconds(901))
    #expect(world.turn.atOnce.count == 100)
    world.tick(after: .milliseconds(500))
    #expect(world.turn.atOnce.isEmpty)
    world.tick(after: .milliseconds(500))
    #expect(world.turn.atOnce.count == 100)
  }

  // In the middle of a turn, when some have been heard of: the others are not gone through again.
  @Test(.checks("G29"), arguments: [4, 32, 256])
  func theNextDeadlineCostsWhatHasChanged(count: Int) throws {
    var world = world(workers: count)
    world.tick(after: .milliseconds(500))
    let next = world.nextReport(of: count / 2)
    let report = try #require(next)
    var turn = SchedulingTurn()
    turn.begin(at: world.now, wall: .unknown)
    world.scheduler.handle(report, into: &turn)
    var steps = 0
    let deadline = world.scheduler.nextDeadline(&steps)
    #expect(steps <= 2, "\(steps) looks beside \(count) workers")
    #expect(deadline == world.scheduler.nextDeadlineOfAll())
  }

  private func endAtOnce(_ at: Int, _ world: inout World) {
    for dispatch in world.workers[at].assigned {
      world.workers[at].outbox.append(.finished(dispatch.attempt, .success))
    }
    world.workers[at].assigned = []
    world.report(at)
  }

  // Many are slow, and one has room for nothing that they hold. Whether a recall helps is not known
  // without a look; but reports do not each look at all of them, of however few operations each.
  @Test(.checks("G29", "S148"), arguments: [64, 256, 1_024])
  func reportsDoNotEachLookAtManySlowWorkers(count: Int) {
    var world = world(workers: count)
    world.invariantChecks = .never
    world.ask(.submit(array(UInt32(count * 4))))
    for _ in 0..<2 {
      world.now = world.now + .milliseconds(4)
      for at in 0..<count { endAtOnce(at, &world) }
    }
    world.tick(after: .milliseconds(500))
    let held = world.workers.reduce(0) { $0 + $1.assigned.count }
    #expect(held > 8, "\(held) are held")
    world.join("free", cpus: 1, types: [OperationType(name: "sleep")])
    var all = 0
    for _ in 0..<100 {
      world.tick(after: Span(nanoseconds: 100_000))
      all += looks(&world) { $0.report(0) }
    }
    // A look for each two microseconds, and the last time all at once.
    #expect(all < 5_000 + 3 * held, "\(all) looks beside \(count) workers in 10 ms")
  }

  // One place has become free: one operation comes back, not one from each of the slow.
  @Test(.checks("S47", "S148"), arguments: [4, 32])
  func aFreePlaceRecallsAsManyAsItTakes(count: Int) throws {
    var world = world(workers: count)
    world.ask(.submit(array(UInt32(count * 12))))
    let queue = try #require(world.scheduler.queues.numbers.first)
    while !world.scheduler.queues[queue].line.isEmpty {
      world.now = world.now + .milliseconds(40)
      for at in 0..<count where !world.scheduler.queues[queue].line.isEmpty {
        endAtOnce(at, &world)
      }
    }
    for at in 0..<count { world.workers[at].answersRecalls = false }
    world.tick(after: .milliseconds(500))
    #expect(world.workers.count { $0.assigned.count > 1 } > 1)
    world.join("free", cpus: 1)
    world.tick(after: .milliseconds(60))
    #expect(world.workers.reduce(0) { $0 + $1.recalls.count } == 1)
  }
}
