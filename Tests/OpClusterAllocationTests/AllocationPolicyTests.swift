// When an allocation submits jobs, takes them back, waits and halts: the policy against a batch
// system of the test, without one.

import FoundationEssentials
import OpClusterModel
import Testing

@testable import OpClusterAllocation

/// A policy, a batch system that starts what it is given, and workers that join.
private struct World {
  var policy = AllocationPolicy()
  var settings = AllocationSettings(
    name: "a", least: 0, most: 8, seconds: 3_600, idleSeconds: 300, program: "/bin/opworker")
  var now: Int64 = 1_000
  var listed: [ListedJob] = []
  var workers: [OfferedWorker] = []
  var submitted = 0
  private var newest: JobNumber = 100

  static let size = Resources(cpus: ResourceAmount(4), memoryBytes: 8 << 30)

  static func waiting(_ count: UInt32, cpus: Int64 = 1) -> [WaitingOperations] {
    [WaitingOperations(count: count, demand: Resources(cpus: ResourceAmount(cpus)))]
  }

  /// One look: five seconds later.
  mutating func look(_ waiting: [WaitingOperations]) -> [AllocationAction] {
    now += 5
    _ = policy.note(listed, workers, of: "a", at: now)
    let actions = policy.actions(settings, waiting: waiting, at: now)
    for action in actions {
      switch action {
      case .submit(let staysIdle):
        newest += 1
        submitted += 1
        policy.submitted(newest, staysIdle: staysIdle, at: now)
        listed.append(ListedJob(number: newest, isRunning: false))
      case .withdraw(let numbers):
        policy.withdrew(numbers)
        listed.removeAll { numbers.contains($0.number) }
      }
    }
    return actions
  }

  /// Everything that waits in the batch system begins, and its workers join.
  mutating func begin(idle: Bool = false) {
    for at in listed.indices where !listed[at].isRunning {
      listed[at].isRunning = true
      workers.append(
        OfferedWorker(
          name: "a-\(listed[at].number)", capacity: Self.size, labels: [], isIdle: idle))
    }
  }

  mutating func endAll() {
    listed = []
    workers = []
  }
}

@Suite struct AllocationPolicyTests {
  @Test func withoutWorkThereIsNothing() {
    var world = World()
    for _ in 0..<10 { #expect(world.look([]) == []) }
  }

  /// Files that wait for a worker to be left with are worth one, whatever its size.
  @Test func filesThatWaitAreWorthAWorker() {
    for isSizeKnown in [false, true] {
      var world = World()
      if isSizeKnown {
        _ = world.look(World.waiting(1))
        world.begin()
        _ = world.look([])
        world.endAll()
        world.now += 60
        _ = world.look([])
      }
      #expect(world.look([.ofFiles]) == [.submit(staysIdle: false)])
      #expect(world.look([.ofFiles]) == [])
      world.begin(idle: true)
      #expect(world.look([.ofFiles]) == [])
    }
    // Nor does an operation that takes nothing need none.
    var world = World()
    let free = [WaitingOperations(count: 3, demand: Resources(cpus: .zero, memoryBytes: 0))]
    #expect(world.look(free) == [.submit(staysIdle: false)])
    world.begin()
    _ = world.look([])
    world.endAll()
    world.now += 60
    _ = world.look([])
    #expect(world.look(free) == [.submit(staysIdle: false)])
  }

  /// One job shows what a worker offers; then there are as many as what waits needs.
  @Test func theSizeIsLearntFromTheFirst() {
    var world = World()
    #expect(world.look(World.waiting(40)) == [.submit(staysIdle: false)])
    #expect(world.look(World.waiting(40)) == [])
    world.begin()
    // 12 of 4 at a time: three more workers.
    #expect(world.look(World.waiting(12)).count == 3)
    #expect(world.look(World.waiting(12)) == [])
    world.begin()
    #expect(world.look(World.waiting(1_000_000)).count == 4)
    #expect(world.submitted == world.settings.most)
  }

  @Test func whatTheWorkersCannotRunIsNotCounted() {
    var world = World()
    _ = world.look(World.waiting(1))
    world.begin()
    #expect(world.look(World.waiting(100, cpus: 5)) == [])
    let label = LabelRequirement(key: "gpu", values: ["a100"])
    #expect(
      world.look([
        WaitingOperations(
          count: 9, demand: Resources(cpus: ResourceAmount(1)), requirements: [label])
      ]) == [])
    let custom = Resources(
      cpus: .zero, custom: [Resources.NamedAmount(name: "licence", amount: ResourceAmount(1))])
    #expect(world.look([WaitingOperations(count: 9, demand: custom)]) == [])
  }

  /// Jobs that never begin to serve: five in an hour and more, then none.
  @Test func failedStartsAreNoStorm() {
    var world = World()
    var times: [Int64] = []
    while world.now < 100_000 {
      if !world.look(World.waiting(1_000)).isEmpty { times.append(world.now) }
      world.endAll()
    }
    #expect(times.count == AllocationPolicy.mostFailures)
    #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= 30 })
    #expect(times[4] - times[3] >= 240)
    #expect(world.policy.isHalted && world.policy.problem.contains("before its worker joined"))
    world.policy.start()
    #expect(world.look(World.waiting(1)) == [.submit(staysIdle: false)])
  }

  @Test func aRefusedJobIsAFailedStart() {
    var world = World()
    for _ in 0..<AllocationPolicy.mostFailures {
      world.policy.refused("invalid partition", at: world.now)
    }
    #expect(world.policy.isHalted && world.policy.problem == "invalid partition")
    #expect(world.look(World.waiting(1)) == [])
  }

  /// What waits for a queue's limit is not helped by another worker.
  @Test func idleWorkersBringNoOthers() {
    var world = World()
    _ = world.look(World.waiting(100))
    world.begin(idle: true)
    for _ in 0..<60 { #expect(world.look(World.waiting(100)) == []) }
    // It leaves, and the next come ever more slowly: in a day, some thirty.
    var looks = 0
    while world.now < 86_400 {
      _ = world.look(World.waiting(100))
      world.begin(idle: true)
      looks = world.workers.isEmpty ? 0 : looks + 1
      if looks == 60 { world.endAll() }
    }
    #expect(!world.policy.isHalted)
    #expect((15...60).contains(world.submitted))
  }

  @Test func surplusIsTakenBack() {
    var world = World()
    _ = world.look(World.waiting(1))
    world.begin()
    _ = world.look(World.waiting(28))
    #expect(world.policy.pendingJobs == 7)
    let withdrawn = world.look(World.waiting(4))
    #expect(withdrawn == [.withdraw([103, 104, 105, 106, 107, 108])])
    #expect(world.policy.failures == 0)
  }

  /// The least stays, with or without work, and comes again when its time is over.
  @Test func theLeastIsKept() {
    var world = World()
    world.settings.least = 2
    var staying = 0
    for _ in 0..<20 {
      for case .submit(true) in world.look([]) { staying += 1 }
      world.begin(idle: true)
    }
    #expect(staying == 2 && world.submitted == 2)
    world.endAll()
    for _ in 0..<20 {
      _ = world.look([])
      world.begin(idle: true)
    }
    #expect(world.submitted == 4)
  }

  /// A batch system that does not answer says nothing about its jobs.
  @Test func silenceEndsNothing() {
    var world = World()
    _ = world.look(World.waiting(1))
    world.begin()
    _ = world.look(World.waiting(1))
    let lines = world.policy.note(nil, [], of: "a", at: world.now + 1_000)
    #expect(lines == [] && world.policy.runningJobs == 1)
  }

  /// A follower that died after `sbatch` finds the job by its name.
  @Test func jobsOfAnEarlierLifeAreFound() {
    var world = World()
    world.listed = [ListedJob(number: 7, isRunning: true)]
    #expect(world.look(World.waiting(1)) == [])
    #expect(world.policy.jobNumbers == [7])
  }

  /// One look has a bound, and does not ask about graphs that have nothing to run.
  @Test func oneLookIsBounded() {
    let rows = (1...UInt32(Limits.graphsLookedAt * 3)).map { number in
      var counts = StateCounts()
      counts[.ready] = number % 2
      return GraphRow(
        graph: GraphID(number), name: "g", state: .running, counts: counts,
        submittedAt: .unknown, finishedAt: .unknown, labels: [], allowedFailures: 0)
    }
    let graphs = WaitingOperations.graphs(worthALook: rows)
    #expect(graphs.count == Limits.graphsLookedAt)
    #expect(graphs.allSatisfy { $0.number % 2 == 1 })
  }

  /// A status file with the ends of the types: the policy goes on, and traps nowhere.
  @Test(arguments: [Int64.min, -1, 0, .max]) func aFileWithAnyNumbers(number: Int64) throws {
    let text = """
      {"failures":\(number),"isHalted":false,"problem":"","pausedUntil":\(number),
      "fruitless":\(number),"hasIdle":false,
      "jobs":[7,{"staysIdle":false,"hasJoined":false,"hasWorked":false,"isRunning":true,
      "submittedAt":\(number)},8,{"staysIdle":false,"hasJoined":true,"hasWorked":false,
      "isRunning":true,"submittedAt":\(number)}],
      "offer":{"cpus":\(number),"memoryBytes":\(number),"gpus":\(number),"custom":{},"labels":{}}}
      """
    var world = World()
    world.policy = try JSONDecoder().decode(AllocationPolicy.self, from: Data(text.utf8))
    for _ in 0..<20 { _ = world.look(World.waiting(.max)) }
    #expect((0...world.settings.most).contains(world.listed.count))
  }
}
