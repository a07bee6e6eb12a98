// Bugs that a seed of the simulated world found, each as the shortest story that shows it.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct FoundBySimulation {
  // Hole 1 of Simulation.md: a conversation's name is used once, also by a session that was lost
  // and comes back in the same life of the coordinator.
  @Test func conversationsAreNeverNumberedAgain() {
    var world = World()
    let worker = world.join("w1")
    let first = world.workers[worker].conversation
    world.tick(after: .seconds(2))
    for _ in 0..<20 { world.tick(after: .seconds(1)) }
    #expect(world.events.contains { $0.kind == .workerLost })
    world.workers[worker].peer = PeerID(900)
    world.greet(worker)
    #expect(world.workers[worker].conversation != nil)
    #expect(world.workers[worker].conversation != first)
  }

  // The order to leave is told again when a conversation takes the place of another.
  @Test(.checks("S148")) func drainOutlivesTheConversation() {
    var world = World()
    let worker = world.join("w1")
    world.ask(.drainWorker("w1"))
    #expect(world.workers[worker].wasToldToDrain)
    world.workers[worker].wasToldToDrain = false
    world.workers[worker].peer = PeerID(900)
    world.greet(worker)
    #expect(world.workers[worker].wasToldToDrain)
    // Nor is it forgotten with the coordinator's life; told once, however often it is asked for.
    world.ask(.drainWorker("w1"))
    #expect(world.events.count { $0.kind == .workerDraining } == 1)
    var restored = Scheduler()
    restored.restore(world.scheduler.snapshot(), commit: world.scheduler.lastCommit)
    #expect(restored.workers[1].isDraining && world.replayed().workers[1].isDraining)
  }

  // An edge on an operation that ended otherwise skips a declared dependent, too.
  @Test(.checks("S23", "S27", "S28")) func declaredOperationsAreSkippedForWhatEndedBefore() {
    var world = World()
    let worker = world.join("w1")
    world.ask(.submit(graph(["a", "b"], [("a", "b")])))
    world.start(worker, operation(1, 0))
    world.end(worker, operation(1, 0))
    world.report(worker)
    var second = GraphSubmission(name: "second")
    second.templates = [noops("c"), noops("d")]
    second.isDeclaredOnly = true
    second.externalEdges = [ExternalEdge(from: operation(1, 0), to: 0, policy: .failed)]
    world.ask(.submit(second))
    #expect(world.cell(2, 0)?.ending.outcome == .skipped)
    #expect(world.cell(2, 1)?.phase == .declared)
  }

  // A barrier that enters a queue waits for what is before it there, so that must not wait
  // for the barrier.
  @Test(.checks("S33")) func enqueuingABarrierBehindItsDependentIsRefused() {
    var world = World()
    var submission = graph(["b", "x"], [("b", "x")])
    submission.templates[0].isBarrier = true
    submission.isDeclaredOnly = true
    world.ask(.submit(submission))
    let wrong = world.ask(.enqueue([operation(1, 1), operation(1, 0)], queue: "default"))
    guard case .refused(let refusal) = wrong else {
      Issue.record("accepted: \(String(describing: wrong))")
      return
    }
    #expect(refusal.code == .cycle)
    let right = world.ask(.enqueue([operation(1, 0), operation(1, 1)], queue: "default"))
    guard case .done = right else {
      Issue.record("refused: \(String(describing: right))")
      return
    }
  }

  // A queue may go while a graph that names it has not been enqueued; what is enqueued
  // elsewhere runs there.
  @Test(.checks("S5", "S28")) func declaredOperationsSurviveTheirQueue() {
    var world = World()
    let worker = world.join("w1")
    world.ask(.createQueue(QueueSettings(name: "short")))
    var submission = graph(["a", "b"], [("a", "b")])
    submission.queues = [.named("short")]
    submission.isDeclaredOnly = true
    world.ask(.submit(submission))
    world.ask(.removeQueue("short"))
    world.ask(.enqueue([operation(1, 0)], queue: "default"))
    world.start(worker, operation(1, 0))
    world.end(worker, operation(1, 0))
    world.report(worker)
    #expect(world.cell(1, 0)?.ending.outcome == .succeeded)
    world.ask(.enqueue([operation(1, 1)], queue: "default"))
    world.runAll()
    #expect(world.scheduler.graphs.numbers.isEmpty)
  }

  // A snapshot knows queues by their number, whatever they are called by now.
  @Test(.checks("G4")) func snapshotsOutliveTheNameOfAQueue() {
    var world = World()
    world.ask(.createQueue(QueueSettings(name: "old", maximumConcurrent: 1)))
    var submission = graph(["a", "b"])
    submission.queues = [.named("old")]
    world.ask(.submit(submission))
    world.ask(.changeQueue("old", QueueChange(newName: "new")))
    var restored = Scheduler()
    restored.restore(world.scheduler.snapshot(), commit: world.scheduler.lastCommit)
    #expect(restored.brokenInvariant() == nil)
    #expect(restored.queues[1].members == 2)
    #expect(restored.snapshot() == world.scheduler.snapshot())
  }

  // The last orders of a conversation may be lost without a gap that would show it.
  @Test(.checks("G34")) func lostLastOrdersAreNoticed() {
    var world = World()
    let worker = world.join("w1")
    world.ask(.submit(graph(["a"])))
    #expect(world.workers[worker].ordersTaken == 1)
    world.workers[worker].assigned = []
    world.workers[worker].ordersTaken = 0
    for _ in 0..<20 {
      world.tick(after: .seconds(1))
      world.report(worker)
    }
    #expect(world.workers[worker].refusals.last?.code == .busy)
    world.workers[worker].peer = PeerID(900)
    world.greet(worker)
    #expect(world.cell(1, 0)?.attempt == 2)
    world.runAll()
    #expect(world.scheduler.graphs.numbers.isEmpty)
  }

  // A suspect is not spoken to, so that its own lease runs out before it is lost.
  @Test(.checks("S147")) func suspectsAreLeftInSilence() {
    var world = World()
    world.join("w1")
    for _ in 0..<4 { world.tick(after: .seconds(1)) }
    #expect(!world.turn.atOnce.isEmpty)
    for _ in 0..<3 { world.tick(after: .seconds(1)) }
    #expect(world.turn.atOnce.isEmpty)
    let next = world.scheduler.nextDeadline()
    #expect(next.map { $0 > world.now } ?? false)
  }

  // Graphs that end in one turn are remembered in one order, however the state came about.
  @Test(.checks("G4")) func graphsEndInOneOrder() {
    var world = World()
    world.ask(.changeQueue("default", QueueChange(isSuspended: true)))
    for _ in 0..<2 { world.ask(.submit(graph(["a"]))) }
    for number in [UInt32(2), 1] {
      world.ask(.cancel(.selection(.graph(GraphID(number))), reason: "", grace: nil))
    }
    var restored = Scheduler()
    restored.restore(world.scheduler.snapshot(), commit: world.scheduler.lastCommit)
    let before = world.scheduler.lastCommit
    world.ask(.changeQueue("default", QueueChange(isSuspended: false)))
    for turn in world.journal where turn.commit > before {
      restored.replay(turn.records, commit: turn.commit)
    }
    #expect(restored.snapshot() == world.scheduler.snapshot())
  }

  // A hello that comes twice does not take back what was handed over after the first.
  @Test(.checks("S148")) func aDoubledHelloChangesNothing() {
    var world = World()
    world.ask(.submit(graph(["a"])))
    let worker = world.join("w1")
    let conversation = world.workers[worker].conversation
    #expect(world.cell(1, 0)?.phase == .dispatched)
    let first = WorkerHello(
      name: "w1", session: world.workers[worker].session,
      capacity: world.workers[worker].capacity, types: world.workers[worker].types)
    world.input(.worker(world.workers[worker].peer, .hello(first)))
    #expect(world.cell(1, 0)?.attempt == 1)
    #expect(world.workers[worker].conversation == conversation)
  }

  // An edge that was taken away and added again holds, and lets go.
  @Test(.checks("S34", "S37")) func anEdgeMayComeBack() {
    var world = World()
    world.ask(.submit(graph(["a", "b"], [("a", "b")])))
    world.ask(.removeDependency(from: operation(1, 0), to: operation(1, 1)))
    #expect(world.cell(1, 1)?.phase == .ready)
    world.ask(.addDependency(from: operation(1, 0), to: operation(1, 1), .finished))
    #expect(world.cell(1, 1)?.phase == .waiting)
    world.join("w1")
    world.runAll()
    #expect(world.scheduler.graphs.numbers.isEmpty)
  }

  // A snapshot knows that an edge on an earlier graph was taken away.
  @Test(.checks("G4")) func snapshotsKnowRemovedEdgesOnOtherGraphs() {
    var world = World()
    world.ask(.submit(graph(["a"])))
    var second = graph(["b"])
    second.externalEdges = [ExternalEdge(from: operation(1, 0), to: 0, policy: .finished)]
    world.ask(.submit(second))
    world.ask(.removeDependency(from: operation(1, 0), to: operation(2, 0)))
    var restored = Scheduler()
    restored.restore(world.scheduler.snapshot(), commit: world.scheduler.lastCommit)
    #expect(restored.graphs.find(2)?.cell(0).phase == .ready)
    #expect(restored.graphs.find(2)?.cell(0).blockers == 0)
    #expect(restored.brokenInvariant() == nil)
    #expect(restored.snapshot() == world.scheduler.snapshot())
  }

  // A queue of a graph goes with it, so nothing of another graph may be in it.
  @Test func aGraphsOwnQueueIsForNobodyElse() {
    var world = World()
    var first = graph(["a"])
    first.queues = [.own(QueueSettings(name: "own"))]
    world.ask(.submit(first))
    var second = graph(["b"])
    second.isDeclaredOnly = true
    world.ask(.submit(second))
    var third = graph(["c"])
    third.queues = [.named("1/own")]
    for request: ClientRequest in [
      .enqueue([operation(2, 0)], queue: "1/own"), .submit(third),
    ] {
      guard case .refused(let refusal) = world.ask(request) else {
        Issue.record("accepted: \(request)")
        continue
      }
      #expect(refusal.code == .badRequest)
    }
  }

  // A suspension that is asked for again after a restart is answered when what a worker held
  // is back, and not before.
  @Test(.checks("S72")) func aRepeatedSuspensionWaitsForWhatIsHeld() {
    var world = World()
    let worker = world.join("w1")
    world.ask(.submit(graph(["a"])))
    world.workers[worker].answersRecalls = false
    let suspension = ClientRequest.changeQueue("default", QueueChange(isSuspended: true))
    #expect(world.ask(suspension) == nil)
    world.scheduler = world.replayed()
    world.beginLife()
    #expect(world.ask(suspension) == nil)
    world.workers[worker].answersRecalls = true
    world.workers[worker].peer = PeerID(900)
    world.greet(worker)
    world.report(worker)
    #expect(world.replies[world.lastRequest] == .suspended(executing: []))
  }

  // What was handed over ahead may wait at its worker for an end that it will never see. The
  // recall is forgotten with the coordinator's life, so what comes back with dependencies is asked
  // for again.
  @Test(.checks("S151")) func whatMayWaitInVainIsRecalledAfterARestart() {
    var world = World()
    let worker = world.join("w1", cpus: 1)
    var submission = graph(["a", "b"])
    submission.elementEdges = ElementEdges(from: [0], to: [1], policies: [.succeeded])
    world.ask(.submit(submission))
    world.start(worker, operation(1, 0))
    world.end(worker, operation(1, 0))
    world.report(worker)
    #expect(world.cell(1, 1)?.phase == .dispatched)
    world.scheduler = world.replayed()
    world.beginLife()
    world.workers[worker].peer = PeerID(900)
    world.greet(worker)
    world.report(worker)
    #expect(world.cell(1, 1)?.attempt == 2)
    world.runAll()
    #expect(world.scheduler.graphs.numbers.isEmpty)
  }

  // What was kept back by a suspended graph may have ended, and its queue may be gone,
  // when the graph goes on.
  @Test(.checks("S5", "S75"), arguments: [UInt32(1), 3])
  func resumingAfterTheQueueIsGone(count: UInt32) {
    var world = World()
    world.ask(.createQueue(QueueSettings(name: "short")))
    var submission = GraphSubmission(name: "test")
    submission.templates = [noops("a", count), noops("b")]
    submission.templates[1].queue = 1
    submission.queues = [.named("short"), .named("default")]
    submission.isSuspended = true
    world.ask(.submit(submission))
    world.join("w1")
    var selection = Selection.graph(GraphID(1))
    selection.operation = "a"
    world.ask(.cancel(.selection(selection), reason: "", grace: nil))
    world.ask(.removeQueue("short"))
    world.ask(.suspendGraphs(.graph(GraphID(1)), false))
    world.runAll()
    #expect(world.scheduler.graphs.numbers.isEmpty)
  }

  // The same where they were cancelled before what they waited for had ended.
  @Test(.checks("S5")) func dependenciesEndAfterTheQueueIsGone() {
    var world = World()
    let worker = world.join("w1")
    world.ask(.createQueue(QueueSettings(name: "short")))
    var submission = GraphSubmission(name: "test")
    submission.templates = [noops("a", 2), noops("b", 2)]
    submission.templates[1].queue = 1
    submission.queues = [.named("default"), .named("short")]
    submission.groupEdges = [GroupEdge(from: 0, to: 1, policy: .finished)]
    world.ask(.submit(submission))
    world.start(worker, operation(1, 0))
    var selection = Selection.graph(GraphID(1))
    selection.operation = "b"
    world.ask(.cancel(.selection(selection), reason: "", grace: nil))
    world.ask(.removeQueue("short"))
    world.runAll()
    #expect(world.scheduler.graphs.numbers.isEmpty)
  }

  // When an operation comes back unstarted, so does what went along with it, step by step:
  // it would keep the room that its dependency may need.
  @Test(.checks("S151")) func whatWentAlongComesBackWithIt() {
    var world = World()
    world.join("w1", cpus: 1)
    makeFast(&world)
    var chain = graph(["a", "b", "c"])
    chain.elementEdges = ElementEdges(from: [0, 1], to: [1, 2], policies: [.succeeded])
    for at in chain.templates.indices { chain.templates[at].priority = .high }
    world.ask(.submit(chain))
    let along = world.workers[0].assigned.filter { !$0.awaits.isEmpty }.map(\.attempt)
    #expect(along.map(\.operation) == [operation(2, 1), operation(2, 2)])
    world.workers[0].answersRecalls = false
    world.ask(.setPriority(.operations([operation(2, 0)]), .veryHigh))
    world.workers[0].answerRecall(AttemptID(operation: operation(2, 0), attempt: 1))
    world.report(0)
    #expect(world.workers[0].recalls.contains(along[0]))
    world.workers[0].answerRecall(along[0])
    world.report(0)
    #expect(world.workers[0].recalls.contains(along[1]))
  }

  // A worker that comes back without an operation, and without one that went ahead behind it: the
  // end of the first skips the second, which is then no longer the worker's.
  @Test(.checks("S12", "S151")) func aWorkerComesBackWithoutAChain() {
    var world = World()
    world.invariantChecks = .afterEveryTurn
    world.join("w1", cpus: 1)
    makeFast(&world)
    var chain = graph(["a", "b"])
    chain.templates[0].maximumLosses = 0
    for at in chain.templates.indices { chain.templates[at].priority = .high }
    chain.elementEdges = ElementEdges(from: [0], to: [1], policies: [.succeeded])
    world.ask(.submit(chain))
    #expect(world.workers[0].assigned.map(\.attempt.operation).suffix(2) == [
      operation(2, 0), operation(2, 1),
    ])
    world.start(0, operation(2, 0))
    world.report(0)
    world.workers[0].assigned = []
    world.workers[0].executing = []
    world.workers[0].peer = PeerID(5_000)
    world.greet(0)
    #expect(world.history.last { $0.attempt.operation == operation(2, 0) }?.result.cause == .lost)
    #expect(world.scheduler.graphs.numbers.isEmpty)
    #expect(world.brokenInvariant == nil)
  }

  /// The only worker does some operations at once, so that its window opens.
  private func makeFast(_ world: inout World) {
    world.ask(.submit(many(100)))
    for _ in 0..<4 {
      world.now = world.now + .milliseconds(1)
      for dispatch in world.workers[0].assigned { world.start(0, dispatch.attempt.operation) }
      for attempt in world.workers[0].executing { world.end(0, attempt.operation) }
      world.report(0)
    }
  }

  private func many(_ count: UInt32) -> GraphSubmission {
    var submission = GraphSubmission(name: "many")
    submission.templates = [noops("many", count)]
    return submission
  }

  // What was sent ahead and cannot start there waits for its dependencies again, and is no failure:
  // a further attempt would be in line before they have ended.
  @Test(.checks("S151"), arguments: [FailureCause.storeFull, .cannotStart, .unknownType, .lost])
  func whatWasSentAheadAndCannotStartWaits(cause: FailureCause) {
    var world = World()
    world.invariantChecks = .afterEveryTurn
    let worker = world.join("w1", cpus: 1)
    makeFast(&world)
    var chain = graph(["a", "b"])
    for at in chain.templates.indices { chain.templates[at].priority = .high }
    chain.elementEdges = ElementEdges(from: [0], to: [1], policies: [.succeeded])
    world.ask(.submit(chain))
    world.start(worker, operation(2, 0))
    world.report(worker)
    guard let attempt = world.workers[worker].assigned.map(\.attempt)
      .first(where: { $0.operation == operation(2, 1) })
    else {
      Issue.record("b was not sent ahead")
      return
    }
    world.workers[worker].assigned.removeAll { $0.attempt == attempt }
    var result = AttemptResult()
    result.cause = cause
    world.workers[worker].outbox.append(.finished(attempt, result))
    world.report(worker)
    #expect(world.cell(2, 1)?.failures == 0)
    #expect(world.cell(2, 1)?.phase == .waiting || world.cell(2, 1)?.flags.contains(.ahead) == true)
    world.end(worker, operation(2, 0))
    world.report(worker)
    world.runAll()
    #expect(world.scheduler.graphs.numbers.isEmpty)
    #expect(world.brokenInvariant == nil)
  }

  // What a welcome calls stale may be so by a fact of its own turn. Whoever was told that knows of
  // this fact: a journal that was restored without it is not to take its next hello for an old one.
  @Test(.checks("S12")) func whoIsWelcomedKnowsTheTurnsCommit() throws {
    var world = World()
    let worker = world.join("w1")
    world.ask(.submit(graph(["a", "b"])))
    world.start(worker, operation(1, 0))
    world.end(worker, operation(1, 0))
    let next = world.nextReport(of: worker)
    let report = try #require(next)
    world.workers[worker].peer = PeerID(5_000)
    let hello = world.hello(of: worker)
    let before = world.scheduler.lastCommit
    world.step {
      $0.handle(report, into: &$1)
      $0.handle(hello, into: &$1)
    }
    #expect(world.turn.isDurable && world.scheduler.lastCommit > before)
    #expect(world.workers[worker].known?.commit == world.scheduler.lastCommit)
    // A turn without facts has no commit that anybody could know of.
    let after = world.scheduler.lastCommit
    world.greet(worker)
    #expect(!world.turn.isDurable && world.scheduler.lastCommit == after)
    #expect(world.workers[worker].known?.commit == after)
  }
}
