// `avoid_worker` in a retry policy: another attempt goes to another worker, where there is one.

import OpClusterModel
import Testing

@testable import OpClusterScheduling

extension World {
  fileprivate mutating func submit(_ count: UInt32 = 1, avoids: Bool = true, retries: UInt32 = 2) {
    var submission = GraphSubmission(name: "g")
    var template = OperationTemplate(name: "t", count: count, work: .command)
    template.demand = Resources(cpus: ResourceAmount(1))
    template.isArray = count > 1
    template.retry = RetryPolicy(maximum: retries, avoidsWorker: avoids)
    submission.templates.append(template)
    ask(.submit(submission))
  }

  /// Lets whatever a worker was given fail; how many that were.
  @discardableResult
  fileprivate mutating func failAll(_ at: Int) -> Int {
    let given = workers[at].assigned.map(\.attempt.operation)
    for operation in given {
      start(at, operation)
      end(at, operation, .failure())
    }
    if !given.isEmpty { report(at) }
    return given.count
  }
}

@Suite struct AvoidedWorkersTests {
  @Test(arguments: [true, false])
  func theNextAttemptGoesElsewhere(avoids: Bool) throws {
    var world = World()
    world.join("a", cpus: 1)
    world.join("b", cpus: 1)
    // Keeps the second one busy.
    world.submit()
    let busy = try #require(world.worker(of: operation(1, 0)))
    let other = 1 - busy
    world.start(busy, operation(1, 0))
    world.report(busy)
    world.submit(avoids: avoids)
    #expect(world.worker(of: operation(2, 0)) == other)
    world.failAll(other)
    if !avoids {
      // As soon as there is room, wherever that is.
      #expect(world.worker(of: operation(2, 0)) == other)
      return
    }
    #expect(world.worker(of: operation(2, 0)) == nil, "it waits for the other one")
    guard case .explanations(let rows, _)? = world.ask(.explain(.graph(GraphID(2)))) else {
      Issue.record("nothing explains it")
      return
    }
    #expect(
      rows[0].lines.contains { $0.text.contains("avoid_worker") && $0.text.contains("failed") })
    world.end(busy, operation(1, 0))
    world.report(busy)
    #expect(world.worker(of: operation(2, 0)) == busy)
    // It failed at both of them: any will do.
    world.failAll(busy)
    #expect(world.worker(of: operation(2, 0)) != nil)
    #expect(world.brokenInvariant == nil)
  }

  @Test func whereThereIsNoOther() throws {
    var world = World()
    world.join("a", cpus: 1)
    world.submit()
    for _ in 0..<2 { #expect(world.failAll(0) == 1) }
    #expect(world.failAll(0) == 1 && world.endings.count == 1)
  }

  @Test func anotherThatIsTooSmallIsNotWaitedFor() throws {
    var world = World()
    let large = world.join("large", cpus: 1)
    var small = FakeWorker(name: "small", session: WorkerSession(99), peer: PeerID(199))
    small.capacity.cpus = .zero
    world.workers.append(small)
    world.greet(1)
    world.submit()
    #expect(world.failAll(large) == 1)
    #expect(world.worker(of: operation(1, 0)) == large)
  }

  @Test func anotherThatLeavesIsNotWaitedFor() throws {
    var world = World()
    let a = world.join("a", cpus: 1)
    world.submit()
    let b = world.join("b", cpus: 1)
    world.submit()
    #expect(world.worker(of: operation(2, 0)) == b)
    world.start(b, operation(2, 0))
    world.report(b)
    world.failAll(a)
    #expect(world.worker(of: operation(1, 0)) == nil)
    world.ask(.drainWorker("b"))
    world.tick(after: .seconds(1))
    #expect(world.worker(of: operation(1, 0)) == a)
  }

  /// `Limits.operationsAvoiding`: so many wait, a further one takes any worker.
  @Test func soManyWait() throws {
    var world = World()
    world.invariantChecks = .never
    let count = UInt32(Limits.operationsAvoiding + 5)
    // The small one is busy.
    let b = world.join("b", cpus: 1)
    world.submit()
    world.start(b, operation(1, 0))
    world.report(b)
    let a = world.join("a", cpus: Int64(count))
    world.submit(count)
    #expect(world.failAll(a) == Int(count))
    world.tick(after: .milliseconds(200))
    #expect(world.workers[a].assigned.count == 5)
    #expect(world.scheduler.doubtful.count == Limits.operationsAvoiding)
  }

  /// `Limits.workersAvoided`: of more it keeps away from those that failed it last.
  @Test func soManyAreAvoided() throws {
    var world = World()
    for number in 0...Limits.workersAvoided { world.join("w\(number)", cpus: 1) }
    world.submit(retries: 100)
    var order: [Int] = []
    for _ in 0...Limits.workersAvoided {
      let at = try #require(world.worker(of: operation(1, 0)))
      order.append(at)
      world.failAll(at)
    }
    #expect(Set(order).count == Limits.workersAvoided + 1, "each was tried once")
    #expect(world.scheduler.graphs[1].avoided[0]?.count == Limits.workersAvoided)
    #expect(world.worker(of: operation(1, 0)) == order[0], "the one that is forgotten")
  }
}
