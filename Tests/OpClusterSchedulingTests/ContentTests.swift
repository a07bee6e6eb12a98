// Contents that outputs name: who is told where they are, who waits for them, when they may leave.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite(.checks("S137", "S140", "G42")) struct ContentTests {
  static func content(_ number: UInt8, size: Int64 = 100) throws -> StoredContent {
    let bytes = [UInt8](repeating: number, count: ContentDigest.byteCount)
    return StoredContent(digest: try #require(ContentDigest(bytes: bytes)), size: size)
  }

  /// A success whose output names contents of less than 128 bytes (`Outputs.contents`).
  static func result(_ contents: StoredContent...) -> AttemptResult {
    var result = AttemptResult.success
    for content in contents {
      result.output += [5 << 3 | 2, 36, 1 << 3 | 2, 32]
      result.output += content.digest.bytes
      result.output += [2 << 3, UInt8(content.size)]
    }
    return result
  }

  /// `make` at worker `a`, and `read` of `a`'s output at worker `b`.
  static func submission(readers: UInt32 = 1) -> GraphSubmission {
    var make = noops("make")
    make.requirements = [LabelRequirement(key: "worker", values: ["a"])]
    var read = noops("read", readers)
    read.wantsInputs = true
    read.requirements = [LabelRequirement(key: "worker", values: ["b", "c"])]
    var graph = GraphSubmission(name: "g")
    graph.templates = [make, read]
    graph.groupEdges = [GroupEdge(from: 0, to: 1, policy: .succeeded)]
    return graph
  }

  static func world(_ names: [String] = ["a", "b"]) -> World {
    var world = World()
    world.invariantChecks = .afterEveryTurn
    for name in names { join(name, &world) }
    return world
  }

  static func join(_ name: String, hasStore: Bool = true, _ world: inout World) {
    let at = world.join(name)
    // Said hello without a store: again, with one.
    guard hasStore else { return }
    world.workers[at].store = source(name)
    world.workers[at].peer = PeerID(world.workers[at].peer.number + 1_000)
    world.greet(at)
  }

  static func source(_ name: String) -> ContentSource {
    ContentSource(
      endpoint: "tcp://\(name):1", key: [UInt8](repeating: name.utf8.first ?? 0, count: 32))
  }

  /// `make` has ended at worker 0 and left the content.
  private static func made(_ content: StoredContent, _ world: inout World, readers: UInt32 = 1) {
    world.ask(.submit(submission(readers: readers)))
    world.start(0, operation(1, 0))
    world.end(0, operation(1, 0), result(content))
    world.workers[0].held = [content]
    world.report(0)
  }

  @Test func theReaderIsToldAndTheHolderGrants() throws {
    var world = Self.world()
    let content = try Self.content(1)
    Self.made(content, &world, readers: 2)
    #expect(world.workers[1].assigned.count == 2)
    let known = ContentHolders(digest: content.digest, sources: [Self.source("a")])
    #expect(world.workers[1].holders == [known], "once for a turn")
    let grant = GrantOrder(digest: content.digest, reader: Self.source("b").key)
    #expect(world.workers[0].grants == [grant])
    // Who has it need not be told.
    world.workers[1].held = [content]
    world.report(1)
    #expect(world.workers[1].released == [])
    world.runAll()
    #expect(world.scheduler.graphs.numbers.isEmpty)
    #expect(world.workers[0].released == [content.digest])
    #expect(world.workers[1].released == [content.digest])
    #expect(world.brokenInvariant == nil)
  }

  @Test func waitsForAHolderThatComesBack() throws {
    var world = Self.world()
    let content = try Self.content(1)
    // The holder goes before its readers begin.
    var graph = Self.submission()
    graph.templates[1].isHeld = true
    world.ask(.submit(graph))
    world.start(0, operation(1, 0))
    world.end(0, operation(1, 0), Self.result(content))
    world.workers[0].held = [content]
    world.report(0)
    world.input(.gone(world.workers[0].peer))
    world.ask(.hold(.operations([operation(1, 1)]), false))
    #expect(world.workers[1].assigned.isEmpty)
    #expect(world.scheduler.contentLine(operation(1, 1))?.contains("not connected") == true)
    world.workers[0].peer = PeerID(5_000)
    world.greet(0)
    #expect(world.workers[1].assigned.isEmpty, "it has not said what it has")
    world.workers[0].held = [content]
    world.report(0)
    #expect(world.workers[1].assigned.count == 1)
    #expect(world.scheduler.contentLine(operation(1, 1)) == nil)
    #expect(world.brokenInvariant == nil)
  }

  @Test func whatIsGoneForGoodFailsItsReaders() throws {
    var world = Self.world()
    let content = try Self.content(1)
    world.workers[1].capacity.cpus = .zero
    var graph = Self.submission()
    graph.templates[0].isReproducible = false
    graph.templates[1].isHeld = true
    graph.templates.append(noops("after"))
    graph.groupEdges.append(GroupEdge(from: 1, to: 2, policy: .succeeded))
    world.ask(.submit(graph))
    world.start(0, operation(1, 0))
    world.end(0, operation(1, 0), Self.result(content))
    world.workers[0].held = [content]
    world.report(0)
    world.workers[0].lost = [content.digest]
    world.report(0)
    world.ask(.hold(.operations([operation(1, 1)]), false))
    #expect(world.workers[1].assigned.isEmpty)
    let patience = Timing().lost
    #expect(world.scheduler.nextDeadline() ?? .distantFuture <= world.now + patience)
    for _ in 0..<20 {
      world.tick(after: .seconds(1))
      for at in 0...1 { world.report(at) }
    }
    #expect(world.scheduler.graphs.numbers.isEmpty)
    let line = world.history.last { $0.attempt.operation == operation(1, 1) }
    #expect(line?.outcome == .failed)
    #expect(line?.result.cause == .inputUnavailable)
    #expect(world.history.last { $0.attempt.operation == operation(1, 2) }?.outcome == .skipped)
    #expect(world.brokenInvariant == nil)
  }

  @Test func aWorkerWithoutAStoreGetsNoReader() throws {
    var world = Self.world(["a"])
    Self.join("b", hasStore: false, &world)
    let content = try Self.content(1)
    Self.made(content, &world)
    #expect(world.workers[1].assigned.isEmpty)
    Self.join("c", &world)
    world.report(2)
    #expect(world.workers[1].assigned.isEmpty)
    #expect(world.workers[2].assigned.count == 1)
    #expect(world.brokenInvariant == nil)
  }

  /// Who cannot have the inputs is no other worker that might try: the only one that could is the
  /// only witness.
  @Test func aWorkerWithoutAStoreIsNoWitness() throws {
    var world = Self.world(["a", "b"])
    Self.join("c", hasStore: false, &world)
    Self.made(try Self.content(1), &world)
    let reader = operation(1, 1)
    world.start(1, reader)
    var unable = AttemptResult()
    unable.cause = .cannotStart
    world.end(1, reader, unable)
    world.report(1)
    #expect(world.history.last { $0.attempt.operation == reader }?.outcome == .failed)
    #expect(world.scheduler.graphs.numbers.isEmpty)
    #expect(world.brokenInvariant == nil)
  }

  @Test func saysWhichWorkersHaveNoStore() throws {
    var world = Self.world(["a"])
    Self.join("b", hasStore: false, &world)
    var graph = Self.submission()
    graph.templates[1].requirements[0].values = ["b"]
    world.ask(.submit(graph))
    world.start(0, operation(1, 0))
    world.end(0, operation(1, 0), Self.result(try Self.content(1)))
    world.workers[0].held = [try Self.content(1)]
    world.report(0)
    guard case .explanations(let rows, _)? = world.ask(.explain(.graph(GraphID(1)))) else {
      Issue.record("no explanation")
      return
    }
    let lines = rows.flatMap(\.lines).map(\.text)
    #expect(lines.contains { $0.contains("worker b: has no store") }, "\(lines)")
  }

  /// A wait that is over leaves no moment behind at which the coordinator would turn for nothing.
  @Test func aWaitThatIsOverIsNoDeadline() throws {
    var world = Self.world()
    let content = try Self.content(1)
    var graph = Self.submission()
    graph.templates[1].isHeld = true
    world.ask(.submit(graph))
    world.start(0, operation(1, 0))
    world.end(0, operation(1, 0), Self.result(content))
    world.report(0)
    world.ask(.hold(.operations([operation(1, 1)]), false))
    #expect(world.scheduler.contentLine(operation(1, 1)) != nil)
    world.workers[0].held = [content]
    world.report(0)
    world.runAll()
    #expect(world.scheduler.graphs.numbers.isEmpty)
    for _ in 0..<40 {
      world.tick(after: .seconds(1))
      for at in 0...1 { world.report(at) }
      #expect(world.scheduler.nextDeadline() ?? .distantFuture > world.now)
    }
  }

  @Test func whatNobodyNeedsIsReleased() throws {
    var world = Self.world()
    let content = try Self.content(1)
    // Of an earlier life of the worker, or of a graph that has ended.
    world.workers[0].held = [content]
    world.report(0)
    #expect(world.workers[0].released == [content.digest])
    // Of an attempt that is not the worker's own any more.
    world.ask(.submit(Self.submission()))
    world.start(0, operation(1, 0))
    world.report(0)
    world.ask(.cancel(.operations([operation(1, 0)]), reason: "", grace: nil))
    world.end(0, operation(1, 0), Self.result(try Self.content(2)))
    world.workers[0].held = [try Self.content(2)]
    world.report(0)
    #expect(world.workers[0].released.last == (try Self.content(2)).digest)
  }

  /// What a report only names may be needed by the next one of the same turn.
  @Test func whatALaterReportNeedsStays() throws {
    var world = Self.world()
    let content = try Self.content(1)
    world.ask(.submit(Self.submission()))
    world.workers[0].held = [content]
    let first = world.nextReport(of: 0)
    world.start(0, operation(1, 0))
    world.end(0, operation(1, 0), Self.result(content))
    world.workers[0].held = [content]
    let second = world.nextReport(of: 0)
    world.step { scheduler, turn in
      for report in [first, second] {
        if let report { scheduler.handle(report, into: &turn) }
      }
    }
    #expect(world.workers[0].released == [])
    #expect(world.scheduler.needsContent(content.digest))
    #expect(world.brokenInvariant == nil)
  }

  /// Two graphs leave the same: who has it from the first is told that it has to stay after all.
  @Test func whatIsNeededAgainIsRetained() throws {
    var world = Self.world()
    let content = try Self.content(1)
    Self.made(content, &world)
    world.workers[1].held = [content]
    world.report(1)
    world.runAll()
    #expect(world.workers[1].released == [content.digest])
    var again = Self.submission()
    again.templates[1].isHeld = true
    world.ask(.submit(again))
    world.start(0, operation(2, 0))
    world.end(0, operation(2, 0), Self.result(content))
    world.workers[0].held = [content]
    world.report(0)
    #expect(world.workers[1].retained == [content.digest])
    #expect(world.workers[0].retained == [], "it has just said that it has it")
    #expect(world.brokenInvariant == nil)
  }

  @Test func aReplayNeedsTheSame() throws {
    var world = Self.world()
    let content = try Self.content(1)
    Self.made(content, &world)
    let replayed = world.replayed()
    let pins = world.scheduler.state.pins
    #expect(pins.count == 1 && pins.contains(content.digest))
    #expect(replayed.state.pins.isSame(as: pins))
    var restored = Scheduler()
    restored.restore(world.scheduler.snapshot(), commit: world.scheduler.lastCommit)
    #expect(restored.state.pins.isSame(as: pins))
  }

  @Test func onlySomeHoldersAreTold() throws {
    var world = Self.world(["a", "b"] + (0..<6).map { "x\($0)" })
    let content = try Self.content(1)
    for at in world.workers.indices where at != 1 {
      world.workers[at].held = [content]
      world.report(at)
    }
    Self.made(content, &world)
    #expect(world.workers[1].holders.first?.sources.count == Limits.holdersTold)
    #expect(world.workers[1].holders.first?.sources.first == Self.source("a"))
  }

  /// `read` of another graph that cites `make` of graph 1.
  static func citing(_ world: inout World, isHeld: Bool) {
    var graph = GraphSubmission(name: "cites")
    var read = noops("read")
    read.wantsInputs = true
    read.isHeld = isHeld
    graph.templates = [read]
    graph.externalEdges = [ExternalEdge(from: operation(1, 0), to: 0, policy: .succeeded)]
    world.ask(.submit(graph))
  }

  /// What another graph will read stays, although its own graph has ended; until the last reader's
  /// graph ends, or its dependency is removed.
  @Test(arguments: [false, true]) func whatOthersCiteStays(_ isRemoved: Bool) throws {
    var world = Self.world()
    let content = try Self.content(1)
    world.ask(.submit(Self.submission()))
    for _ in 0..<2 { Self.citing(&world, isHeld: true) }
    world.start(0, operation(1, 0))
    world.end(0, operation(1, 0), Self.result(content))
    world.workers[0].held = [content]
    world.report(0)
    world.runAll()
    #expect(world.scheduler.graphs.numbers == [2, 3])
    #expect(world.workers[0].released == [] && world.scheduler.needsContent(content.digest))
    let pins = world.scheduler.state.pins
    #expect(pins.count == 1 && world.replayed().state.pins.isSame(as: pins))
    var restored = Scheduler()
    restored.restore(world.scheduler.snapshot(), commit: world.scheduler.lastCommit)
    #expect(restored.state.pins.isSame(as: pins))
    for graph: UInt32 in [2, 3] {
      #expect(world.workers[0].released == [])
      if isRemoved {
        world.ask(.removeDependency(from: operation(1, 0), to: operation(graph, 0)))
      } else {
        world.ask(.hold(.operations([operation(graph, 0)]), false))
        world.runAll()
      }
      #expect(world.brokenInvariant == nil)
    }
    #expect(world.workers[0].released == [content.digest])
  }

  /// A graph that reads what an ended one has left claims it again.
  @Test func whatIsCitedLaterIsRetained() throws {
    var world = Self.world()
    let content = try Self.content(1)
    Self.made(content, &world)
    world.runAll()
    #expect(world.workers[0].released == [content.digest])
    Self.citing(&world, isHeld: true)
    #expect(world.workers[0].retained == [content.digest])
    #expect(world.scheduler.needsContent(content.digest))
    #expect(world.brokenInvariant == nil)
  }

  /// A reader that could not fetch from a holder that is not heard is not to blame: it is given
  /// what it reads again, or that is made again.
  @Test(arguments: [false, true]) func aReaderOfASilentHolderIsNotToBlame(isHeard: Bool) throws {
    var world = Self.world()
    let content = try Self.content(1)
    Self.made(content, &world)
    #expect(world.workers[1].assigned.count == 1)
    for _ in 0..<8 {
      world.tick(after: .seconds(1))
      world.report(1)
      if isHeard { world.report(0) }
    }
    func misses() {
      var result = AttemptResult()
      result.cause = .cannotStart
      let attempt = world.workers[1].assigned.removeLast().attempt
      world.workers[1].outbox.append(.finished(attempt, result))
      world.report(1)
    }
    misses()
    #expect(world.scheduler.graphs.contains(1) != isHeard)
    if !isHeard {
      #expect(world.workers[1].assigned.count == 1, "again, with the holders of now")
      for _ in 0..<10 {
        world.tick(after: .seconds(1))
        world.report(1)
      }
      misses()
      #expect(world.scheduler.contentLine(operation(1, 1)) != nil, "the holder is lost")
    }
    #expect(world.brokenInvariant == nil)
  }

  /// A store without room for what is read is one worker's trouble; for what was left, the end.
  @Test(arguments: [false, true]) func aFullStore(hasRun: Bool) throws {
    var world = Self.world(["a", "b", "c"])
    Self.made(try Self.content(1), &world)
    let at = world.workers[1].assigned.isEmpty ? 2 : 1
    var result = AttemptResult()
    result.cause = .storeFull
    if hasRun { result.startedAt = WallTime(milliseconds: 1) }
    #expect(result.couldNotStart != hasRun)
    let attempt = world.workers[at].assigned.removeLast().attempt
    world.workers[at].outbox.append(.finished(attempt, result))
    world.report(at)
    #expect(world.workers[3 - at].assigned.count == (hasRun ? 0 : 1))
    #expect(world.scheduler.graphs.contains(1) != hasRun)
    #expect(world.brokenInvariant == nil)
  }

  @Test func contentsOfAWorkerAreBounded() throws {
    #expect(HolderIndex().limit == Limits.contentsPerWorker)
    var index = HolderIndex(limit: 2)
    let digests = try (1...3).map { try Self.content($0).digest }
    var taken = digests.map { index.gain($0, at: 1) }
    #expect(taken == [true, true, false])
    taken = [index.gain(digests[0], at: 1), index.gain(digests[2], at: 2)]
    #expect(taken == [true, true])
    #expect(Set(index.forget(1)) == Set(digests.prefix(2)))
    #expect(index.workers(with: digests[0]) == [] && index.workers(with: digests[2]) == [2])
    index.lose(digests[2], at: 2)
    #expect(index.workers(with: digests[2]) == [])
  }

  /// Workers that gain, lose and leave by chance: the index knows what a plain list knows, and
  /// passes nobody who stays.
  @Test(arguments: 0..<20 as Range<UInt64>) func holdersByChance(seed: UInt64) throws {
    var random = Seeded(state: seed)
    var index = HolderIndex()
    var known: [UInt32: Set<ContentDigest>] = [:]
    var draining: Set<UInt32> = []
    let digests = try (0..<5 as Range<UInt8>).map { try Self.content($0).digest }
    for step in 0..<600 {
      let worker = UInt32.random(in: 1...30, using: &random)
      let digest = try #require(digests.randomElement(using: &random))
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<5:
        let isGained = index.gain(digest, at: worker)
        #expect(isGained)
        known[worker, default: []].insert(digest)
      case 5, 6:
        index.lose(digest, at: worker)
        known[worker]?.remove(digest)
      case 7:
        let (had, told) = (known.removeValue(forKey: worker) ?? [], index.forget(worker))
        #expect(Set(told) == had)
      default:
        if step % 20 == 0 { draining.insert(worker) }
        while let next = index.nextHolder(of: digest), draining.contains(next) {
          index.passHolder(of: digest)
        }
        let stays = known.contains { $1.contains(digest) && !draining.contains($0) }
        #expect((index.nextHolder(of: digest) != nil) == stays)
      }
      for digest in digests {
        let having = known.filter { $1.contains(digest) }.keys.sorted()
        #expect(index.workers(with: digest).sorted() == having)
        #expect(index.hasHolder(of: digest) == !having.isEmpty)
      }
      #expect(index.problem { draining.contains($0) } == nil)
    }
  }
}
