// S153: what is lost with the last store that had it is made again, as far back as it takes, a
// bounded number of times, and not by what must not run twice.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite(.checks("S153")) struct LineageTests {
  /// `make` at worker `a`, `join` of what it left there as well, and `read` of that at `b`. The
  /// last two are held.
  private static func chain(
    _ change: (inout GraphSubmission) -> Void = { _ in }
  ) -> GraphSubmission {
    var graph = GraphSubmission(name: "g")
    for (name, worker) in [("make", "a"), ("join", "a"), ("read", "b")] {
      var template = noops(name)
      template.requirements = [LabelRequirement(key: "worker", values: [worker])]
      template.wantsInputs = name != "make"
      template.isHeld = name != "make"
      graph.templates.append(template)
    }
    graph.groupEdges = [
      GroupEdge(from: 0, to: 1, policy: .succeeded), GroupEdge(from: 1, to: 2, policy: .succeeded),
    ]
    change(&graph)
    return graph
  }

  /// Workers `a` and `b`, of a coordinator that has begun long ago.
  private static func world() -> World {
    var world = ContentTests.world()
    for _ in 0..<2 { wait(&world) }
    return world
  }

  private static func content(_ number: UInt8) throws -> StoredContent {
    try ContentTests.content(number)
  }

  /// Runs an operation to its end at the worker that has it, which says that it has what it left.
  private static func run(
    _ id: OperationID, leaving content: StoredContent?, _ world: inout World
  ) throws {
    let at = try #require(world.worker(of: id), "\(id) is not handed over")
    world.start(at, id)
    world.end(at, id, content.map { ContentTests.result($0) } ?? .success)
    if let content { world.workers[at].held = [content] }
    world.report(at)
  }

  private static func release(_ id: OperationID, _ world: inout World) {
    world.ask(.hold(.operations([id]), false))
  }

  private static func lose(_ contents: [StoredContent], _ world: inout World) {
    world.workers[0].lost = contents.map(\.digest)
    world.report(0)
  }

  /// Long enough for a worker to be missed; all others are heard meanwhile.
  private static func wait(_ world: inout World) {
    for _ in 0..<20 {
      world.tick(after: .seconds(1))
      for at in world.workers.indices { world.report(at) }
    }
  }

  /// Both have run, and what they left is lost; then `read` may run.
  private static func lost(_ world: inout World) throws {
    try run(operation(1, 0), leaving: content(1), &world)
    release(operation(1, 1), &world)
    try run(operation(1, 1), leaving: content(2), &world)
    lose([try content(1), try content(2)], &world)
    release(operation(1, 2), &world)
  }

  private static func outcome(_ id: OperationID, _ world: World) -> AttemptHistory? {
    world.history.last { $0.attempt.operation == id && $0.outcome != nil }
  }

  private static func expectSameElsewhere(_ world: World) {
    let snapshot = world.scheduler.snapshot()
    #expect(world.replayed().snapshot() == snapshot)
    var restored = Scheduler()
    restored.restore(snapshot, commit: world.scheduler.lastCommit)
    #expect(restored.snapshot() == snapshot)
    #expect(restored.brokenInvariant() == nil)
  }

  /// What runs again for a barrier stands before it, also where the content comes back meanwhile.
  @Test(.checks("S77")) func aBarrierWaitsForWhatRunsAgain() throws {
    var world = Self.world()
    world.ask(.submit(Self.chain { $0.templates[2].isBarrier = true }))
    try Self.lost(&world)
    Self.wait(&world)
    #expect(world.scheduler.graphs.numbers == [1, 2, 3])
    world.workers[0].held = [try Self.content(2)]
    world.report(0)
    #expect(world.worker(of: operation(1, 2)) == nil)
    try Self.run(operation(3, 0), leaving: Self.content(1), &world)
    #expect(world.worker(of: operation(1, 2)) == nil)
    try Self.run(operation(2, 0), leaving: Self.content(2), &world)
    #expect(world.worker(of: operation(1, 2)) == 1)
    #expect(world.brokenInvariant == nil)
  }

  /// Nothing can be put before what runs again: it might wait for those that wait for it.
  @Test(.checks("S34", "S153")) func whatRunsAgainWaitsForNothing() throws {
    var world = Self.world()
    world.ask(.submit(Self.chain()))
    try Self.lost(&world)
    Self.wait(&world)
    #expect(world.scheduler.graphs.numbers == [1, 2, 3])
    let (again, reader) = (operation(3, 0), operation(1, 2))
    world.ask(.createQueue(QueueSettings(name: "other")))
    world.ask(.hold(.operations([again]), true))
    Self.wait(&world)
    guard case .refused(let refusal) = world.ask(
      .addDependency(from: reader, to: again, .finished, allowsCycle: false))
    else {
      Issue.record("it waits for what waits for it")
      return
    }
    #expect(refusal.code == .badRequest && refusal.operations == [operation(1, 0)])
    #expect(
      world.ask(.setQueue(.operations([again]), queue: "other"))
        == .changed(0, unchanged: 1))
    world.ask(.hold(.operations([again]), false))
    Self.wait(&world)
    try Self.run(again, leaving: Self.content(1), &world)
    try Self.run(operation(2, 0), leaving: Self.content(2), &world)
    #expect(world.worker(of: reader) == 1)
    #expect(world.brokenInvariant == nil)
  }

  /// Only what is missing: `make` is needed for `join` alone, and runs first.
  @Test func asFarBackAsItTakes() throws {
    var world = Self.world()
    world.ask(.submit(Self.chain()))
    try Self.lost(&world)
    #expect(world.scheduler.graphs.numbers == [1])
    Self.wait(&world)
    #expect(world.scheduler.graphs.numbers == [1, 2, 3], "without another wait")
    let (join, make) = (world.scheduler.graphs[2], world.scheduler.graphs[3])
    #expect(join.submission.recomputes == operation(1, 1))
    #expect(make.submission.recomputes == operation(1, 0))
    #expect(make.submission.name == "make again")
    #expect(make.submission.labels.contains(Label(key: "recomputes", value: "1/make")))
    let lines = (world.scheduler.contentLine(operation(1, 2)) ?? "")
    #expect(lines.contains("1/join runs again, as graph 2"), "\(lines)")
    Self.expectSameElsewhere(world)
    try Self.run(operation(3, 0), leaving: Self.content(1), &world)
    let dispatch = try #require(world.workers[0].assigned.first)
    #expect(dispatch.attempt.operation == operation(2, 0))
    #expect(dispatch.inputs.map(\.name) == ["make"])
    #expect(dispatch.inputs.first?.operation == operation(1, 0))
    try Self.run(operation(2, 0), leaving: Self.content(2), &world)
    try Self.run(operation(1, 2), leaving: nil, &world)
    #expect(world.scheduler.graphs.numbers.isEmpty)
    #expect(world.endings.map(\.row.graph.number).sorted() == [1, 2, 3])
    let runs = world.kinds(1, 1).count { if case .attemptStarted = $0 { true } else { false } }
    #expect(runs == 1, "what it did again counts for the other graph")
    #expect(world.scheduler.needsContent(try Self.content(2).digest) == false)
    #expect(world.brokenInvariant == nil)
  }

  /// Who has waited for a worker that comes back needs nobody to run again.
  @Test func aWorkerThatComesBackInTime() throws {
    var world = Self.world()
    world.ask(.submit(Self.chain()))
    try Self.lost(&world)
    world.tick(after: .seconds(1))
    world.workers[0].held = [try Self.content(2)]
    world.report(0)
    Self.wait(&world)
    try Self.run(operation(1, 2), leaving: nil, &world)
    #expect(world.endings.count == 1 && world.scheduler.counters.lastGraph == 1)
  }

  @Test func whatItLeavesThenCounts() throws {
    var world = Self.world()
    world.ask(.submit(Self.chain()))
    try Self.run(operation(1, 0), leaving: nil, &world)
    Self.release(operation(1, 1), &world)
    try Self.run(operation(1, 1), leaving: Self.content(2), &world)
    Self.lose([try Self.content(2)], &world)
    Self.release(operation(1, 2), &world)
    Self.wait(&world)
    try Self.run(operation(2, 0), leaving: Self.content(3), &world)
    #expect(world.scheduler.needsContent(try Self.content(3).digest))
    #expect(!world.scheduler.needsContent(try Self.content(2).digest))
    // It looks again in the next turn.
    world.tick(after: .zero)
    let read = try #require(world.workers[1].assigned.first)
    #expect(read.inputs.compactMap(\.output) == [ContentTests.result(try Self.content(3)).output])
    Self.expectSameElsewhere(world)
    try Self.run(operation(1, 2), leaving: nil, &world)
    #expect(world.scheduler.graphs.numbers.isEmpty && world.brokenInvariant == nil)
  }

  @Test(arguments: ["exclusive", "once", "irreproducible", "barrier"])
  func notWhatMustNotRunTwice(_ kind: String) throws {
    var world = Self.world()
    let graph = Self.chain { graph in
      switch kind {
      case "exclusive": graph.templates[1].isExclusive = true
      case "once": graph.templates[1].maximumLosses = 0
      case "irreproducible": graph.templates[1].isReproducible = false
      default: graph.templates[1].isBarrier = true
      }
    }
    world.ask(.submit(graph))
    try Self.lost(&world)
    Self.wait(&world)
    #expect(world.scheduler.graphs.numbers.isEmpty)
    let end = Self.outcome(operation(1, 2), world)
    #expect(end?.outcome == .failed && end?.result.cause == .inputUnavailable)
    let words =
      switch kind {
      case "irreproducible": "is not reproducible"
      case "barrier": "is a barrier"
      default: "must not run twice"
      }
    #expect(end?.result.diagnostic.contains("1/join made it, and \(words)") == true)
  }

  @Test func aBoundedNumberOfTimes() throws {
    var world = Self.world()
    world.ask(.submit(Self.chain()))
    try Self.lost(&world)
    for time in 0..<Int(Limits.recomputations) {
      Self.wait(&world)
      // The first needs what `make` left, which stays then.
      if time == 0 { try Self.run(operation(3, 0), leaving: Self.content(1), &world) }
      let graph = UInt32(time == 0 ? 2 : time + 3)
      // Lost again before anybody could read it.
      let again = operation(graph, 0)
      let at = try #require(world.worker(of: again))
      world.start(at, again)
      world.end(at, again, ContentTests.result(try Self.content(2)))
      world.report(at)
    }
    Self.wait(&world)
    #expect(world.scheduler.graphs.numbers.isEmpty)
    let end = Self.outcome(operation(1, 2), world)
    #expect(end?.result.diagnostic.contains("has run again for it 5 times already") == true)
    #expect(world.brokenInvariant == nil)
  }

  /// What was read counts anew, and the graph that came further.
  @Test func countsWhatWasInVain() {
    var times = Recomputations()
    for _ in 0..<4 { times.countOne(unfinished: 7) }
    #expect(!times.areTooMany(unfinished: 7))
    times.countOne(unfinished: 7)
    #expect(times.areTooMany(unfinished: 7) && !times.areTooMany(unfinished: 6))
    times.wasOfUse()
    #expect(!times.areTooMany(unfinished: 7))
    for _ in 5..<Int(Limits.recomputationsInAll) {
      times.countOne(unfinished: 7)
      times.wasOfUse()
    }
    #expect(times.areTooMany(unfinished: 7))
    #expect(Recomputations(bytes: times.bytes) == times)
    times.countOne(unfinished: 6)
    #expect(!times.areTooMany(unfinished: 6) && times.count == 1 && times.total == 1)
    times.giveUp()
    #expect(times.areInVain && Recomputations(bytes: times.bytes) == times)
    #expect(Recomputations(bytes: []) == nil)
  }

  @Test func inVain() throws {
    var world = Self.world()
    world.ask(.submit(Self.chain()))
    try Self.lost(&world)
    Self.wait(&world)
    var failure = AttemptResult()
    (failure.cause, failure.exitStatus) = (.failed, 3)
    let make = operation(3, 0)
    world.start(0, make)
    world.end(0, make, failure)
    world.report(0)
    // One after the other looks again.
    for _ in 0..<3 { world.tick(after: .zero) }
    #expect(world.scheduler.graphs.numbers.isEmpty)
    #expect(Self.outcome(operation(2, 0), world)?.result.cause == .inputUnavailable)
    let end = Self.outcome(operation(1, 2), world)
    #expect(end?.result.cause == .inputUnavailable)
    #expect(end?.result.diagnostic.contains("1/join made it, and did not succeed") == true)
    #expect(world.endings.map(\.row.graph.number).sorted() == [1, 2, 3])
    #expect(world.brokenInvariant == nil)
  }

  /// What nobody waits for any more does not keep a graph for ever.
  @Test func whatNobodyNeedsIsCancelled() throws {
    var world = Self.world()
    world.ask(.submit(Self.chain()))
    try Self.lost(&world)
    Self.wait(&world)
    let make = operation(3, 0)
    world.start(0, make)
    world.report(0)
    world.ask(.cancel(.operations([operation(1, 2)]), reason: "", grace: nil))
    #expect(world.scheduler.graphs.numbers == [1, 3], "join has not begun")
    #expect(world.workers[0].cancels.map(\.operation) == [make])
    Self.expectSameElsewhere(world)
    var stopped = AttemptResult()
    stopped.wasStopped = true
    world.end(0, make, stopped)
    world.report(0)
    #expect(world.scheduler.graphs.numbers.isEmpty)
    #expect(world.endings.map(\.row.graph.number).sorted() == [1, 2, 3])
    #expect(world.brokenInvariant == nil)
  }

  /// What ran again for nobody ends, and with it the barrier that stood behind it, and the graph:
  /// it is not cancelled after its end (S88).
  @Test(.checks("S88")) func endsTheGraphThatNeedsItNoMore() throws {
    var world = Self.world()
    let graph = Self.chain { graph in
      graph.templates.append(noops("wall"))
      graph.templates[3].work = .nothing
      graph.templates[3].isBarrier = true
    }
    world.ask(.submit(graph))
    try Self.run(operation(1, 0), leaving: Self.content(1), &world)
    Self.release(operation(1, 1), &world)
    try Self.run(operation(1, 1), leaving: Self.content(2), &world)
    Self.lose([try Self.content(2)], &world)
    Self.release(operation(1, 2), &world)
    Self.wait(&world)
    world.start(0, operation(2, 0))
    world.workers[0].held = [try Self.content(2)]
    world.report(0)
    Self.wait(&world)
    try Self.run(operation(1, 2), leaving: nil, &world)
    #expect(world.scheduler.graphs.numbers == [1, 2], "the barrier waits for what runs again")
    world.end(0, operation(2, 0), ContentTests.result(try Self.content(2)))
    world.report(0)
    #expect(world.scheduler.graphs.numbers.isEmpty)
    #expect(world.endings.flatMap(\.outcomes).allSatisfy { $0 == Outcome.succeeded.rawValue })
    for case .cancelled(let runs, _) in world.journal.flatMap(\.records) {
      Issue.record("cancelled: \(runs)")
    }
    #expect(world.brokenInvariant == nil)
  }

  /// A barrier behind who waits is no barrier before what it waits for; and the limit of the queue
  /// holds, which belongs to the graph.
  @Test func beforeTheBarrier() throws {
    var world = Self.world()
    let graph = Self.chain { graph in
      graph.queues = [.own(QueueSettings(name: "q", maximumConcurrent: 1))]
      var barrier = noops("wall")
      barrier.isBarrier = true
      graph.templates.append(barrier)
      graph.templates.append(noops("behind"))
    }
    world.ask(.submit(graph))
    try Self.lost(&world)
    Self.wait(&world)
    try Self.run(operation(3, 0), leaving: Self.content(1), &world)
    let graphs = world.scheduler.graphs
    #expect(graphs[2].queue(ofStage: 0) == graphs[1].queue(ofStage: 0))
    Self.expectSameElsewhere(world)
    world.runAll { id in
      ContentTests.result(StoredContent(digest: Self.two, size: 100)).if(id == operation(2, 0))
    }
    #expect(world.scheduler.graphs.numbers == [1], "the store has not said so")
    world.workers[0].held = [try Self.content(2)]
    world.report(0)
    world.runAll()
    #expect(world.scheduler.graphs.numbers.isEmpty && world.brokenInvariant == nil)
  }
  private static let two = ContentDigest(bytes: [UInt8](repeating: 2, count: 32))!

  /// An element runs again as what it was: with its number and its argument.
  @Test func anElementByItself() throws {
    var world = Self.world()
    let graph = Self.chain { graph in
      graph.templates[0].isArray = true
      graph.templates[0].count = 3
      graph.templates[0].indexRuns = [IndexRun(first: 10, count: 3, step: 5)]
      graph.templates[0].requirements = []
      for number: UInt8 in 1...3 { graph.templates[0].elementArguments.append([number]) }
      graph.templates[1].requirements[0].values = ["b"]
    }
    world.ask(.submit(graph))
    for index: UInt32 in 0..<3 {
      try Self.run(operation(1, index), leaving: Self.content(UInt8(index + 1)), &world)
    }
    for at in 0...1 { world.workers[at].lost = [try Self.content(2).digest] }
    for at in 0...1 { world.report(at) }
    Self.release(operation(1, 3), &world)
    Self.wait(&world)
    #expect(world.scheduler.graphs.numbers == [1, 2])
    let at = try #require(world.worker(of: operation(2, 0)))
    let dispatch = try #require(world.workers[at].assigned.first)
    #expect(dispatch.argument == [2])
    let template = world.scheduler.graphs[2].stages[0].template
    #expect(template.count == 1 && template.isArray && template.shownIndex(ofElement: 0) == 15)
    #expect(world.scheduler.graphs[2].shown(0) == "2/make/15")
  }

  /// What the journal has to take back stays within the bounds of names.
  @Test(arguments: [false, true]) func longNames(isQueueLong: Bool) throws {
    var world = Self.world()
    let long = String(repeating: "é", count: Limits.nameBytes / 2)
    let graph = Self.chain { graph in
      graph.templates[1].name = long
      if isQueueLong {
        let name = String(repeating: "q", count: Limits.nameBytes)
        graph.queues = [.own(QueueSettings(name: name))]
      }
    }
    world.ask(.submit(graph))
    try Self.lost(&world)
    Self.wait(&world)
    if isQueueLong {
      #expect(Self.outcome(operation(1, 2), world)?.result.diagnostic.contains("too long") == true)
      return
    }
    let again = world.scheduler.graphs[2].submission
    #expect(again.recomputes == operation(1, 1))
    #expect(again.name.utf8.count <= Limits.nameBytes && again.name.hasSuffix("é again"))
  }

  @Test func onlyTheCoordinatorBegins() throws {
    var world = Self.world()
    world.ask(.submit(Self.chain()))
    var graph = GraphSubmission(name: "own")
    graph.templates = [noops("x")]
    graph.recomputes = operation(1, 0)
    guard case .refused(let refusal)? = world.ask(.submit(graph)) else {
      Issue.record("taken")
      return
    }
    #expect(refusal.code == .badRequest && refusal.message.contains("1/make"))
  }

  /// A coordinator that begins anew waits for what is under way, and does not begin it twice.
  @Test func aRestartInBetween() throws {
    var world = Self.world()
    world.ask(.submit(Self.chain()))
    try Self.lost(&world)
    Self.wait(&world)
    world.scheduler = world.replayed()
    world.beginLife()
    for at in world.workers.indices {
      world.workers[at].peer = PeerID(world.workers[at].peer.number + 5_000)
      world.greet(at)
    }
    Self.wait(&world)
    Self.wait(&world)
    #expect(world.scheduler.graphs.numbers == [1, 2, 3])
    try Self.run(operation(3, 0), leaving: Self.content(1), &world)
    try Self.run(operation(2, 0), leaving: Self.content(2), &world)
    try Self.run(operation(1, 2), leaving: nil, &world)
    #expect(world.scheduler.graphs.numbers.isEmpty && world.brokenInvariant == nil)
  }

  /// All that one operation misses is made again side by side.
  @Test func sideBySide() throws {
    var world = Self.world()
    let graph = Self.chain { graph in
      graph.templates[0].isArray = true
      graph.templates[0].count = 3
      graph.templates[1].requirements[0].values = ["b"]
    }
    world.ask(.submit(graph))
    for index: UInt32 in 0..<3 {
      try Self.run(operation(1, index), leaving: Self.content(UInt8(index + 1)), &world)
    }
    Self.lose([try Self.content(1), try Self.content(3)], &world)
    Self.release(operation(1, 3), &world)
    Self.wait(&world)
    let origins = [2, 3].map { world.scheduler.graphs.find($0)?.submission.recomputes }
    #expect(Set(origins) == [operation(1, 0), operation(1, 2)])
    for graph: UInt32 in [2, 3] {
      let origin = try #require(world.scheduler.graphs[graph].submission.recomputes)
      try Self.run(operation(graph, 0), leaving: Self.content(UInt8(origin.index + 1)), &world)
    }
    Self.wait(&world)
    #expect(world.worker(of: operation(1, 3)) == 1)
    #expect(world.scheduler.graphs.numbers == [1] && world.brokenInvariant == nil)
  }

  /// Many that miss something are seen to in several turns, and all of them.
  @Test func inSeveralTurns() throws {
    let count = UInt32(Limits.lineagesPerTurn) + 10
    var world = Self.world()
    world.invariantChecks = .never
    let graph = Self.chain { graph in
      graph.templates.remove(at: 1)
      graph.templates[0].count = count
      graph.templates[0].isArray = true
      graph.templates[1].count = count
      graph.templates[1].isArray = true
      graph.groupEdges = [
        GroupEdge(from: 0, to: 1, policy: .succeeded, match: .sameIndex)
      ]
    }
    world.ask(.submit(graph))
    func left(_ index: UInt32) throws -> StoredContent {
      var bytes = [UInt8](repeating: 0, count: ContentDigest.byteCount)
      (bytes[0], bytes[1]) = (UInt8(index & 0xFF), UInt8(index >> 8))
      return StoredContent(digest: try #require(ContentDigest(bytes: bytes)), size: 1)
    }
    var results: [OperationID: AttemptResult] = [:]
    for index in 0..<count { results[operation(1, index)] = ContentTests.result(try left(index)) }
    world.runAll { results[$0] ?? .success }
    world.ask(
      .hold(
        .operations((count..<2 * count).map { operation(1, $0) }), false))
    let patience = Timing().lost
    var turns: [Int] = []
    var before = 1
    for _ in 0..<25 {
      for at in world.workers.indices { world.report(at) }
      let next = world.scheduler.nextDeadline()
      world.tick(after: next.map { max(.zero, $0 - world.now) } ?? patience)
      let now = world.scheduler.graphs.numbers.count
      if now > before { turns.append(now - before) }
      before = now
    }
    #expect(turns.allSatisfy { $0 <= Limits.lineagesPerTurn }, "\(turns)")
    #expect(turns.reduce(0, +) == Int(count), "\(turns)")
  }
}

extension AttemptResult {
  fileprivate func `if`(_ condition: Bool) -> AttemptResult { condition ? self : .success }
}
