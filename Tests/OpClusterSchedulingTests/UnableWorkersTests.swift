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
    let given = workers[at].assigned.map(\.attempt.operation)
    for operation in given {
      start(at, operation)
      end(at, operation, result)
    }
    if !given.isEmpty { report(at) }
    return given.count
  }

  /// In so much time that nobody prefetches for the worker.
  @discardableResult
  fileprivate mutating func endSlowly(_ at: Int) -> Int {
    tick(after: .milliseconds(200))
    return endAll(at)
  }

  /// What observers were told of workers that are set aside, and given work again.
  fileprivate var setAside: [Event.Kind] {
    events.map(\.kind).filter {
      switch $0 {
      case .workerSetAside, .workerResumed: true
      default: false
      }
    }
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
    // What it was given at first, and one in each of the tries since: 1 s, 2 s, 4 s, 8 s.
    #expect((8...16).contains(tried), "\(tried)")
    #expect(world.row(0)?.trouble.contains("/data") == true)
    #expect(world.row(1)?.trouble == "")
    #expect(world.history.filter { $0.result.cause == .cannotStart }.count == tried)
    #expect(world.brokenInvariant == nil)
  }

  // Who is there and too small for it is no other that could take it: it goes back.
  @Test func whoIsTooSmallIsNotWaitedFor() throws {
    var world = World()
    world.join("one", cpus: 2)
    world.join("small", cpus: 1)
    world.join("other", cpus: 2)
    var submission = GraphSubmission(name: "g")
    var template = OperationTemplate(name: "t", count: 1, work: .command)
    template.demand = Resources(cpus: ResourceAmount(2))
    submission.templates.append(template)
    world.ask(.submit(submission))
    let first = try #require(world.worker(of: operation(1, 0)))
    world.endAll(first, unable)
    let second = 2 - first
    #expect(world.worker(of: operation(1, 0)) == second)
    world.input(.worker(world.workers[second].peer, .goodbye(lastReport: 0)))
    world.workers[second].assigned = []
    world.tick(after: .milliseconds(200))
    #expect(world.worker(of: operation(1, 0)) == first)
  }

  /// What becomes of others than the worker that cannot start an operation, until they are back.
  enum Absence: CaseIterable { case silent, disconnected, notYetBack }

  // The others are silent for a moment, as on a machine under load, or have yet to come back to a
  // coordinator that was started anew: one broken worker is not taken for all of them.
  @Test(arguments: Absence.allCases, [true, false])
  func whoIsExpectedIsWaitedFor(absence: Absence, comesBack: Bool) throws {
    let timing = Timing()
    var world = World(timing: timing)
    world.join("broken", cpus: 1)
    world.submit(1)
    world.join("healthy", cpus: 1)
    let id = operation(1, 0)
    switch absence {
    case .silent:
      while !world.scheduler.conversations[2].isSuspect {
        world.tick(after: timing.heartbeat)
        world.report(0)
      }
    case .disconnected: world.input(.gone(world.workers[1].peer))
    case .notYetBack:
      world.scheduler = world.replayed()
      for at in world.workers.indices { world.workers[at].peer.number += 1000 }
      world.beginLife()
      world.greet(0)
    }
    world.endAll(0, unable)
    #expect(world.endings.isEmpty && world.worker(of: id) == nil, "it waits for the other")
    if comesBack {
      if absence == .silent { world.report(1) } else { world.greet(1) }
      #expect(world.worker(of: id) == 1)
      world.endAll(1)
    } else {
      var waited = Span.zero
      while world.endings.isEmpty, waited < timing.lost + timing.resync {
        world.tick(after: timing.heartbeat)
        world.report(0)
        waited = waited + timing.heartbeat
        world.endAll(0, unable)
      }
    }
    let outcome = comesBack ? Outcome.succeeded : .failed
    #expect(world.endings.map(\.outcomes) == [[outcome.rawValue]])
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
    for at in 0..<workers { #expect(world.workers[at].assigned.count == 2, "w\(at)") }
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

  // So many bad operations on so many workers that each of them is unable at once, of different
  // ones: nobody is to blame, nobody rests, and others run beside them.
  @Test(arguments: [2, 4, 7])
  func nobodyIsBlamedForWhatNobodyCan(workers: Int) throws {
    var world = World()
    for number in 0..<workers { world.join("w\(number)", cpus: 8) }
    world.submit(300)
    world.submit(40)
    let good = try #require(world.scheduler.graphs.numbers.max())
    var (tries, rounds, goodEnd) = (0, 0, 0)
    while world.endings.count < 2, rounds < 400 {
      rounds += 1
      for at in 0..<workers {
        let given = world.workers[at].assigned.map(\.attempt.operation)
        for operation in given {
          world.start(at, operation)
          let isGood = operation.graph.number == good
          world.end(at, operation, isGood ? .success : unable)
          tries += isGood ? 0 : 1
        }
        if !given.isEmpty { world.report(at) }
        #expect(world.row(at)?.trouble == "")
      }
      if goodEnd == 0, world.endings.contains(where: { $0.outcomes.count == 40 }) {
        goodEnd = rounds
      }
      world.tick(after: .milliseconds(1))
    }
    let bad = try #require(world.endings.first { $0.outcomes.count == 300 })
    #expect(bad.outcomes.allSatisfy { $0 == Outcome.failed.rawValue } && bad.outcomes.count == 300)
    #expect(tries == 300 * min(workers, Limits.workersThatAgree))
    // One of a pass after the other, with every one of them: no rest lasts, no time passes.
    #expect(rounds < 300 && goodEnd > 0, "\(rounds) \(goodEnd)")
    #expect(world.setAside.isEmpty && world.brokenInvariant == nil)
  }

  // While all others are busy, a worker does not go through a whole array that it cannot start:
  // `Limits.unsettledStarts`, and what was given at once with the last of them.
  @Test func aBrokenWorkerTakesFewWhileOthersAreBusy() throws {
    var world = World()
    world.join("broken", cpus: 4)
    world.join("busy", cpus: 2)
    world.submit(1_000)
    var tried = 0
    for _ in 0..<100 {
      tried += world.endAll(0, unable)
      world.tick(after: .seconds(1))
      world.report(0)
      world.report(1)
    }
    #expect(tried >= Limits.unsettledStarts && tried < Limits.unsettledStarts + 4, "\(tried)")
    #expect(world.row(0)?.trouble == "", "nobody has been seen to run what it could not")
    // Another stage is another matter: it may be able to start that.
    world.submit(2)
    #expect(world.workers[0].assigned.count == 2)
    #expect(world.endAll(0) == 2)
    #expect(world.brokenInvariant == nil)
  }

  // Of one stage it can start nothing, of others everything: it gets those at its full room.
  @Test func otherStagesGoOn() throws {
    var world = World()
    world.join("lacking", cpus: 4)
    world.join("healthy", cpus: 2)
    world.submit(200)
    let lacking = try #require(world.scheduler.graphs.numbers.max())
    world.submit(200)
    var (failed, ran) = (0, 0)
    for _ in 0..<120 where world.endings.count < 2 {
      for operation in world.workers[0].assigned.map(\.attempt.operation) {
        let isLacking = operation.graph.number == lacking
        if isLacking { failed += 1 } else { ran += 1 }
        world.start(0, operation)
        world.end(0, operation, isLacking ? unable : .success)
      }
      world.report(0)
      world.endSlowly(1)
    }
    #expect(world.endings.count == 2 && ran > 100, "\(ran)")
    #expect(
      world.endings.allSatisfy { $0.outcomes.allSatisfy { Outcome(rawValue: $0) == .succeeded } })
    #expect((4...14).contains(failed), "\(failed)")
    #expect(world.brokenInvariant == nil)
  }

  // It can start nothing of `Limits.stagesBeforeRest` stages in a row: it is set aside as a whole,
  // with tries of its own, and is back with the first that it runs.
  @Test func manyStagesSetItAside() throws {
    var world = World()
    world.join("broken", cpus: 1)
    world.join("healthy", cpus: 1)
    for round in 1...Limits.stagesBeforeRest {
      #expect(world.row(0)?.isSetAside == false)
      world.submit(2)
      #expect(world.workers[0].assigned.count == 1, "\(round)")
      while world.endAll(0, unable) + world.endSlowly(1) > 0 {}
    }
    #expect(world.row(0)?.isSetAside == true && world.row(0)?.trouble.contains("/data") == true)
    #expect(world.setAside.isEmpty, "a first rest is nothing that people have to look at")
    world.submit(100)
    #expect(world.workers[0].assigned.isEmpty)
    world.tick(after: Limits.firstRest)
    #expect(world.endAll(0, unable) == 1)
    world.tick(after: Limits.firstRest)
    #expect(world.workers[0].assigned.isEmpty, "twice as long")
    world.tick(after: Limits.firstRest)
    #expect(world.endAll(0, unable) == 1)
    // From the third rest on observers are told, and of the end of that.
    #expect(world.setAside.contains(.workerSetAside(nil, reason: unable.diagnostic)))
    #expect(!world.setAside.contains(.workerResumed(nil)))
    world.tick(after: Limits.firstRest * 4)
    #expect(world.endAll(0) >= 1)
    #expect(world.row(0)?.isSetAside == false)
    #expect(world.setAside.count { $0 == .workerResumed(nil) } == 1)
    #expect(world.brokenInvariant == nil)
  }

  // `Limits.firstRest`, doubled up to `Limits.longestRest`; one operation at a time between them;
  // told from `Limits.restsBeforeSetAside` on.
  @Test func restsGrowLonger() throws {
    var world = World()
    world.join("broken", cpus: 4)
    world.join("busy", cpus: 1)
    world.submit(100)
    var given = world.endAll(0, unable)
    #expect(given == 4)
    // The other runs what the first could not start.
    world.endSlowly(1)
    world.endSlowly(1)
    given = world.endAll(0, unable)
    #expect(given == 4, "handed over in the same turn")
    #expect(world.row(0)?.trouble.contains("1 s") == true, "\(world.row(0)?.trouble ?? "")")
    var rest = Limits.firstRest
    world.invariantChecks = .never
    for round in 1...11 {
      #expect(world.setAside.count == (round < Limits.restsBeforeSetAside ? 0 : 1), "\(round)")
      let rests = rest - .milliseconds(1)
      var passed = Span.zero
      while passed < rests {
        let step = min(rests - passed, .seconds(4))
        world.tick(after: step)
        passed = passed + step
        world.report(0)
        world.report(1)
      }
      #expect(world.workers[0].assigned.isEmpty, "round \(round): it rests for \(rest)")
      world.tick(after: .milliseconds(1))
      given = world.endAll(0, unable)
      #expect(given == 1, "round \(round)")
      rest = min(rest * 2, Limits.longestRest)
    }
    #expect(rest == Limits.longestRest)
    let stage = StageName(graph: GraphID(1), name: "t")
    let reason = unable.diagnostic
    #expect(world.setAside == [.workerSetAside(stage, reason: reason)])
    guard case .done = world.ask(.resumeWorker("broken")) else {
      Issue.record("resume?")
      return
    }
    // Told once, and in the journal, so that whoever reads the log of events later reads it, too.
    let worker = WorkerID(1)
    #expect(world.setAside == [.workerSetAside(stage, reason: reason), .workerResumed(stage)])
    let facts = world.journal.flatMap(\.records).filter { record in
      switch record {
      case .workerSetAside, .workerResumed: true
      default: false
      }
    }
    #expect(
      facts == [
        .workerSetAside(worker, stage, reason: reason), .workerResumed(worker, stage),
      ])
    world.tick(after: .zero)
    #expect(world.workers[0].assigned.count >= 4 && world.row(0)?.trouble == "")
    guard case .refused(let refusal) = world.ask(.resumeWorker("none")) else {
      Issue.record("there is none")
      return
    }
    #expect(refusal.code == .unknownWorker)
  }

  /// A world with a worker that awaits its first try, and one that is busy for long.
  private func worldBeforeATry() -> World {
    var world = World()
    world.join("broken", cpus: 4)
    world.join("busy", cpus: 1)
    world.submit(100)
    world.endAll(0, unable)
    world.endSlowly(1)
    world.endSlowly(1)
    world.endAll(0, unable)
    world.tick(after: Limits.firstRest)
    return world
  }

  // It runs something again and leaves in one turn: that is told, and nothing of who is not there.
  @Test func nothingIsToldOfWhoHasGone() throws {
    var world = worldBeforeATry()
    for rests in 2...Limits.restsBeforeSetAside {
      #expect(world.endAll(0, unable) == 1, "\(rests)")
      for _ in 0..<(1 << (rests - 1)) {
        world.tick(after: Limits.firstRest)
        world.report(0)
        world.report(1)
      }
    }
    #expect(world.setAside.count == 1)
    let tried = try #require(world.workers[0].assigned.first?.attempt.operation)
    world.start(0, tried)
    world.end(0, tried, .success)
    let next = world.nextReport(of: 0)
    let report = try #require(next)
    let goodbye = Input.worker(world.workers[0].peer, .goodbye(lastReport: 0))
    world.step { scheduler, turn in
      scheduler.handle(report, into: &turn)
      scheduler.handle(goodbye, into: &turn)
    }
    #expect(world.events.contains { $0.kind == .workerLeft })
    #expect(world.setAside.count == 1)
    #expect(world.brokenInvariant == nil)
    #expect(world.replayed().snapshot() == world.scheduler.snapshot())
  }

  // A try that is never heard of does not last for ever; one that runs for so long that it would
  // have been heard of is enough.
  @Test func tries() throws {
    var world = worldBeforeATry()
    let tried = try #require(world.workers[0].assigned.first?.attempt.operation)
    #expect(world.workers[0].assigned.count == 1)
    world.start(0, tried)
    world.report(0)
    #expect(world.workers[0].assigned.isEmpty, "a start may still turn out to be none")
    world.tick(after: Limits.startIsCertain)
    #expect(world.workers[0].assigned.count >= 3, "it has started something: the rest of its room")
    #expect(world.row(0)?.trouble == "")

    // Told as begun in one report, as what cannot be started in the next.
    var late = worldBeforeATry()
    let begun = try #require(late.workers[0].assigned.first?.attempt.operation)
    late.start(0, begun)
    late.report(0)
    late.end(0, begun, unable)
    late.report(0)
    late.tick(after: Limits.startIsCertain)
    #expect(late.workers[0].assigned.isEmpty && late.row(0)?.trouble.contains("1 s") == true)

    var other = worldBeforeATry()
    var passed = Span.zero
    while passed < Limits.longestTry {
      #expect(other.workers[0].assigned.count == 1)
      other.tick(after: .milliseconds(500))
      passed = passed + .milliseconds(500)
      other.report(0)
      other.report(1)
    }
    #expect(other.workers[0].assigned.count == 2, "it is given another one")
  }

  // What is remembered of a worker is bounded: `Limits.unableOperationsKept` of a stage, and
  // `Limits.troubledStagesKept`.
  @Test func memoryIsBounded() throws {
    var world = World()
    world.join("broken", cpus: 100)
    world.join("busy", cpus: 1)
    world.submit(200)
    #expect(world.endAll(0, unable) > Limits.unableOperationsKept)
    let trouble = try #require(
      world.scheduler.conversations[1].trouble ?? world.scheduler.conversations[2].trouble)
    #expect(trouble.stages.values.map(\.operations.count) == [Limits.unableOperationsKept])

    var many = World()
    many.join("broken", cpus: 1_000)
    many.join("busy", cpus: 1)
    for _ in 0..<2 * Limits.troubledStagesKept { many.submit(2) }
    many.invariantChecks = .never
    for _ in 0..<10 { many.endAll(0, unable) }
    let known = try #require(
      many.scheduler.conversations[1].trouble ?? many.scheduler.conversations[2].trouble)
    #expect(known.stages.count == Limits.troubledStagesKept)
    #expect(many.scheduler.brokenInvariant() == nil)
  }
}
