// The workers of pools (S146): chosen as those of all are, whatever becomes of them; and what that
// costs. Looks are counted, not time.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct WorkerPoolTests {
  private func pool(_ values: String...) -> [LabelRequirement] {
    [LabelRequirement(key: "site", values: values)]
  }

  private func one(in pool: [LabelRequirement]) -> GraphSubmission {
    var submission = GraphSubmission(name: "one")
    submission.queues = [.own(QueueSettings(name: "own", pool: pool))]
    submission.templates = [noops("a")]
    return submission
  }

  private func join(_ name: String, site: String, cpus: Int64 = 1, _ world: inout World) {
    var worker = FakeWorker(
      name: name, session: WorkerSession(UInt64(world.workers.count + 1)),
      peer: PeerID(UInt64(100 + world.workers.count)))
    worker.capacity.cpus = ResourceAmount(cpus)
    worker.labels = [Label(key: "site", value: site)]
    world.workers.append(worker)
    world.greet(world.workers.count - 1)
  }

  private func looks(_ world: inout World, _ body: (inout World) -> Void) -> Int {
    let before = world.scheduler.looks
    body(&world)
    return world.scheduler.looks - before
  }

  // Each graph has a queue of its own with the same pool: half of the workers, every second one.
  @Test(.checks("G29", "S146"), arguments: [8, 64, 512])
  func aGraphWithAPoolCostsNoMoreBesideManyWorkers(count: Int) {
    var world = World()
    world.invariantChecks = .never
    for at in 0..<count { join("w\(at)", site: at.isMultiple(of: 2) ? "a" : "b", &world) }
    // The first one makes the pool; the others keep its workers busy.
    for _ in 0...count / 2 + 40 { world.ask(.submit(one(in: pool("a", "c")))) }
    for at in stride(from: 0, to: count, by: 2) {
      guard let first = world.workers[at].assigned.first else { continue }
      world.start(at, first.attempt.operation)
      world.report(at)
    }
    // It takes the changes of all of them over, which they paid for.
    world.ask(.submit(one(in: pool("a", "c"))))
    var most = 0
    for round in 0..<20 {
      let at = round * 14 % count
      world.now = world.now + .seconds(1)
      guard let running = world.workers[at].executing.first?.operation else {
        Issue.record("worker \(at) has nothing to do")
        return
      }
      world.end(at, running)
      most = max(
        most, looks(&world) { $0.report(at) },
        looks(&world) { $0.ask(.submit(one(in: pool("a", "c")))) })
      guard let next = world.workers[at].assigned.first?.attempt.operation else {
        Issue.record("worker \(at) got nothing")
        return
      }
      world.start(at, next)
      world.report(at)
    }
    #expect(most < 150, "\(most) looks beside \(count) workers")
    #expect(world.scheduler.workerPools.count == 1)
    #expect(world.scheduler.brokenInvariant() == nil)
  }

  // A resource that nobody has, by a new name each time, renews no worker.
  @Test(.checks("G29"), arguments: [8, 64, 512]) func aResourceThatNobodyHas(count: Int) {
    var world = World()
    world.invariantChecks = .never
    for at in 0..<count { world.join("w\(at)") }
    var most = 0
    for name in ["a", "b", "c"] {
      var submission = one(in: [])
      let wanted = Resources.NamedAmount(name: name, amount: ResourceAmount(1))
      submission.templates[0].demand.custom = [wanted]
      most = max(most, looks(&world) { $0.ask(.submit(submission)) })
    }
    #expect(most < 40, "\(most) looks beside \(count) workers")
    #expect(world.workers.allSatisfy { $0.assigned.isEmpty })
    #expect(world.scheduler.brokenInvariant() == nil)
  }

  // Workers come with other labels, drain, leave and return; queues come with all kinds of pools.
  // The invariants compare each choice with that by a look at each worker.
  @Test(.checks("S146"), arguments: 0..<60) func poolsFollowTheirWorkers(seed: UInt64) {
    var chance = Seeded(state: seed)
    var world = World()
    world.invariantChecks = .afterEveryTurn
    for at in 0..<(2 + chance.below(6)) { join("w\(at)", site: site(&chance), &world) }
    for _ in 0..<80 {
      let at = chance.below(world.workers.count)
      switch chance.below(9) {
      case 0, 1, 2:
        var submission = one(in: chance.chance(80) ? pool(site(&chance), site(&chance)) : [])
        // Twice the same is no pool.
        submission.templates[0].count = UInt32(1 + chance.below(4))
        world.ask(.submit(submission))
      case 3:
        world.workers[at].labels = [Label(key: "site", value: site(&chance))]
        world.greet(at)
      case 4: world.ask(.drainWorker(world.workers[at].name))
      case 5: world.ask(.resumeWorker(world.workers[at].name))
      case 6: world.input(.gone(world.workers[at].peer))
      case 7: world.tick(after: .seconds(Int64(chance.below(20))))
      default:
        if let next = world.workers[at].assigned.first?.attempt.operation { world.start(at, next) }
        if let running = world.workers[at].executing.first?.operation { world.end(at, running) }
        world.report(at)
      }
      #expect(world.brokenInvariant == nil, "seed \(seed)")
      if world.brokenInvariant != nil { return }
    }
  }

  private func site(_ chance: inout Seeded) -> String {
    ["a", "b", "c"].randomElement(using: &chance) ?? "a"
  }

  // Of more pools than are followed those leave that nobody asks for. Where all are in use most
  // stay: queues are served in rotation, and each that has left costs a look at all workers.
  @Test(.checks("S146", "G27")) func poolsAreBounded() {
    var pools = WorkerPools()
    let names = (0..<Limits.workerPools + 8).map { pool("\($0)") }
    var misses = 0
    for round in 0..<30 {
      for name in names where pools.find(name) == nil {
        if round > 0 { misses += 1 }
        _ = pools.follow(name, [1, 2, 3])
      }
      #expect(pools.count == Limits.workerPools)
    }
    #expect(misses < 29 * 12, "\(misses) of \(29 * names.count)")
    for _ in 0..<20 { for name in names.prefix(Limits.workerPools / 2) { _ = pools.find(name) } }
    _ = pools.follow(pool("new"), [1])
    for name in names.prefix(Limits.workerPools / 2 - 8) { #expect(pools.find(name) != nil) }
    let many = (1...UInt32(Limits.pooledWorkers / 2)).map { $0 }
    _ = pools.follow(pool("first"), many)
    #expect(pools.find(pool("first")) == pools.count - 1)
    _ = pools.follow(pool("second"), many)
    #expect(pools.find(pool("first")) == nil && pools.find(pool("second")) != nil)
    // One that is larger than all may be stays alone.
    _ = pools.follow(pool("third"), many + many.map { $0 + UInt32(many.count) } + [.max])
    #expect(pools.count == 1 && pools.find(pool("third")) == 0)
  }
}
