// How often something begins while something better waits: workers fetch ahead, and what is better
// must not wait behind that. Fake workers that order what they hold by the rule, in virtual time.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

/// Workers that run what they hold, the best first, for as long as the test says.
private struct Course {
  var world = World()
  /// When each of those that run ends, by worker.
  var ends: [[OperationID: Instant]] = []
  /// Since when each stands in line.
  var ready: [OperationID: (priority: Priority, since: Instant)] = [:]
  /// Begun, although something of a higher level had been in line for longer than `grace`.
  var inversions = 0
  var begun = 0
  let grace = Span.milliseconds(2)

  init(workers: Int, cpus: Int64) {
    for number in 0..<workers { world.join("w\(number)", cpus: cpus) }
    ends = Array(repeating: [:], count: workers)
    world.invariantChecks = .never
  }

  mutating func submit(_ count: UInt32, _ priority: Priority, queue: String = "default") {
    var submission = GraphSubmission(name: "g")
    var template = noops("t", count)
    template.isArray = true
    template.priority = priority
    template.demand = Resources(cpus: ResourceAmount(1))
    submission.templates = [template]
    submission.queues = [.named(queue)]
    guard case .accepted(let graph, _, _) = world.ask(.submit(submission)) else { return }
    for index in 0..<count {
      ready[OperationID(graph: graph, index: index)] = (priority, world.now)
    }
  }

  /// A millisecond; workers report at its end.
  mutating func step(_ duration: (OperationID) -> Span) {
    for at in world.workers.indices {
      for (operation, end) in ends[at] where end <= world.now {
        world.end(at, operation)
        ends[at][operation] = nil
      }
      let cpus = Int(world.workers[at].capacity.cpus.units)
      while ends[at].count < cpus, let best = best(at) {
        begin(best, at, duration)
      }
      if !world.workers[at].outbox.isEmpty { world.report(at) }
    }
    world.tick(after: .milliseconds(1))
  }

  private func best(_ at: Int) -> OperationID? {
    let first = world.workers[at].assigned.max { one, other in
      one.priority == other.priority ? one.place > other.place : one.priority < other.priority
    }
    return first?.attempt.operation
  }

  private mutating func begin(
    _ operation: OperationID, _ at: Int, _ duration: (OperationID) -> Span
  ) {
    let own = ready[operation]?.priority ?? .normal
    let held = Set(world.workers.flatMap { $0.assigned.map(\.attempt.operation) })
    let isOvertaking = ready.contains { other, stand in
      stand.priority > own && stand.since + grace < world.now && !held.contains(other)
    }
    if isOvertaking { inversions += 1 }
    begun += 1
    ready[operation] = nil
    ends[at][operation] = world.now + duration(operation)
    world.start(at, operation)
  }

  var isOver: Bool { ready.isEmpty && ends.allSatisfy(\.isEmpty) }
}

@Suite struct PriorityInversionTests {
  // After short work a worker holds much; what is better goes there at once, and first.
  @Test(.checks("S47"), arguments: [(1, 1), (2, 2), (3, 4)])
  func whatIsBetterDoesNotWaitBehindWhatWasFetched(workers: Int, cpus: Int64) {
    var course = Course(workers: workers, cpus: cpus)
    course.submit(UInt32(workers) * UInt32(cpus) * 150, .low)
    for _ in 0..<60 { course.step { _ in .milliseconds(1) } }
    let held = course.world.workers.map(\.assigned.count)
    #expect(held.allSatisfy { $0 > 1 }, "they hold too little for this to show anything: \(held)")
    for priority in [Priority.normal, .high, .normal, .veryHigh] {
      course.submit(8 * UInt32(workers), priority)
      for _ in 0..<3 { course.step { _ in .milliseconds(1) } }
    }
    for _ in 0..<2_000 where !course.isOver { course.step { _ in .milliseconds(1) } }
    #expect(course.isOver && course.begun > workers * 150)
    #expect(course.inversions == 0, "\(course.inversions) of \(course.begun)")
    #expect(course.world.scheduler.brokenInvariant() == nil)
  }

  // Short work becomes long. What was fetched for the speed before comes back, or goes last.
  @Test(.checks("S47"), arguments: [1, 7, 23, 48, 60, 90])
  func shortWorkBecomesLong(after moment: Int) {
    var course = Course(workers: 2, cpus: 2)
    course.submit(400, .low)
    for _ in 0..<50 { course.step { _ in .milliseconds(1) } }
    func long(_ operation: OperationID) -> Span {
      .milliseconds(40 + 13 * Int64(operation.index % 7))
    }
    for _ in 0..<moment { course.step(long) }
    course.submit(6, .normal)
    for _ in 0..<6_000 where !course.isOver { course.step(long) }
    #expect(course.isOver)
    // One that began while what was asked back was on its way.
    #expect(course.inversions <= 1, "\(course.inversions)")
    #expect(course.world.scheduler.brokenInvariant() == nil)
  }

  // What is better is handed over beside what a worker holds, up to `Limits.assignedPerWorker`; the
  // counts by rank follow every change of what is held.
  @Test func ranksAreCounted() {
    var worker = WorkerRecord.blank
    let (low, high) = (
      Rank(.default, queue: 0, level: 1), Rank(.default, queue: 0, level: 3)
    )
    #expect(worker.room(for: low, within: 1_000) == 1_000)
    for _ in 0..<1_000 { worker.assign(low) }
    #expect(
      worker.room(for: low, within: 1_000) == 0 && worker.room(for: high, within: 1_000) == 1_000)
    #expect(worker.room(for: Rank(.background, queue: 2, level: 5), within: 1_000) == 0)
    // Levels of other queues do not compare (S50).
    #expect(worker.room(for: Rank(.default, queue: 1, level: 5), within: 1_000) == 0)
    #expect(worker.room(for: Rank(.userInitiated, queue: 1, level: 0), within: 1_000) == 1_000)
    for _ in 0..<400 { worker.assign(high) }
    #expect(worker.room(for: high, within: 1_000) == 600)
    for _ in 0..<900 { worker.unassign(low) }
    #expect(worker.room(for: low, within: 1_000) == 500 && worker.assigned == 500)
    while worker.assigned < Limits.assignedPerWorker { worker.assign(low) }
    #expect(worker.room(for: high, within: 1_000) == 0)
    worker.unassign(low)
    #expect(worker.room(for: high, within: 1_000) == 600)
  }

  // Two queues of one service, of unlike levels, take turns at a worker that is fast.
  @Test(.checks("S50", "S60")) func levelsOfOtherQueuesDoNotCompare() throws {
    var course = Course(workers: 1, cpus: 1)
    for (queue, priority) in [("high", Priority.veryHigh), ("low", .veryLow)] {
      course.world.ask(.createQueue(QueueSettings(name: queue)))
      course.submit(300, priority, queue: queue)
    }
    for _ in 0..<120 { course.step { _ in .milliseconds(1) } }
    let order = course.world.workers[0].started.dropFirst(20).map(\.operation.graph.number)
    let same = zip(order, order.dropFirst()).count { $0 == $1 }
    #expect(order.count > 60 && same <= 2, "\(order)")
    #expect(course.world.scheduler.brokenInvariant() == nil)
  }

  // A change of what is held, and of its queue, is counted.
  @Test(.checks("S47")) func changesOfWhatIsHeld() throws {
    var course = Course(workers: 1, cpus: 1)
    course.world.invariantChecks = .afterEveryTurn
    course.submit(100, .low)
    for _ in 0..<30 { course.step { _ in .milliseconds(1) } }
    let held = try #require(course.world.workers[0].assigned.last?.attempt.operation)
    course.world.ask(.changeQueue("default", QueueChange(qos: .userInitiated)))
    course.world.ask(.setPriority(.operations([held]), .high))
    #expect(course.world.brokenInvariant == nil)
    for _ in 0..<300 where !course.isOver { course.step { _ in .milliseconds(1) } }
    #expect(course.isOver && course.world.brokenInvariant == nil)
  }
}
