// What many different demands cost (G29): a turn looks at what it does and not at what waits, and
// a demand is forgotten with the last operation that made it. Steps are counted, not time.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct DemandCosts {
  /// Operations that each ask for another amount of memory.
  private func distinct(_ count: Int, cpus: Int64 = 1, from first: Int64 = 1) -> GraphSubmission {
    var submission = GraphSubmission(name: "matrix")
    for at in 0..<count {
      var template = noops("t\(at)")
      template.demand = Resources(
        cpus: ResourceAmount(cpus), memoryBytes: (first + Int64(at)) << 10)
      submission.templates.append(template)
    }
    return submission
  }

  private func cancel(_ graph: UInt32, _ world: inout World) {
    world.ask(.cancel(.selection(.graph(GraphID(graph))), reason: "", grace: nil))
  }

  /// Runs one operation to its end a second later, and counts what the turns looked at.
  private func stepsOfOne(_ world: inout World) -> Int {
    let before = world.scheduler.assignmentPass.steps
    guard let held = world.workers[0].assigned.first?.attempt.operation else { return .max }
    world.start(0, held)
    world.report(0)
    world.now = world.now + .seconds(1)
    world.end(0, held)
    world.report(0)
    return world.scheduler.assignmentPass.steps - before
  }

  // Another operation costs as much beside 20,000 demands as beside 200, but for the
  // depth of a tree.
  @Test(.checks("G29"), arguments: [200, 1_600, 20_000])
  func aTurnCostsNoMoreWhereManyDemandsWait(count: Int) {
    var world = World()
    world.invariantChecks = .never
    world.join("w1")
    world.ask(.submit(distinct(count)))
    var most = 0
    for _ in 0..<20 { most = max(most, stepsOfOne(&world)) }
    #expect(most < 200, "\(most) steps beside \(count) demands")
  }

  // Another operation costs as much beside 5,000 queues in which nobody is in line, made
  // by clients or come with graphs, as beside none.
  @Test(.checks("G29")) func aTurnCostsNoMoreWhereQueuesAreEmpty() {
    var world = World()
    world.invariantChecks = .never
    world.join("w1")
    for number in 0..<2_500 { world.ask(.createQueue(QueueSettings(name: "q\(number)"))) }
    var waiting = GraphSubmission(name: "waiting")
    waiting.queues = (0..<250).map { .own(QueueSettings(name: "own\($0)")) }
    waiting.templates = [noops("held")]
    waiting.templates[0].isHeld = true
    for _ in 0..<10 { world.ask(.submit(waiting)) }
    #expect(world.scheduler.queues.count > 5_000)
    world.ask(.submit(distinct(50)))
    var most = 0
    for _ in 0..<20 { most = max(most, stepsOfOne(&world)) }
    #expect(most < 200, "\(most) steps beside \(world.scheduler.queues.count) queues")
    let services = QualityOfService.allCases.map { Int($0.rawValue) }
    #expect(services.reduce(0) { $0 + world.scheduler.lineIndex.whole($1).lines } <= 1)
    #expect(world.brokenInvariant == nil)
  }

  // What no worker can run costs nothing while others run, whether for its amounts or for
  // what it requires; and it goes when a worker comes that can run it.
  @Test(.checks("S61", "G29")) func whatFitsNowhereCostsNothing() {
    var world = World()
    world.invariantChecks = .never
    world.join("w1")
    var impossible = distinct(2_000, from: 1 << 30)
    for at in impossible.templates.indices where at % 2 == 1 {
      impossible.templates[at].demand.memoryBytes = 0
      impossible.templates[at].requirements = [LabelRequirement(key: "disk", values: ["\(at)"])]
    }
    world.ask(.submit(impossible))
    world.ask(.submit(distinct(50)))
    var steps: [Int] = []
    for _ in 0..<20 { steps.append(stepsOfOne(&world)) }
    #expect(steps.dropFirst().allSatisfy { $0 < 200 }, "\(steps)")
    world.join("w2", cpus: 8)
    #expect(world.workers[1].assigned.isEmpty == false)
    #expect(world.workers[1].assigned.allSatisfy { $0.attempt.operation.graph.number == 2 })
    world.workers.append(
      FakeWorker(name: "w3", session: WorkerSession(33), peer: PeerID(333)))
    world.workers[2].capacity = Resources(cpus: ResourceAmount(3), memoryBytes: .max / 2)
    world.greet(2)
    #expect(world.workers[2].assigned.isEmpty == false)
    #expect(world.workers[2].assigned[0].attempt.operation == operation(1, 0))
  }

  // Many that wait for one licence, each with another demand, are looked at once and no more.
  @Test(.checks("G29")) func aLicenceThatIsTakenClosesItsKind() {
    var world = World()
    world.invariantChecks = .never
    var worker = FakeWorker(name: "w1", session: WorkerSession(1), peer: PeerID(100))
    worker.capacity.cpus = ResourceAmount(8)
    worker.capacity.custom = [.init(name: "licence", amount: ResourceAmount(1))]
    world.workers.append(worker)
    world.greet(0)
    var submission = distinct(2_000)
    for at in submission.templates.indices {
      submission.templates[at].demand.custom = [.init(name: "licence", amount: ResourceAmount(1))]
    }
    world.ask(.submit(submission))
    var most = 0
    for _ in 0..<10 { most = max(most, stepsOfOne(&world)) }
    #expect(most < 200, "\(most) steps")
  }

  // A worker with much room, of which no operation may have more than a little, counts for none
  // that needs more. (Found by tampered hellos, seed 4003.)
  @Test(.checks("S61", "G29")) func aWorkerOfSmallPartsDoesNotCount() {
    var world = World()
    world.join("w1", cpus: 4)
    var parts = FakeWorker(name: "w2", session: WorkerSession(2), peer: PeerID(200))
    parts.capacity.cpus = ResourceAmount(64)
    parts.largest = Resources(cpus: ResourceAmount(1), memoryBytes: 1 << 32)
    world.workers.append(parts)
    world.greet(1)
    for (cpus, expected) in [(Int64(1), UInt32(2)), (2, 1), (5, 0)] {
      world.ask(.submit(distinct(1, cpus: cpus)))
      let graphs = world.scheduler.graphs
      let demand = graphs[graphs.numbers.last ?? 0].demandClass(of: 0)
      var steps = 0
      let index = world.scheduler.workerIndex
      let found = world.scheduler.countEligible(demand, in: index, &steps)
      #expect(found == expected, "\(cpus) cpus")
    }
    #expect(world.brokenInvariant == nil)
  }

  // Demands go with the graphs that made them, and what was in line with them.
  @Test(.checks("G29")) func demandsAreForgottenWithTheirGraphs() {
    var world = World()
    world.invariantChecks = .never
    world.join("w1")
    for round in 0..<4 {
      world.ask(.submit(distinct(500, from: 1 + Int64(round) * 1_000)))
      let graph = UInt32(round + 1)
      #expect(world.scheduler.classes.count == 500)
      cancel(graph, &world)
      world.runAll()
      #expect(world.scheduler.graphs.numbers.isEmpty)
      #expect(world.scheduler.classes.count == 0)
      // A few kinds without demands are kept for the next graph.
      #expect(world.scheduler.classes.kindSlots <= 17)
      #expect(world.scheduler.queues[0].line.isEmpty)
      #expect(world.scheduler.queues[0].line.runCount == 0)
    }
    #expect(world.scheduler.brokenInvariant() == nil)
  }

  // Numbers of demands are used again while others live on.
  @Test(.checks("G29")) func theNumberOfADemandIsUsedAgain() {
    var world = World()
    world.invariantChecks = .never
    world.ask(.submit(distinct(3)))
    for round in 0..<10 {
      world.ask(.submit(distinct(100, from: 1_000 * Int64(round + 1))))
      let graph = UInt32(round + 2)
      cancel(graph, &world)
      #expect(world.scheduler.classes.count == 3)
      #expect(world.scheduler.classes.slots <= 103)
    }
    world.join("w1", cpus: 8)
    #expect(world.workers[0].assigned.map(\.attempt.operation.index) == [0, 1, 2])
  }

  // A line forgets what has left it, however often one comes and goes; a replay as well.
  @Test(.checks("G29")) func lineIsSweptWhereMuchHasLeft() {
    var world = World()
    world.invariantChecks = .never
    world.ask(.submit(graph(["a", "b"])))
    for round in 0..<5_000 {
      let priority: Priority = round % 2 == 0 ? .high : .low
      world.ask(.setPriority(.operations([operation(1, 0)]), priority))
    }
    #expect(world.scheduler.queues[0].line.runCount <= 1_024)
    #expect(world.replayed().queues[0].line.runCount <= 1_024)
    world.join("w1", cpus: 8)
    #expect(world.workers[0].assigned.map(\.attempt.operation.index) == [1, 0])
  }
}
