// Failure policies of graphs with many operations: they are ended in parts, a part a turn, and in
// between nothing of them is handed over.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct PolicyPartTests {
  private let graphNumber = GraphID(1)

  /// Operation 0 runs; the others wait for it, however it ends, and 40 to 49 for 1 to 39 as well; a
  /// last one that runs at the end waits for all of them. Another operation is ready beside them.
  private func world(_ share: TurnShare, policy: FailurePolicy = .cancel) -> World {
    var world = World(share: share)
    world.invariantChecks = .afterEveryTurn
    world.join("w1", cpus: 1)
    var submission = GraphSubmission(name: "policy")
    submission.failurePolicy = policy
    submission.templates = [noops("first"), noops("a", 49), noops("ready", 5), noops("last")]
    submission.templates[3].isFinal = true
    for index: UInt32 in 1..<50 {
      submission.elementEdges.from.append(0)
      submission.elementEdges.to.append(index)
      submission.elementEdges.policies.append(.finished)
      if index < 40 { continue }
      submission.elementEdges.from += [index - 39, index - 20]
      submission.elementEdges.to += [index, index]
      submission.elementEdges.policies += [.succeeded, .succeeded]
    }
    submission.groupEdges = [
      GroupEdge(from: 1, to: 3, policy: .finished), GroupEdge(from: 2, to: 3, policy: .finished),
    ]
    world.ask(.submit(submission))
    world.start(0, operation(1, 0))
    world.report(0)
    return world
  }

  private func fail(_ world: inout World) {
    world.end(0, operation(1, 0), .failure())
    world.report(0)
  }

  /// A coordinator that starts from the journal of a world, after forty turns.
  private func nextLife(of world: World) -> Scheduler {
    var next = world.replayed()
    var turn = SchedulingTurn()
    turn.begin(at: .zero, wall: .unknown)
    next.start(into: &turn)
    next.close(&turn)
    for milliseconds in 1...40 {
      turn.begin(at: Instant.zero + .milliseconds(Int64(milliseconds)), wall: .unknown)
      next.handle(.tick(), into: &turn)
      next.close(&turn)
    }
    return next
  }

  // However small the parts are: what had not started when the operation failed never does, nothing
  // is skipped instead, and what runs at the end does.
  @Test(.checks("S23"), arguments: [1, 3, 16, 1_000], [FailurePolicy.cancel, .stop])
  func nothingStartsBetweenTheParts(size: Int, policy: FailurePolicy) {
    var world = world(TurnShare(graphs: 512, operations: size), policy: policy)
    fail(&world)
    var turns = 1
    while world.scheduler.nextDeadline().map({ $0 <= world.now }) == true, turns < 200 {
      #expect(!world.workers[0].assigned.contains { $0.attempt.operation.index < 55 })
      turns += 1
      world.tick(after: .zero)
    }
    // Of 56 operations only the failed one ended before.
    #expect(turns >= min(56 / size, 50) && turns < 70)
    world.runAll { id in
      #expect(id.index == 55, "\(id) ran")
      return .success
    }
    #expect(world.brokenInvariant == nil)
    guard let ending = world.endings.first else {
      Issue.record("the graph has not ended")
      return
    }
    #expect(ending.outcomes[0] == Outcome.failed.rawValue)
    #expect(ending.outcomes[1..<55].allSatisfy { $0 == Outcome.cancelled.rawValue })
    #expect(ending.outcomes[55] == Outcome.succeeded.rawValue)
    #expect(world.replayed().snapshot() == world.scheduler.snapshot())
  }

  // A coordinator that starts again in between goes on with what is left.
  @Test(.checks("S23", "G4")) func aNewLifeGoesOn() {
    var world = world(TurnShare(graphs: 512, operations: 8))
    fail(&world)
    let next = nextLife(of: world)
    #expect((1..<55).allSatisfy { next.graphs[1].cell($0).isCancelled })
    #expect(!next.graphs[1].isStopping)
  }

  // The policy of the whole graph is not lost behind that of a part, which has just begun.
  @Test(.checks("S23")) func thePolicyOfTheWholeComesBehindThatOfAPart() {
    var world = World(share: TurnShare(graphs: 512, operations: 3, endSteps: 8))
    world.invariantChecks = .afterEveryTurn
    world.join("w1", cpus: 2)
    var submission = GraphSubmission(name: "scopes")
    submission.templates = [noops("b", 8), noops("a", 60)]
    for at in submission.templates.indices { submission.templates[at].retry.maximum = 0 }
    submission.failurePolicy = .cancel
    submission.maximumFailures = 1
    submission.failureScopes = [
      FailureScope(first: 1, count: 1, maximumFailures: 0, cancelsRunning: true)
    ]
    for index: UInt32 in 9..<68 {
      submission.elementEdges.from += [index - 1, max(8, index - 2)]
      submission.elementEdges.to += [index, index]
      submission.elementEdges.policies += [.finished, .finished]
    }
    submission.templates[1].priority = .high
    world.ask(.submit(submission))
    world.start(0, operation(1, 8))
    world.start(0, operation(1, 0))
    world.end(0, operation(1, 8), .failure())
    world.report(0)
    world.tick(after: .zero)
    #expect(world.scheduler.graphs[1].isStopping)
    world.end(0, operation(1, 0), .failure())
    world.report(0)
    for _ in 0..<200 { world.tick(after: .zero) }
    world.runAll { id in
      Issue.record("\(id) ran")
      return .success
    }
    let outcomes = world.endings.first?.outcomes ?? []
    #expect(outcomes.count == 68)
    #expect(outcomes.dropFirst().prefix(7).allSatisfy { $0 == Outcome.cancelled.rawValue })
    #expect(world.brokenInvariant == nil)
  }

  // A new life cancels what the former one had not reached and spares what that had left to run.
  @Test(.checks("S23"), arguments: [8, 1_000])
  func whatWasLeftToRunIsSparedByANewLife(size: Int) {
    var world = World(share: TurnShare(graphs: 512, operations: size))
    world.join("w1", cpus: 3)
    var submission = GraphSubmission(name: "stop")
    submission.failurePolicy = .stop
    submission.templates = [noops("a", 40)]
    submission.templates[0].retry.maximum = 5
    submission.templates[0].retry.backoff = .seconds(60)
    submission.elementEdges = ElementEdges(from: [30], to: [31], policies: [.finished])
    var failing = noops("b")
    failing.priority = .veryHigh
    submission.templates.append(failing)
    world.ask(.submit(submission))
    for index: UInt32 in [40, 0, 1] { world.start(0, operation(1, index)) }
    // One is between two runs when the graph stops, another runs.
    world.end(0, operation(1, 0), .failure())
    world.report(0)
    world.end(0, operation(1, 40), .failure())
    world.report(0)
    let isReached = world.cell(1, 0)?.isCancelled == true
    #expect(isReached == (size == 1_000))
    let next = nextLife(of: world)
    #expect((2..<40).allSatisfy { next.graphs[1].cell($0).isCancelled })
    // What no part had reached may be taken for left to run, if nothing behind it was left.
    #expect(!next.graphs[1].cell(1).isCancelled)
  }

  // Who asks is told why nothing runs, and a graph that is suspended meanwhile stays so.
  @Test(.checks("S107")) func itIsExplained() {
    var world = world(TurnShare(graphs: 512, operations: 8))
    fail(&world)
    let first = Selection(graphs: .last(back: 0), operation: "a")
    guard case .explanations(let all, _)? = world.ask(.explain(first)), let one = all.first else {
      Issue.record("no explanation")
      return
    }
    let words = one.lines.map(\.text)
    #expect(words.contains { $0.hasSuffix("are being ended") }, "\(words)")
    world.ask(.suspendGraphs(.graph(graphNumber), true))
    for _ in 0..<20 { world.tick(after: .milliseconds(1)) }
    #expect(world.scheduler.graphs[1].isHalted && !world.scheduler.graphs[1].isStopping)
    world.ask(.suspendGraphs(.graph(graphNumber), false))
    world.runAll()
    #expect(world.endings.count == 1 && world.brokenInvariant == nil)
  }
}
