// A worker that cannot start what it is given, for want of a folder, a program, or room: others get
// it, nothing of it counts as a failure of the operation, and the worker rests. And an operation
// that nobody can start, for which no worker rests.

import OpClusterModel
import Testing

@testable import OpClusterScheduling

private let unable = AttemptResult.unable

extension AttemptResult {
  fileprivate static var unable: AttemptResult {
    var result = AttemptResult()
    result.cause = .cannotStart
    result.diagnostic = "the working directory \"/data\" cannot be entered"
    return result
  }
}

extension World {
  fileprivate mutating func submit(_ count: UInt32, retry: RetryPolicy = .never) {
    var submission = GraphSubmission(name: "g")
    var template = OperationTemplate(name: "t", count: count, work: .command)
    template.demand = Resources(cpus: ResourceAmount(1))
    template.isArray = true
    template.retry = retry
    submission.templates.append(template)
    ask(.submit(submission))
  }

  /// Ends whatever a worker was given; how many that were.
  @discardableResult
  fileprivate mutating func endAll(_ at: Int, _ result: AttemptResult = .success) -> Int {
    let given = workers[at].held.map(\.attempt.operation)
    for operation in given {
      start(at, operation)
      end(at, operation, result)
    }
    if !given.isEmpty { report(at) }
    return given.count
  }

  fileprivate mutating func row(_ at: Int) -> WorkerRow? {
    guard case .workers(let rows) = ask(.workers) else { return nil }
    return rows.first { $0.name == workers[at].name }
  }
}

@Suite struct UnableWorkersTests {
  // One of two workers has lost a folder: it must not swallow the graph, as fast as it fails.
  @Test func aBrokenWorkerSwallowsNothing() throws {
    var world = World()
    world.join("broken", cpus: 8)
    world.join("healthy", cpus: 2)
    world.submit(300)
    var tried = 0
    for _ in 0..<400 {
      tried += world.endAll(0, unable)
      world.endAll(1)
      world.tick(after: .milliseconds(100))
      for at in 0...1 { world.report(at) }
    }
    let graph = try #require(world.endings.first)
    #expect(graph.outcomes.allSatisfy { Outcome(rawValue: $0) == .succeeded })
    // What it was given at first, and one in each of the tries since: 1 s, 2 s, 4 s, 8 s, 16 s.
    #expect((8...16).contains(tried), "\(tried)")
    #expect(world.row(0)?.trouble.contains("/data") == true)
    #expect(world.row(1)?.trouble == "")
    #expect(world.history.filter { $0.result.cause == .cannotStart }.count == tried)
    #expect(world.brokenInvariant == nil)
  }

  // `Limits.workersThatAgree`, or as many as there are: then it is the operation's own fault.
  @Test(arguments: [1, 2, Limits.workersThatAgree, Limits.workersThatAgree + 2])
  func whatNobodyCanStartFails(workers: Int) throws {
    var world = World()
    for number in 0..<workers { world.join("w\(number)", cpus: 2) }
    world.submit(1)
    var tries = 0
    for _ in 0..<20 {
      for at in 0..<workers { tries += world.endAll(at, unable) }
    }
    #expect(tries == min(workers, Limits.workersThatAgree))
    #expect(world.endings.count == 1 && world.endings[0].outcomes == [Outcome.failed.rawValue])
    // No worker is to blame: the next graph runs at once on all of them.
    for at in 0..<workers { #expect(world.row(at)?.trouble == "", "w\(at)") }
    world.submit(UInt32(2 * workers))
    for at in 0..<workers { #expect(world.workers[at].held.count == 2, "w\(at)") }
  }

  // A retry policy counts what several agree about, once for all of them.
  @Test func retriesCountAgreements() throws {
    var world = World()
    for name in ["a", "b"] { world.join(name, cpus: 1) }
    world.submit(1, retry: RetryPolicy(maximum: 2))
    var tries = 0
    for _ in 0..<30 {
      for at in 0..<2 { tries += world.endAll(at, unable) }
      world.tick(after: .seconds(1))
    }
    #expect(world.endings.count == 1)
    #expect(tries == 6, "three rounds of two workers, not \(tries)")
  }

  // `Limits.firstRest`, doubled up to `Limits.longestRest`; one operation at a time between them;
  // told as set aside from `Limits.restsBeforeSetAside` on.
  @Test func restsGrowLonger() throws {
    var world = World()
    world.join("broken", cpus: 4)
    world.join("busy", cpus: 1)
    world.submit(100)
    var given = world.endAll(0, unable)
    #expect(given == 4)
    var rest = Limits.firstRest
    world.checksEveryTurn = false
    for round in 1...11 {
      #expect(world.scheduler.notices.isEmpty == (round < Limits.restsBeforeSetAside), "\(round)")
      let rests = rest - .milliseconds(1)
      var passed = Span.zero
      while passed < rests {
        let step = min(rests - passed, .milliseconds(500))
        world.tick(after: step)
        passed = passed + step
        world.report(0)
        world.report(1)
      }
      #expect(world.workers[0].held.isEmpty, "round \(round): it rests for \(rest)")
      world.tick(after: .milliseconds(1))
      given = world.endAll(0, unable)
      #expect(given == 1, "round \(round)")
      rest = min(rest * 2, Limits.longestRest)
    }
    #expect(rest == Limits.longestRest)
    // It is well again: the first that it starts ends all of this.
    _ = world.scheduler.takeNotices()
    guard case .done = world.ask(.resumeWorker("broken")) else {
      Issue.record("resume?")
      return
    }
    world.tick(after: .zero)
    #expect(world.workers[0].held.count >= 4 && world.row(0)?.trouble == "")
    guard case .refused(let refusal) = world.ask(.resumeWorker("none")) else {
      Issue.record("there is none")
      return
    }
    #expect(refusal.code == .unknownWorker)
  }

  // A try that is never heard of does not last for ever, and one that begins is enough.
  @Test func tries() throws {
    var world = World()
    world.join("broken", cpus: 4)
    world.join("busy", cpus: 1)
    world.submit(100)
    world.endAll(0, unable)
    world.tick(after: Limits.firstRest)
    let tried = try #require(world.workers[0].held.first?.attempt.operation)
    #expect(world.workers[0].held.count == 1)
    world.start(0, tried)
    world.report(0)
    #expect(world.workers[0].held.count >= 3, "it has started something: the rest of its room")
    #expect(world.row(0)?.trouble == "")

    var other = World()
    other.join("broken", cpus: 4)
    other.join("busy", cpus: 1)
    other.submit(100)
    other.endAll(0, unable)
    other.tick(after: Limits.firstRest)
    var passed = Span.zero
    while passed < Limits.longestTry {
      #expect(other.workers[0].held.count == 1)
      other.tick(after: .milliseconds(500))
      passed = passed + .milliseconds(500)
      other.report(0)
      other.report(1)
    }
    #expect(other.workers[0].held.count == 2, "it is given another one")
  }

  // What is remembered of a worker is bounded.
  @Test func memoryIsBounded() {
    var world = World()
    world.join("broken", cpus: 100)
    world.join("busy", cpus: 1)
    world.submit(200)
    #expect(world.endAll(0, unable) > Limits.unableOperationsKept)
    let trouble = world.scheduler.seats[1].trouble ?? world.scheduler.seats[2].trouble
    #expect(trouble?.operations.count == Limits.unableOperationsKept)
  }
}
