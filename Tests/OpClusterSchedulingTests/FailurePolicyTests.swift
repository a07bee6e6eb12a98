// Failure policies and local unblocking (S151): what a worker may have unblocked by itself when its
// graph stops has started behind a real success, or comes back and never starts.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct FailurePolicyTests {
  // f fails; b and z wait for a, which a worker holds together with them; z is spared.
  private static let (f, a, b, z) = (
    operation(2, 0), operation(2, 1), operation(2, 2), operation(2, 3)
  )

  /// A worker that is quick enough to be given what waits, holding all of the second graph.
  private func world(_ policy: EdgePolicy, _ failurePolicy: FailurePolicy = .cancel) -> World {
    var world = World()
    world.join("w1")
    var many = GraphSubmission(name: "many")
    many.templates = [noops("many", 200)]
    world.ask(.submit(many))
    while world.cell(1, 199) != nil {
      world.now = world.now + .milliseconds(1)
      for dispatch in world.workers[0].assigned { world.start(0, dispatch.attempt.operation) }
      for attempt in world.workers[0].executing { world.end(0, attempt.operation) }
      world.report(0)
    }
    // One event more for a than it would have: its next ones could be told together with b's.
    world.ask(.changeQueue("default", QueueChange(isSuspended: true)))
    var stopped = graph(["f", "a", "b", "z"])
    stopped.elementEdges = ElementEdges(from: [1, 1], to: [2, 3], policies: [.succeeded, policy])
    stopped.failurePolicy = failurePolicy
    stopped.templates[3].isFinal = true
    for at in 2...3 { stopped.templates[at].priority = .high }
    world.ask(.submit(stopped))
    world.ask(.setPriority(.operations([Self.a]), .high))
    world.ask(.changeQueue("default", QueueChange(isSuspended: false)))
    world.workers[0].answersRecalls = false
    world.start(0, Self.f)
    world.report(0)
    return world
  }

  private func fail(_ world: inout World) {
    world.end(0, Self.f, .failure())
    world.report(0)
  }

  private func attempt(_ id: OperationID) -> AttemptID { AttemptID(operation: id, attempt: 1) }

  @Test func whatMayHaveBeenUnblockedIsAskedBackFirst() {
    var world = world(.succeeded)
    let ahead = world.workers[0].assigned.filter { !$0.awaits.isEmpty }.map(\.attempt.operation)
    #expect(ahead == [Self.b, Self.z])
    world.start(0, Self.a)
    world.report(0)
    fail(&world)
    #expect(Set(world.workers[0].recalls.map(\.operation)) == [Self.b, Self.z])
    #expect(world.cell(2, 1)?.isCancelled == false && world.workers[0].cancels.isEmpty)
    #expect(world.cell(2, 2)?.isCancelled == true && world.cell(2, 3)?.isCancelled == false)
  }

  // A had succeeded before the policy could reach it, and what its worker started
  // behind that has started behind a success, for every observer. z is not ended while it runs.
  @Test(.checks("S114", "S151", "G10"), arguments: [FailurePolicy.stop, .cancel])
  func whatHasStartedStartedBehindASuccess(_ failurePolicy: FailurePolicy) {
    var world = world(.succeeded, failurePolicy)
    fail(&world)
    world.start(0, Self.a)
    world.end(0, Self.a)
    world.start(0, Self.b)
    world.start(0, Self.z)
    world.report(0)
    #expect(world.cell(2, 1)?.ending.outcome == .succeeded)
    #expect(world.cell(2, 2)?.phase == .executing && world.cell(2, 3)?.phase == .executing)
    #expect(world.workers[0].cancels.map(\.operation) == [Self.b])
    #expect(world.workers[0].stale.isEmpty)
    let end = world.events.firstIndex { isOf($0, Self.a, .isFinished(.succeeded)) }
    let start = world.events.firstIndex { isOf($0, Self.b, .isExecuting(true)) }
    #expect(end != nil && start != nil && (end ?? 0) < (start ?? 0))
    world.end(0, Self.b)
    world.report(0)
    #expect(world.cell(2, 2)?.ending.outcome == .cancelled)
    world.end(0, Self.z)
    world.report(0)
    #expect(world.endings.last?.outcomes == outcomes(.failed, .succeeded, .cancelled, .succeeded))
    #expect(world.replayed().snapshot() == world.scheduler.snapshot())
    #expect(world.brokenInvariant == nil)
  }

  // What comes back never starts behind it: then a is cancelled where it runs.
  @Test func whatComesBackNeverStarts() {
    var world = world(.finished)
    world.start(0, Self.a)
    world.report(0)
    fail(&world)
    world.workers[0].answersRecalls = true
    for id in [Self.b, Self.z] { world.workers[0].answerRecall(attempt(id)) }
    world.report(0)
    #expect(world.cell(2, 1)?.isCancelled == true)
    #expect(world.cell(2, 2)?.ending.outcome == .cancelled)
    #expect(world.cell(2, 3)?.phase == .waiting)
    #expect(world.workers[0].cancels.map(\.operation) == [Self.a])
    world.end(0, Self.a)
    world.report(0)
    world.runAll()
    #expect(world.endings.last?.outcomes == outcomes(.failed, .cancelled, .cancelled, .succeeded))
  }

  // `stop` lets a run, if it had begun when its dependents came back.
  @Test func whatRunsGoesOnUnderStop() {
    var world = world(.finished, .stop)
    fail(&world)
    #expect(world.workers[0].recalls.contains(attempt(Self.a)))
    world.start(0, Self.a)
    for id in [Self.a, Self.b, Self.z] { world.workers[0].answerRecall(attempt(id)) }
    world.report(0)
    #expect(world.cell(2, 1)?.isCancelled == false && world.cell(2, 2)?.isCancelled == true)
    world.workers[0].answersRecalls = true
    world.runAll()
    #expect(world.endings.last?.outcomes == outcomes(.failed, .succeeded, .cancelled, .succeeded))
  }

  // A life that ends meanwhile leaves the same conclusion to the next one, with or
  // without a snapshot in between.
  @Test(.checks("S150", "G4"), arguments: [true, false])
  func theNextLifeGoesOnWithIt(hasSnapshot: Bool) {
    var world = world(.finished)
    world.start(0, Self.a)
    world.report(0)
    fail(&world)
    if hasSnapshot {
      var restored = Scheduler()
      restored.restore(world.scheduler.snapshot(), commit: world.scheduler.lastCommit)
      world.scheduler = restored
    } else {
      world.scheduler = world.replayed()
    }
    world.beginLife()
    world.workers[0].answersRecalls = true
    world.workers[0].peer = PeerID(900)
    world.greet(0)
    world.report(0)
    #expect(world.cell(2, 1)?.isCancelled == true)
    #expect(Set(world.workers[0].cancels.map(\.operation)) == [Self.a])
    world.end(0, Self.a)
    world.report(0)
    world.runAll()
    #expect(world.endings.last?.outcomes == outcomes(.failed, .cancelled, .cancelled, .succeeded))
  }

  // What was left to run when its graph, or its part of it, stopped is tried again after a
  // failure, in the next life of the coordinator as in this one.
  @Test(.checks("G4"), arguments: [true, false], [true, false])
  func whatIsTriedAgainIsSpared(isRestarted: Bool, isPart: Bool) {
    var world = World()
    world.join("w1")
    var stopped = graph(["y", "x"])
    stopped.templates[1].retry = RetryPolicy(maximum: 1, backoff: .seconds(5))
    if isPart {
      stopped.failurePolicy = .continue
      stopped.failureScopes = [
        FailureScope(first: 0, count: 2, maximumFailures: 0, cancelsRunning: false)
      ]
    } else {
      stopped.failurePolicy = .stop
    }
    world.ask(.submit(stopped))
    let (y, x) = (operation(1, 0), operation(1, 1))
    for id in [y, x] { world.start(0, id) }
    world.report(0)
    world.end(0, y, .failure())
    world.report(0)
    world.end(0, x, .failure())
    world.report(0)
    #expect(world.cell(1, 1)?.isCancelled == false)
    if isRestarted {
      world.scheduler = world.replayed()
      world.beginLife()
      world.workers[0].peer = PeerID(900)
      world.greet(0)
      world.report(0)
      #expect(world.cell(1, 1)?.isCancelled == false)
    }
    world.tick(after: .seconds(6))
    world.runAll()
    #expect(world.endings.last?.outcomes == outcomes(.failed, .succeeded))
  }

  // What also waits for another graph is not handed over ahead, since a cancellation there
  // would not know of it.
  @Test(.checks("S151")) func edgesFromElsewhereDoNotGoAhead() {
    var world = world(.succeeded)
    var other = graph(["x", "y"], [("x", "y")])
    other.externalEdges = [ExternalEdge(from: Self.a, to: 1, policy: .succeeded)]
    world.ask(.submit(other))
    #expect(world.cell(3, 0)?.phase == .dispatched && world.cell(3, 1)?.phase == .waiting)
  }

  // What the worker does not take for an end, since it may be tried elsewhere, lets nothing go on
  // there: what waits for it at the worker is asked back if it was the end. (Seed 5029114.)
  @Test(.checks("S151"), arguments: [FailureCause.workerStopped, .lost, .signal])
  func anEndThatTheWorkerDoesNotKnow(cause: FailureCause) {
    var world = world(.succeeded)
    var pair = graph(["x", "y"])
    pair.elementEdges = ElementEdges(from: [0], to: [1], policies: [.finished])
    pair.templates[0].maximumLosses = 0
    for at in 0...1 { pair.templates[at].priority = .veryHigh }
    world.workers[0].answersRecalls = true
    world.ask(.cancel(.selection(.graph(GraphID(2))), reason: "", grace: nil))
    world.runAll()
    world.ask(.submit(pair))
    let (x, y) = (operation(3, 0), operation(3, 1))
    let isAhead = world.workers[0].assigned.contains { $0.attempt.operation == y }
    #expect(isAhead && world.cell(3, 1)?.flags.contains(.ahead) == true)
    world.start(0, x)
    world.report(0)
    world.workers[0].answersRecalls = false
    var result = AttemptResult()
    result.cause = cause
    world.end(0, x, result)
    world.report(0)
    #expect(world.cell(3, 0)?.phase == .finished)
    let isRecalled = world.workers[0].recalls.contains { $0.operation == y }
    #expect(isRecalled == (cause != .signal), "\(cause)")
  }

  private func isOf(_ event: Event, _ id: OperationID, _ kind: Event.Kind) -> Bool {
    if case .operation(id, _) = event.subject { return event.kind == kind }
    return false
  }

  private func outcomes(_ outcomes: Outcome...) -> [UInt8] { outcomes.map(\.rawValue) }
}
