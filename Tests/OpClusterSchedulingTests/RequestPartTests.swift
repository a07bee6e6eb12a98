// Requests about many graphs: carried out in parts, which nobody else waits for, and no less exact.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct RequestParts {
  private func world(graphs: Int, parts: TurnShare = TurnShare()) -> World {
    var world = World(share: parts)
    world.invariantChecks = .never
    for _ in 0..<graphs { world.ask(.submit(one())) }
    return world
  }

  private func one(waitingFor earlier: OperationID? = nil) -> GraphSubmission {
    var submission = GraphSubmission(name: "one")
    submission.templates = [noops("x", 1)]
    if let earlier {
      submission.externalEdges = [ExternalEdge(from: earlier, to: 0, policy: .succeeded)]
    }
    return submission
  }

  private var cancelAll: ClientRequest {
    .cancel(.selection(Selection(graphs: .active)), reason: "", grace: nil)
  }

  /// Turns at once until the answer is there. Returns how many.
  private func turns(_ world: inout World, until request: UInt64) -> Int {
    var turns = 0
    while world.replies[request] == nil, turns < 10_000 {
      #expect(world.scheduler.nextDeadline().map { $0 <= world.now } == true)
      world.tick(after: .zero)
      turns += 1
    }
    return turns
  }

  private func counts(_ world: World, _ request: UInt64) -> VerdictCounts? {
    guard case .cancelled(_, let counts) = world.replies[request] else { return nil }
    return counts
  }

  private func outcomes(_ world: World) -> [Outcome] {
    world.events.compactMap { if case .isFinished(let outcome) = $0.kind { outcome } else { nil } }
  }

  @Test(.checks("S97")) func othersAreAnsweredBetweenTheParts() throws {
    let part = Limits.graphsCancelledPerTurn
    var world = world(graphs: 2 * part + 1)
    #expect(world.ask(cancelAll) == nil)
    let asked = world.lastRequest
    #expect(world.scheduler.graphs.count == part + 1)
    // The newest first, so that an end finds nobody that waits for it.
    #expect(world.scheduler.graphs.contains(1))
    world.input(.client(PeerID(2), RequestID(999), .submit(one())))
    guard case .accepted = world.replies[999] else {
      Issue.record("another client was not answered at once")
      return
    }
    #expect(turns(&world, until: asked) == 1)
    // What came after the request is not meant.
    #expect(world.scheduler.graphs.count == 1)
    let told = try #require(counts(world, asked))
    #expect(told[.cancelled] == UInt32(2 * part + 1) && told.total == UInt32(2 * part + 1))
    #expect(world.scheduler.requestsInParts == 0 && world.scheduler.aheadPauses == 0)
    #expect(world.scheduler.brokenInvariant() == nil)
    #expect(world.replayed().snapshot() == world.scheduler.snapshot())
  }

  // As many as go into one turn.
  @Test(.checks("S96")) func fewAreCancelledAtOnce() {
    var world = world(graphs: Limits.graphsCancelledPerTurn)
    guard case .cancelled = world.ask(cancelAll) else {
      Issue.record("it took more than a turn")
      return
    }
  }

  // An older graph waits for a newer one by a late edge, another through a graph that is not meant.
  @Test(.checks("S96", "S97")) func whoWaitsIsCancelledAndNotSkipped() {
    var world = World(share: TurnShare(graphs: 1))
    for _ in 1...4 { world.ask(.submit(one())) }
    world.ask(.submit(one(waitingFor: operation(2, 0))))
    for (from, to) in [(UInt32(4), UInt32(1)), (4, 3), (3, 2)] {
      guard
        case .effect(true) = world.ask(
          .addDependency(
            from: operation(from, 0), to: operation(to, 0), .succeeded, allowsCycle: false))
      else {
        Issue.record("no edge from \(from) to \(to)")
        return
      }
    }
    let meant = [1, 2, 4, 5].map {
      Selection.ClosedRangeOfGraphs(GraphID($0), GraphID($0))
    }
    world.ask(.cancel(.selection(Selection(graphs: .numbers(meant))), reason: "", grace: nil))
    _ = turns(&world, until: world.lastRequest)
    // Only the one that was not meant is skipped.
    #expect(outcomes(world).filter { $0 == .cancelled }.count == 4)
    #expect(outcomes(world).filter { $0 == .skipped }.count == 1)
    #expect(world.kinds(3, 0).contains(.isFinished(.skipped)))
    #expect(counts(world, world.lastRequest)?[.cancelled] == 4)
  }

  @Test(.checks("S91", "S97")) func whatAWorkerHasIsRecalledOrStopped() throws {
    var world = World(share: TurnShare(graphs: 1))
    world.join("w1", cpus: 3)
    world.workers[0].answersRecalls = false
    for _ in 1...4 { world.ask(.submit(one())) }
    world.start(0, operation(1, 0))
    world.report(0)
    world.ask(cancelAll)
    let asked = world.lastRequest
    for _ in 0..<10 { world.tick(after: .zero) }
    // All parts are done, and the answer waits for the worker.
    #expect(world.replies[asked] == nil && world.scheduler.requestsInParts == 0)
    #expect(world.workers[0].recalls.count >= 2 && world.workers[0].cancels.count == 1)
    for attempt in world.workers[0].recalls { world.workers[0].answerRecall(attempt) }
    world.report(0)
    let told = try #require(counts(world, asked))
    #expect(told[.executing] == 1 && told[.cancelled] == 3)
  }

  // A member that a worker would start on the end of another comes back first.
  @Test(.checks("S96", "S151")) func whatWentAheadComesBackFirst() throws {
    var world = World(share: TurnShare(graphs: 1))
    world.join("w1", cpus: 4)
    world.workers[0].answersRecalls = false
    var chain = GraphSubmission(name: "chain")
    chain.templates = [noops("a", 1), noops("b", 1)]
    chain.templates[0].retry.maximum = 0
    chain.elementEdges = ElementEdges(from: [0], to: [1], policies: [.finished])
    // Fast enough to be given something ahead of time.
    world.scheduler.conversations[1].rate = 1_000_000
    world.ask(.submit(chain))
    world.start(0, operation(1, 0))
    world.report(0)
    try #require(world.cell(1, 1)?.flags.contains(.ahead) == true)
    world.ask(.submit(one()))
    world.ask(cancelAll)
    let asked = world.lastRequest
    for _ in 0..<5 { world.tick(after: .zero) }
    #expect(world.scheduler.requestsInParts == 1)
    #expect(world.cell(1, 0)?.isCancelled == false)
    // Nothing is due until the worker answers: seed 4380 turned and turned.
    #expect(world.scheduler.nextDeadline().map { $0 > world.now } ?? true)
    for attempt in world.workers[0].recalls { world.workers[0].answerRecall(attempt) }
    world.report(0)
    for _ in 0..<3 { world.tick(after: .zero) }
    #expect(world.cell(1, 0)?.isCancelled == true)
    #expect(world.kinds(1, 1).contains(.isFinished(.cancelled)))
    #expect(counts(world, asked)?.total == 3 && world.scheduler.aheadPauses == 0)
  }

  @Test(.checks("S97")) func whatEndsBeforeItsPartHasFinished() throws {
    var world = World(share: TurnShare(graphs: 1))
    world.join("w1", cpus: 1)
    for _ in 1...3 { world.ask(.submit(one())) }
    world.start(0, operation(1, 0))
    world.report(0)
    let all = (1...3).map { operation($0, 0) }
    world.ask(.cancel(.operations(all), reason: "", grace: nil))
    let asked = world.lastRequest
    world.end(0, operation(1, 0))
    world.report(0)
    _ = turns(&world, until: asked)
    let told = try #require(counts(world, asked))
    #expect(told[.alreadyFinished] == 1 && told[.cancelled] == 2)
  }

  @Test(.checks("S97")) func nothingThatMatchesIsRefused() {
    var world = world(graphs: 5, parts: TurnShare(graphs: 2))
    var selection = Selection(graphs: .active)
    selection.operation = "no such name"
    world.ask(.cancel(.selection(selection), reason: "", grace: nil))
    _ = turns(&world, until: world.lastRequest)
    guard case .refused(let refusal) = world.replies[world.lastRequest] else {
      Issue.record("not refused")
      return
    }
    #expect(refusal.code == .unknownOperation && world.scheduler.graphs.count == 5)
  }

  // Few of many graphs are in the queue; a turn looks at no more than so many.
  @Test(.checks("S95")) func aQueueIsSoughtInParts() {
    let limit = Limits.graphsSoughtPerTurn
    var world = World()
    world.invariantChecks = .never
    world.ask(.createQueue(QueueSettings(name: "other")))
    var elsewhere = one()
    elsewhere.queues = [.named("other")]
    world.ask(.submit(elsewhere))
    for _ in 0..<limit { world.ask(.submit(one())) }
    #expect(world.ask(.cancelQueue("other", reason: "")) == nil)
    #expect(world.scheduler.graphs.contains(1))
    #expect(turns(&world, until: world.lastRequest) == 1)
    #expect(world.scheduler.graphs.count == limit && !world.scheduler.graphs.contains(1))
  }

  @Test(.checks("S72")) func manyGraphsAreSuspendedInParts() {
    let count = Limits.graphsSuspendedPerTurn + 1
    var world = world(graphs: count)
    let all = Selection(graphs: .active)
    #expect(world.ask(.suspendGraphs(all, true)) == nil)
    #expect(world.scheduler.graphs[UInt32(count)].isSuspended == false)
    #expect(turns(&world, until: world.lastRequest) == 1)
    #expect(world.replies[world.lastRequest] == .suspended(executing: []))
    #expect(world.scheduler.graphs[UInt32(count)].isSuspended)
    world.ask(.suspendGraphs(all, false))
    #expect(turns(&world, until: world.lastRequest) == 1)
    #expect(world.scheduler.graphs[UInt32(count)].isSuspended == false)
  }

  // From a graph that an earlier part has gone through, and that is not meant itself.
  @Test(.checks("S96")) func anEdgeThatComesBetweenTheParts() {
    var world = World(share: TurnShare(graphs: 1))
    for _ in 1...4 { world.ask(.submit(one())) }
    world.ask(.submit(one(waitingFor: operation(3, 0))))
    func edge(_ from: UInt32, _ policy: EdgePolicy, _ to: UInt32) -> ClientRequest {
      .addDependency(from: operation(from, 0), to: operation(to, 0), policy, allowsCycle: false)
    }
    world.ask(edge(4, .finished, 3))
    world.ask(edge(2, .succeeded, 3))
    let meant = [1, 2, 4].map { Selection.ClosedRangeOfGraphs(GraphID($0), GraphID($0)) }
    world.ask(.cancel(.selection(Selection(graphs: .numbers(meant))), reason: "", grace: nil))
    let asked = world.lastRequest
    #expect(world.replies[asked] == nil && !world.scheduler.graphs.contains(4))
    world.ask(edge(3, .succeeded, 1))
    _ = turns(&world, until: asked)
    #expect(world.kinds(1, 0).contains(.isFinished(.cancelled)))
    #expect(world.kinds(3, 0).contains(.isFinished(.skipped)))
  }

  // Whoever wants the opposite waits until the parts are done, and is not overtaken by them.
  @Test(.checks("S72")) func aSuspensionInPartsIsNotUndone() {
    var world = world(graphs: 6, parts: TurnShare(graphs: 2))
    #expect(world.ask(.suspendGraphs(Selection(graphs: .active), true)) == nil)
    let asked = world.lastRequest
    guard case .refused(let refusal) = world.ask(.suspendGraphs(.graph(GraphID(6)), false)) else {
      Issue.record("it was resumed in between")
      return
    }
    #expect(refusal.code == .busy && refusal.retryAfter != nil)
    // What it has reached, and what it does not mean, may be changed.
    #expect(world.scheduler.graphs[1].isSuspended)
    guard case .done = world.ask(.suspendGraphs(.graph(GraphID(1)), false)) else {
      Issue.record("what was reached could not be resumed")
      return
    }
    _ = turns(&world, until: asked)
    #expect(world.scheduler.graphs[1].isSuspended == false)
    #expect(world.ask(.suspendGraphs(.graph(GraphID(6)), false)) != nil)
    #expect(world.scheduler.graphs[6].isSuspended == false)
  }

  @Test(.checks("S95")) func nothingInAQueueIsNoError() {
    var world = world(graphs: 5, parts: TurnShare(graphs: 2))
    world.ask(.createQueue(QueueSettings(name: "empty")))
    world.ask(.cancelQueue("empty", reason: ""))
    _ = turns(&world, until: world.lastRequest)
    #expect(world.replies[world.lastRequest] == .cancelled([], VerdictCounts()))
  }

  // A program's own queue: nobody else waits for its turns.
  @Test(.checks("S96")) func allAtOnceIfSoWanted() {
    var world = world(graphs: 600, parts: .all)
    guard case .cancelled = world.ask(cancelAll) else {
      Issue.record("it took more than a turn")
      return
    }
  }

  @Test(.checks("S145")) func fewAreUnderWayTogether() {
    let limit = Limits.requestsInParts
    var world = world(graphs: 40, parts: TurnShare(graphs: 2))
    let requests: [Input] = (0...limit).map {
      .client(PeerID(UInt64(10 + $0)), RequestID(UInt64(1_000 + $0)), cancelAll)
    }
    world.step { scheduler, turn in
      for request in requests { scheduler.handle(request, into: &turn) }
    }
    guard case .refused(let refusal) = world.replies[1_000 + UInt64(limit)] else {
      Issue.record("one past the limit was accepted")
      return
    }
    #expect(refusal.code == .busy && refusal.retryAfter != nil)
    for number in 1_000..<(1_000 + UInt64(limit)) { _ = turns(&world, until: number) }
    #expect(world.scheduler.graphs.count == 0 && world.scheduler.requestsInParts == 0)
  }

  // One key among many takes a part of the places, whatever it asks and over how many connections.
  @Test(.checks("G29", "S145")) func oneKeyLeavesRoomForOthers() {
    var world = World(share: TurnShare(graphs: 2))
    for name in ["eve", "bob"] {
      for _ in 0..<20 {
        var submission = one()
        submission.labels = [Label(key: GraphSubmission.submitterLabel, value: name)]
        world.ask(.submit(submission))
      }
    }
    let most = UInt64(Limits.requestsInPartsPerKey)
    let cancel = cancelAll
    world.step { scheduler, turn in
      for number in 0...most {
        scheduler.handle(
          .client(PeerID(10 + number), RequestID(number + 1_000), cancel,
            mayChange: .graphs(of: "eve")),
          into: &turn)
      }
      scheduler.handle(
        .client(PeerID(50), RequestID(2_000), cancel, mayChange: .graphs(of: "bob")),
        into: &turn)
    }
    guard case .refused(let refusal) = world.replies[1_000 + most] else {
      Issue.record("one past the limit was accepted")
      return
    }
    #expect(refusal.code == .busy)
    #expect(world.replies[2_000] == nil)
    _ = turns(&world, until: 2_000)
    #expect(counts(world, 2_000)?[.cancelled] == 20)
  }
}
