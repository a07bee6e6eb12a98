// Ends that make many others end: followed over several turns, for which nobody else waits, and
// with the same result as at once.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct PendingEndTests {
  /// Small enough for a few operations to be many.
  private static let few = TurnShare(graphs: 512, endSteps: 4)
  private static let all = TurnShare(graphs: 512, endSteps: 0)

  /// A worker has the first operation; the others wait, each for three of the layer before it.
  private func layered(_ share: TurnShare, layers: UInt32 = 6) -> World {
    var world = World(share: share)
    world.join("w1", cpus: 1)
    var submission = GraphSubmission(name: "layered")
    submission.templates = [noops("first"), noops("a", 4 * layers)]
    for index in 1...(4 * layers) {
      if index <= 4 {
        submission.elementEdges.from.append(0)
        submission.elementEdges.to.append(index)
        submission.elementEdges.policies.append(.succeeded)
        continue
      }
      let layer = (index - 1) / 4
      for offset: UInt32 in 0..<3 {
        submission.elementEdges.from.append((layer - 1) * 4 + (index + offset) % 4 + 1)
        submission.elementEdges.to.append(index)
        submission.elementEdges.policies.append(.succeeded)
      }
    }
    world.ask(.submit(submission))
    world.start(0, operation(1, 0))
    world.report(0)
    return world
  }

  private func failFirst(_ world: inout World) {
    world.end(0, operation(1, 0), .failure())
    world.report(0)
  }

  private func ends(_ world: World) -> [OperationID: (Outcome, CancelReason?)] {
    var ends: [OperationID: (Outcome, CancelReason?)] = [:]
    var reasons: [OperationID: CancelReason] = [:]
    for event in world.events {
      guard case .operation(let id, _) = event.subject else { continue }
      switch event.kind {
      case .isCancelled(let reason): reasons[id] = reason
      case .isFinished(let outcome): ends[id] = (outcome, reasons[id])
      default: break
      }
    }
    return ends
  }

  // What waits for the words of others to be told says so, and what it waits for is not named.
  @Test(.checks("S23")) func whyWhatIsAboutToBecomeReadyWaits() {
    var world = World(share: Self.few)
    world.join("w1", cpus: 1)
    var submission = GraphSubmission(name: "fan")
    submission.templates = [noops("first"), noops("a", 100)]
    submission.elementEdges.from = Array(repeating: 0, count: 100)
    submission.elementEdges.to = Array(1...100)
    submission.elementEdges.policies = [.succeeded]
    world.ask(.submit(submission))
    world.start(0, operation(1, 0))
    world.end(0, operation(1, 0), .success)
    world.report(0)
    #expect(world.scheduler.hasPendingEnds)
    var waiting = Selection.graph(GraphID(1))
    waiting.states = [.waiting]
    guard case .explanations(let rows, _)? = world.ask(.explain(waiting)) else {
      Issue.record("no explanations")
      return
    }
    #expect(rows.first?.lines.first?.text.hasPrefix("all it waits for has ended") == true)
    world.followEnds()
    #expect(world.cell(1, 100)?.blockers == 0)
  }

  // The last element opens the gate of what another element has made impossible: it waits for its
  // own end alone, and no worker may get it ahead of the one operation that it still waits for.
  @Test(.checks("S23", "S151")) func whatIsToBeSkippedDoesNotGoAhead() {
    var world = World(share: TurnShare(graphs: 512, endSteps: 1))
    world.invariantChecks = .afterEveryTurn
    world.join("w1", cpus: 2)
    var submission = GraphSubmission(name: "gate")
    submission.templates = [noops("a", 2), noops("x"), noops("b")]
    submission.groupEdges = [GroupEdge(from: 0, to: 2, policy: .succeeded, match: .all)]
    submission.elementEdges.from = [2]
    submission.elementEdges.to = [3]
    submission.elementEdges.policies = [.succeeded]
    world.ask(.submit(submission))
    for index: UInt32 in 0..<2 { world.start(0, operation(1, index)) }
    world.report(0)
    #expect(world.cell(1, 2)?.phase == .ready)
    world.end(0, operation(1, 0), .failure())
    world.end(0, operation(1, 1), .success)
    world.report(0)
    #expect(world.worker(of: operation(1, 2)) != nil)
    #expect(world.worker(of: operation(1, 3)) == nil, "it will be skipped")
    world.followEnds()
    #expect(ends(world)[operation(1, 3)]?.0 == .skipped)
  }

  @Test(.checks("S23", "G4")) func whatFollowsIsTheSameAsAtOnce() {
    var (slow, fast) = (layered(Self.few), layered(Self.all))
    slow.invariantChecks = .afterEveryTurn
    failFirst(&fast)
    #expect(!fast.scheduler.hasPendingEnds && fast.endings.count == 1)
    failFirst(&slow)
    #expect(slow.scheduler.hasPendingEnds && slow.endings.isEmpty)
    // What has begun to end is not seen by anybody who asks in between, and he is answered.
    var turns = 0
    while slow.scheduler.hasPendingEnds {
      slow.input(.client(PeerID(2), RequestID(UInt64(1_000 + turns)), .submit(graph(["other"]))))
      guard case .accepted = slow.replies[UInt64(1_000 + turns)] else {
        Issue.record("another client was not answered in between")
        return
      }
      #expect(slow.replayed().snapshot() == slow.scheduler.snapshot())
      turns += 1
    }
    #expect(turns > 10)
    let (one, other) = (ends(slow), ends(fast))
    #expect(other.count == 25)
    for (id, end) in other {
      #expect(one[id]?.0 == end.0 && one[id]?.1 == end.1, "\(id)")
    }
    #expect(slow.brokenInvariant == nil)
    #expect(slow.replayed().snapshot() == slow.scheduler.snapshot())
  }

  // A turn costs what it may, whatever the failure makes impossible.
  @Test(.checks("S23")) func noTurnFollowsMoreThanItsShare() {
    var world = layered(Self.few, layers: 100)
    world.invariantChecks = .never
    world.turns = []
    failFirst(&world)
    world.followEnds()
    let ended = (world.turns ?? []).map { turn in
      turn.events.reduce(0) { sum, run in
        if case .isFinished = run.first.kind { return sum + Int(run.count) }
        return sum
      }
    }
    #expect(ended.reduce(0, +) == 401)
    #expect(ended.max() ?? 0 <= 4)
  }

  // b waits for all of a. One of a fails, so that b will be skipped; then the rest of a succeeds.
  @Test(.checks("S23")) func whatWillBeSkippedDoesNotBecomeReady() {
    var world = World(share: TurnShare(graphs: 512, endSteps: 1))
    world.invariantChecks = .afterEveryTurn
    world.join("w1", cpus: 2)
    var submission = GraphSubmission(name: "gate")
    submission.templates = [noops("a", 2), noops("b", 40), noops("z", 40)]
    submission.groupEdges = [
      GroupEdge(from: 0, to: 1, policy: .succeeded, match: .all),
      GroupEdge(from: 0, to: 2, policy: .finished, match: .all),
    ]
    world.ask(.submit(submission))
    for index: UInt32 in 0...1 { world.start(0, operation(1, index)) }
    world.report(0)
    // In one report: the second end opens the gate while b is still to be skipped.
    world.end(0, operation(1, 0), .failure())
    world.end(0, operation(1, 1))
    world.report(0)
    #expect(world.scheduler.hasPendingEnds)
    #expect(world.cell(1, 41)?.phase == .waiting && world.cell(1, 41)?.isImpossible == true)
    world.followEnds()
    let started = world.workers[0].assigned.map(\.attempt.operation.index)
    #expect(!started.isEmpty && started.allSatisfy { $0 >= 42 })
    #expect((2..<42).allSatisfy { world.cell(1, $0)?.ending.outcome == .skipped })
    #expect(world.brokenInvariant == nil)
  }

  // What a failure makes impossible is skipped, and only what is left is cancelled by the policy.
  @Test(.checks("S23"), arguments: [Self.few, Self.all]) func policiesWait(share: TurnShare) {
    var world = World(share: share)
    world.join("w1", cpus: 1)
    var submission = GraphSubmission(name: "policy")
    submission.templates = [noops("first"), noops("behind", 30), noops("beside", 30)]
    submission.groupEdges = [GroupEdge(from: 0, to: 1, policy: .succeeded, match: .all)]
    submission.failurePolicy = .cancel
    world.ask(.submit(submission))
    world.start(0, operation(1, 0))
    world.report(0)
    failFirst(&world)
    world.followEnds()
    let outcomes = ends(world).mapValues(\.0)
    #expect((1...30).allSatisfy { outcomes[operation(1, $0)] == .skipped })
    #expect((31...60).allSatisfy { outcomes[operation(1, $0)] == .cancelled })
  }

  // The coordinator dies in between: the next life follows what is left before anything else.
  @Test(.checks("G4")) func theNextLifeFollowsTheRest() {
    var world = layered(Self.few)
    failFirst(&world)
    #expect(world.scheduler.hasPendingEnds)
    var next = world
    next.scheduler = world.replayed()
    #expect(next.scheduler.hasPendingEnds)
    next.beginLife()
    #expect(!next.scheduler.hasPendingEnds)
    world.followEnds()
    #expect(ends(next).mapValues(\.0) == ends(world).mapValues(\.0))
  }

  // A queue resumes in which much was cancelled, and is suspended again before all of it has ended.
  @Test(.checks("S75", "G4")) func theRestOfASuspendedQueueStays() {
    var world = World(share: TurnShare(graphs: 512, endSteps: 1))
    world.invariantChecks = .afterEveryTurn
    world.ask(.changeQueue("default", QueueChange(isSuspended: true)))
    for _ in 0..<40 { world.ask(.submit(graph(["x"]))) }
    world.ask(.cancel(.selection(Selection(graphs: .active)), reason: "", grace: nil))
    #expect(world.endings.isEmpty)
    world.ask(.changeQueue("default", QueueChange(isSuspended: false)))
    #expect(world.scheduler.hasPendingEnds && world.endings.isEmpty)
    world.ask(.changeQueue("default", QueueChange(isSuspended: true)))
    world.followEnds()
    // Sixteen were on their way.
    #expect(world.endings.count == 16)
    #expect(world.replayed().snapshot() == world.scheduler.snapshot())
    var restored = Scheduler()
    restored.restore(world.scheduler.snapshot(), commit: world.scheduler.lastCommit)
    #expect(restored.snapshot() == world.scheduler.snapshot())
    world.ask(.changeQueue("default", QueueChange(isSuspended: false)))
    world.followEnds()
    #expect(world.endings.count == 40)
    #expect(world.endings.map(\.row.graph.number) == Array(1...40))
  }

  // One operation has many graphs behind it.
  @Test(.checks("S27")) func manyGraphsBehindOneOperation() {
    var world = World(share: TurnShare(graphs: 512, endSteps: 8))
    world.invariantChecks = .afterEveryTurn
    world.join("w1", cpus: 1)
    world.ask(.submit(graph(["first"])))
    for _ in 0..<20 {
      var submission = graph(["x"])
      submission.externalEdges = [
        ExternalEdge(from: operation(1, 0), to: 0, policy: .succeeded)
      ]
      world.ask(.submit(submission))
    }
    world.start(0, operation(1, 0))
    world.report(0)
    world.end(0, operation(1, 0))
    world.report(0)
    #expect(world.scheduler.hasPendingEnds)
    #expect(world.followEnds() >= 10)
    #expect((2...21).allSatisfy { world.cell($0, 0)?.blockers == 0 })
    #expect(world.brokenInvariant == nil)
    #expect(world.replayed().snapshot() == world.scheduler.snapshot())
  }

  /// One operation, which a worker runs, with sixty behind it; four steps a turn.
  private func fan(_ policy: EdgePolicy = .succeeded) -> World {
    var world = World(share: Self.few)
    world.invariantChecks = .afterEveryTurn
    world.join("w1", cpus: 1)
    var submission = GraphSubmission(name: "fan")
    submission.templates = [noops("first"), noops("behind", 60)]
    submission.elementEdges = ElementEdges(
      from: Array(repeating: 0, count: 60), to: Array(1...60), policies: [policy])
    world.ask(.submit(submission))
    world.start(0, operation(1, 0))
    world.report(0)
    return world
  }

  // The end had come before the edge was removed.
  @Test(.checks("S23", "S37"), arguments: [true, false]) func anEdgeIsRemovedTooLate(fails: Bool) {
    var world = fan()
    world.end(0, operation(1, 0), fails ? .failure() : .success)
    world.report(0)
    #expect(world.scheduler.hasPendingEnds)
    world.ask(.removeDependency(from: operation(1, 0), to: operation(1, 50)))
    world.followEnds()
    #expect(world.brokenInvariant == nil)
    if fails {
      #expect(world.endings.first?.row.counts[.skipped] == 60)
    } else {
      #expect((1...60).allSatisfy { world.cell(1, $0)?.blockers == 0 })
    }
    #expect(world.replayed().snapshot() == world.scheduler.snapshot())
  }

  // It was removed in time, from an operation that has many others.
  @Test(.checks("S37")) func anEdgeIsRemovedInTime() {
    var world = fan()
    world.ask(.removeDependency(from: operation(1, 0), to: operation(1, 50)))
    world.ask(.hold(.operations([operation(1, 50)]), true))
    world.end(0, operation(1, 0), .failure())
    world.report(0)
    world.followEnds()
    #expect(world.cell(1, 50)?.phase == .waiting && world.cell(1, 50)?.isHeld == true)
    #expect(world.brokenInvariant == nil)
  }

  // Who is cancelled before his turn comes to be skipped stays in a suspended queue.
  @Test(.checks("S23", "S75", "G4")) func whatIsCancelledIsNotSkipped() {
    var world = World(share: Self.few)
    world.invariantChecks = .afterEveryTurn
    world.join("w1", cpus: 1)
    world.ask(.createQueue(QueueSettings(name: "slow", isSuspended: true)))
    var submission = GraphSubmission(name: "fan")
    submission.queues = [.named("default"), .named("slow")]
    submission.templates = [noops("first"), noops("behind", 60)]
    submission.templates[1].queue = 1
    submission.groupEdges = [GroupEdge(from: 0, to: 1, policy: .succeeded, match: .all)]
    world.ask(.submit(submission))
    world.start(0, operation(1, 0))
    world.report(0)
    world.end(0, operation(1, 0), .failure())
    world.report(0)
    #expect(world.scheduler.hasPendingEnds && world.cell(1, 60)?.isImpossible == true)
    let late = (59...60).map { operation(1, $0) }
    world.ask(.cancel(.operations(late), reason: "", grace: nil))
    world.followEnds()
    #expect(late.allSatisfy { world.cell(1, $0.index)?.phase == .waiting })
    let restored = restored(world)
    #expect(restored.snapshot() == world.scheduler.snapshot())
    world.ask(.changeQueue("slow", QueueChange(isSuspended: false)))
    world.followEnds()
    let outcomes = ends(world).mapValues(\.0)
    #expect(late.allSatisfy { outcomes[$0] == .cancelled })
    #expect((1...58).allSatisfy { outcomes[operation(1, $0)] == .skipped })
  }

  private func restored(_ world: World) -> Scheduler {
    var restored = Scheduler()
    restored.restore(world.scheduler.snapshot(), commit: world.scheduler.lastCommit)
    return restored
  }

  // Another graph's ends are pending: a failure stops its own graph at once.
  @Test(.checks("S23")) func policiesDoNotWaitForOthers() {
    var world = layered(Self.few, layers: 40)
    world.invariantChecks = .never
    world.join("w2", cpus: 1)
    var other = GraphSubmission(name: "other")
    other.templates = [noops("a"), noops("b", 10)]
    other.failurePolicy = .stop
    world.ask(.submit(other))
    let holder = world.worker(of: operation(2, 0)) ?? 0
    world.start(holder, operation(2, 0))
    world.report(holder)
    failFirst(&world)
    #expect(world.scheduler.hasPendingEnds)
    world.end(holder, operation(2, 0), .failure())
    world.report(holder)
    #expect(world.scheduler.hasPendingEnds)
    #expect((1...10).allSatisfy { world.cell(2, $0)?.isCancelled != false })
  }

  // The coordinator dies between the failure and the policy: what is between two attempts is
  // stopped in the next life, as it would have been in the former.
  @Test(.checks("S150")) func policiesAreNotForgotten() {
    var world = World(share: Self.few)
    world.join("w1", cpus: 2)
    var submission = GraphSubmission(name: "policy")
    submission.templates = [noops("first"), noops("retried"), noops("behind", 100)]
    submission.templates[1].retry = RetryPolicy(maximum: 3, backoff: .seconds(60))
    submission.groupEdges = [GroupEdge(from: 0, to: 2, policy: .succeeded, match: .all)]
    submission.failurePolicy = .stop
    world.ask(.submit(submission))
    for index: UInt32 in 0...1 { world.start(0, operation(1, index)) }
    world.end(0, operation(1, 1), .failure())
    world.report(0)
    failFirst(&world)
    #expect(world.scheduler.hasPendingEnds && world.cell(1, 1)?.isCancelled == false)
    world.scheduler = world.replayed()
    world.beginLife()
    let outcomes = ends(world).mapValues(\.0)
    #expect(outcomes[operation(1, 1)] == .cancelled)
    #expect((2...101).allSatisfy { outcomes[operation(1, $0)] == .skipped })
  }

  // A cancellation is answered when those that end at once have ended: the queue may be removed.
  @Test(.checks("S96")) func theAnswerComesBehindTheEnds() {
    var world = World(share: Self.few)
    world.ask(.createQueue(QueueSettings(name: "q")))
    var submission = GraphSubmission(name: "many")
    submission.queues = [.named("q")]
    submission.templates = [noops("x", 400)]
    world.ask(.submit(submission))
    #expect(world.ask(.cancelQueue("q", reason: "")) == nil)
    let asked = world.lastRequest
    world.followEnds()
    guard case .cancelled(_, let counts) = world.replies[asked] else {
      Issue.record("no answer")
      return
    }
    #expect(counts[.cancelled] == 400)
    guard case .done = world.ask(.removeQueue("q")) else {
      Issue.record("the queue is not empty")
      return
    }
  }

  // What follows from usual ends is never left, however many a turn takes in.
  @Test(.checks("S23")) func usualEndsAreFollowedAtOnce() {
    var world = World()
    world.invariantChecks = .never
    world.join("w1", cpus: 4)
    let chains = 4 * Int(Limits.endStepsPerTurn) / 16
    var submission = GraphSubmission(name: "pairs")
    submission.templates = [noops("a", UInt32(chains)), noops("b", UInt32(chains))]
    submission.elementEdges = ElementEdges(
      from: (0..<UInt32(chains)).map { $0 }, to: (0..<UInt32(chains)).map { $0 + UInt32(chains) },
      policies: [.succeeded])
    world.ask(.submit(submission))
    world.step { scheduler, turn in
      scheduler.state.allowEndSteps(&turn)
      turn.endSteps = Int(Limits.endStepsPerTurn)
      for index in 0..<UInt32(chains) where scheduler.graphs[1].cell(index).phase == .dispatched {
        scheduler.commit(.succeeded, operation(1, index), into: &turn)
      }
    }
    #expect(!world.scheduler.hasPendingEnds)
  }
}

@Suite struct CancellationPartTests {
  /// Operations with edges of their own, of which a part cancels two.
  private func world(edges: ElementEdges) -> World {
    var world = World(share: TurnShare(graphs: 512, operations: 2))
    world.invariantChecks = .afterEveryTurn
    var submission = GraphSubmission(name: "chain")
    submission.templates = [noops("a", 7)]
    submission.elementEdges = edges
    world.ask(.submit(submission))
    return world
  }

  private func chain(_ range: [UInt32]) -> ElementEdges {
    ElementEdges(
      from: Array(range.dropLast()), to: Array(range.dropFirst()),
      policies: Array(repeating: .succeeded, count: range.count - 1))
  }

  private var cancelGraph: ClientRequest {
    .cancel(.selection(Selection.graph(GraphID(1))), reason: "", grace: nil)
  }

  private func outcomes(_ world: World) -> [Outcome] {
    world.events.compactMap { if case .isFinished(let outcome) = $0.kind { outcome } else { nil } }
  }

  // The last ones first: nobody who is to be cancelled too is skipped.
  @Test(.checks("S96", "S97")) func theLastOfAGraphComeFirst() {
    var world = world(edges: chain(Array(0...6)))
    #expect(world.ask(cancelGraph) == nil)
    let asked = world.lastRequest
    #expect(world.cell(1, 5)?.isCancelled == true && world.cell(1, 4)?.isCancelled == false)
    world.input(.client(PeerID(2), RequestID(999), .submit(graph(["other"]))))
    guard case .accepted = world.replies[999] else {
      Issue.record("another client was not answered in between")
      return
    }
    for _ in 0..<10 where world.replies[asked] == nil { world.tick(after: .zero) }
    guard case .cancelled(let verdicts, let counts) = world.replies[asked] else {
      Issue.record("no answer")
      return
    }
    #expect(counts[.cancelled] == 7 && verdicts.count == 7)
    #expect(outcomes(world) == Array(repeating: .cancelled, count: 7))
    #expect(world.brokenInvariant == nil)
  }

  // An edge that leads back would have some of them skipped: then all are cancelled at once.
  @Test(.checks("S96")) func edgesThatLeadBackKeepAGraphTogether() {
    var world = world(edges: chain([6, 5, 4, 3, 2, 1, 0]))
    guard case .cancelled = world.ask(cancelGraph) else {
      Issue.record("it took more than a turn")
      return
    }
    #expect(outcomes(world) == Array(repeating: .cancelled, count: 7))
  }

  @Test(.checks("S34", "S96"), arguments: [true, false])
  func lateEdgesThatLeadBack(restored: Bool) {
    var world = world(edges: chain([0, 1]))
    world.ask(.addDependency(from: operation(1, 6), to: operation(1, 2), .succeeded))
    if restored {
      let snapshot = world.scheduler.snapshot()
      let commit = world.scheduler.lastCommit
      world.scheduler = Scheduler(share: TurnShare(graphs: 512, operations: 2))
      world.scheduler.restore(snapshot, commit: commit)
      world.beginLife()
    }
    world.ask(cancelGraph)
    world.tick(after: .zero)
    #expect(outcomes(world) == Array(repeating: .cancelled, count: 7))
  }

  // Elements without edges of their own change together, and are one step.
  @Test(.checks("S96")) func arraysAreCancelledAtOnce() {
    var world = world(edges: ElementEdges())
    guard case .cancelled = world.ask(cancelGraph) else {
      Issue.record("it took more than a turn")
      return
    }
  }

  // The filter is asked again for each part: what has started by then is not waiting any more.
  @Test(.checks("S96")) func thePartsAskAnew() {
    var world = world(edges: chain([5, 6]))
    world.join("w1", cpus: 1)
    var selection = Selection.graph(GraphID(1))
    selection.states = [.ready, .waiting]
    world.ask(.cancel(.selection(selection), reason: "", grace: nil))
    let asked = world.lastRequest
    world.start(0, operation(1, 0))
    world.report(0)
    for _ in 0..<10 where world.replies[asked] == nil { world.tick(after: .zero) }
    guard case .cancelled(_, let counts) = world.replies[asked] else {
      Issue.record("no answer")
      return
    }
    #expect(counts[.cancelled] == 6 && counts.total == 6)
    #expect(world.cell(1, 0)?.isCancelled == false)
  }

  // The way from one part to the next leads through another graph.
  @Test(.checks("S96")) func aWayBackThroughAnotherGraph() {
    var world = world(edges: chain([0, 1]))
    var other = graph(["b"])
    other.externalEdges = [ExternalEdge(from: operation(1, 6), to: 0, policy: .succeeded)]
    world.ask(.submit(other))
    world.ask(.addDependency(from: operation(2, 0), to: operation(1, 2), .succeeded))
    world.ask(cancelGraph)
    for _ in 0..<10 { world.tick(after: .zero) }
    let own = world.events.compactMap { event -> Outcome? in
      guard case .operation(let id, _) = event.subject, id.graph.number == 1,
        case .isFinished(let outcome) = event.kind
      else { return nil }
      return outcome
    }
    #expect(own == Array(repeating: .cancelled, count: 7))
    #expect(world.brokenInvariant == nil)
  }
}
