// What is dear lies in several stores: who is told to copy it, and when again.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite(.checks("S140")) struct ReplicationTests {
  /// `make` at worker `a` has left a content, and `read` is held.
  private static func made(
    _ content: StoredContent, _ world: inout World, replicas: UInt8 = 2, graph number: UInt32 = 1
  ) {
    var graph = ContentTests.submission()
    graph.templates[0].replicas = replicas
    graph.templates[1].isHeld = true
    world.ask(.submit(graph))
    world.start(0, operation(number, 0))
    world.end(0, operation(number, 0), ContentTests.result(content))
    world.workers[0].held = [content]
    world.report(0)
  }

  /// The time after which a change is looked at; the workers are heard meanwhile.
  private static func wait(_ world: inout World) {
    for _ in 0..<3 {
      for at in world.workers.indices where world.workers[at].conversation != nil {
        world.report(at)
      }
      world.tick(after: .seconds(1))
    }
  }

  private static func told(_ world: World) -> [Int] { world.workers.map(\.copies.count) }

  @Test func aSecondStoreIsToldAndAThirdIfThatIsLost() throws {
    var world = ContentTests.world(["a", "b", "c"])
    let content = try ContentTests.content(1)
    Self.made(content, &world)
    #expect(Self.told(world).reduce(0, +) == 1 && world.workers[0].copies == [])
    let at = world.workers[1].copies.isEmpty ? 2 : 1
    let other = 3 - at
    #expect(world.workers[at].copies == [content])
    #expect(world.workers[at].holders.map(\.digest) == [content.digest])
    let reader = try #require(world.workers[at].store?.key)
    #expect(world.workers[0].grants == [GrantOrder(digest: content.digest, reader: reader)])
    // Once is enough, also if it takes long.
    for _ in 0..<100 { Self.wait(&world) }
    #expect(Self.told(world).reduce(0, +) == 1)
    world.workers[at].held = [content]
    world.report(at)
    Self.wait(&world)
    #expect(Self.told(world).reduce(0, +) == 1 && world.scheduler.contentCopies.isEmpty)
    // It comes back without it.
    world.workers[at].lost = [content.digest]
    world.report(at)
    Self.wait(&world)
    #expect(Self.told(world).reduce(0, +) == 2)
    world.workers[other].held = [content]
    world.report(other)
    // The graph ends: nobody has to have it.
    world.ask(.cancel(.selection(.graph(GraphID(1))), reason: "", grace: nil))
    Self.wait(&world)
    #expect(world.scheduler.contentCopies.isEmpty && world.scheduler.state.pins.isEmpty)
    #expect(world.brokenInvariant == nil)
  }

  /// Who could not fetch it is passed over, and a store that comes gets what had none.
  @Test func aRefusalLeadsToAnother() throws {
    var world = ContentTests.world(["a", "b"])
    let content = try ContentTests.content(1)
    Self.made(content, &world, replicas: 3)
    Self.wait(&world)
    #expect(Self.told(world) == [0, 1])
    world.workers[1].lost = [content.digest]
    world.report(1)
    for _ in 0..<3 { Self.wait(&world) }
    #expect(Self.told(world) == [0, 1])
    ContentTests.join("c", &world)
    Self.wait(&world)
    // The refusal may have been of a moment.
    #expect(Self.told(world) == [0, 2, 1])
    #expect(world.brokenInvariant == nil)
  }

  /// A worker that is told to leave does not count, and one that has left counts no more.
  @Test func aWorkerThatLeavesDoesNotCount() throws {
    var world = ContentTests.world(["a", "b", "c"])
    let content = try ContentTests.content(1)
    Self.made(content, &world)
    Self.wait(&world)
    let at = world.workers[1].copies.isEmpty ? 2 : 1
    world.workers[at].held = [content]
    world.report(at)
    Self.wait(&world)
    world.input(.gone(world.workers[at].peer))
    world.workers[at].conversation = nil
    for _ in 0..<20 { Self.wait(&world) }
    #expect(world.workers[3 - at].copies == [content])
    #expect(world.brokenInvariant == nil)
  }

  @Test(arguments: [0, 9, .max] as [UInt8]) func noSuchNumberOfStores(replicas: UInt8) {
    var world = ContentTests.world()
    var graph = ContentTests.submission()
    graph.templates[0].replicas = replicas
    guard case .refused(let refusal)? = world.ask(.submit(graph)) else {
      Issue.record("\(replicas) replicas are taken")
      return
    }
    #expect(refusal.code == .badRequest)
  }

  /// After a restart it is known again who has it, before anything is copied.
  @Test func aRestartCopiesNothing() throws {
    var world = ContentTests.world(["a", "b", "c"])
    let content = try ContentTests.content(1)
    Self.made(content, &world)
    Self.wait(&world)
    let at = world.workers[1].copies.isEmpty ? 2 : 1
    world.workers[at].held = [content]
    world.report(at)
    world.scheduler = world.replayed()
    world.beginLife()
    #expect(world.scheduler.state.pins.copies(of: content.digest) == 2)
    for other in world.workers.indices { world.greet(other) }
    for other in [0, at] {
      world.workers[other].held = [content]
      world.report(other)
    }
    for _ in 0..<20 { Self.wait(&world) }
    #expect(Self.told(world).reduce(0, +) == 1 && world.scheduler.contentCopies.isEmpty)
    #expect(world.brokenInvariant == nil)
  }

  /// A result outlives its graph: it is copied although nobody needs it any more.
  @Test func aResultIsCopiedAfterItsGraph() throws {
    var world = ContentTests.world(["a", "b", "c"])
    let content = try ContentTests.content(1)
    Self.made(content, &world)
    world.ask(.cancel(.selection(.graph(GraphID(1))), reason: "", grace: nil))
    #expect(world.scheduler.graphs.numbers.isEmpty && world.scheduler.state.pins.isEmpty)
    #expect(Self.told(world).reduce(0, +) == 1)
    let at = world.workers[1].copies.isEmpty ? 2 : 1
    world.workers[at].held = [content]
    world.report(at)
    Self.wait(&world)
    #expect(world.workers[at].released == [content.digest], "it may leave when room is needed")
    #expect(Self.told(world).reduce(0, +) == 1 && world.scheduler.contentCopies.isEmpty)
    var copies = ContentCopies()
    for number in 0..<2 as Range<UInt8> {
      copies.last(try ContentTests.content(number), copies: 2, isNeeded: false, .zero)
    }
    #expect(copies.take(5, at: .zero).count == 2 && Limits.lastingCopies == 65_536)
    // The most that was wanted, whoever has wanted it last.
    let dear = try ContentTests.content(0)
    for wanted in [3, 2] as [UInt8] { copies.last(dear, copies: wanted, isNeeded: true, .zero) }
    #expect(copies.lasting(dear.digest)?.copies == 3)
    #expect(world.brokenInvariant == nil)
  }

  /// What another graph reads lies in as many stores as its own graph wanted, also when that has
  /// ended, and for a coordinator that knows it from a snapshot.
  @Test func whatOthersCiteIsAsDear() throws {
    var world = ContentTests.world(["a", "b", "c"])
    let content = try ContentTests.content(1)
    Self.made(content, &world)
    ContentTests.citing(&world, isHeld: true)
    let at = world.workers[1].copies.isEmpty ? 2 : 1
    world.workers[at].held = [content]
    world.report(at)
    world.ask(.hold(.operations([operation(1, 1)]), false))
    world.runAll()
    #expect(world.scheduler.graphs.numbers == [2])
    let pins = world.scheduler.state.pins
    #expect(pins.copies(of: content.digest) == 2)
    #expect(world.replayed().state.pins.isSame(as: pins))
    var restored = Scheduler()
    restored.restore(world.scheduler.snapshot(), commit: world.scheduler.lastCommit)
    #expect(restored.state.pins.isSame(as: pins))
    // One of the two is lost.
    Self.wait(&world)
    world.workers[at].lost = [content.digest]
    world.report(at)
    Self.wait(&world)
    #expect(Self.told(world).reduce(0, +) == 2)
    #expect(world.brokenInvariant == nil)
  }

  /// The most that one wants counts, for as long as it does; whoever wanted more has ended with
  /// them, and they are made although somebody else needs fewer.
  @Test func theMostThatOneWantsCounts() throws {
    let content = try ContentTests.content(1)
    var pins = ContentPins()
    for (copies, most) in [(1, 1), (3, 3), (2, 3), (3, 3)] as [(UInt8, Int)] {
      pins.pinAll([content], copies: copies)
      #expect(pins.copies(of: content.digest) == most)
    }
    #expect(pins.takeChanges().dear == [content.digest])
    for (copies, most) in [(3, 3), (3, 2), (1, 2)] as [(UInt8, Int)] {
      pins.unpinAll([content], copies: copies)
      #expect(pins.copies(of: content.digest) == most)
    }
    let changes = pins.takeChanges()
    #expect(changes.dearFreed.map(\.copies) == [3] && changes.freed.isEmpty)
    pins.unpinAll([content], copies: 2)
    #expect(pins.takeChanges().freed == [content.digest] && pins.isEmpty)
    #expect(pins.isSame(as: ContentPins()))
  }

  /// A worker that is set aside for its failures has a store like any other.
  @Test func aWorkerSetAsideTakesCopies() throws {
    var world = ContentTests.world(["a", "b"])
    var unable = AttemptResult()
    unable.cause = .cannotStart
    for stage in 1...UInt32(Limits.stagesBeforeRest) {
      var graph = GraphSubmission(name: "g")
      graph.templates = [noops("s", 2)]
      world.ask(.submit(graph))
      for given in world.workers[1].assigned.map(\.attempt.operation) {
        world.start(1, given)
        world.end(1, given, unable)
      }
      world.report(1)
      world.runAll()
      #expect(world.scheduler.conversations[2].isResting == (stage == Limits.stagesBeforeRest))
    }
    Self.made(
      try ContentTests.content(1), &world, graph: UInt32(Limits.stagesBeforeRest) + 1)
    #expect(Self.told(world) == [0, 1])
    #expect(world.brokenInvariant == nil)
  }

  /// A turn looks at a bounded number, and so many are under way.
  @Test func copiesAreBounded() throws {
    var copies = ContentCopies()
    let digests = try (0..<100 as Range<UInt8>).map { try ContentTests.content($0).digest }
    for digest in digests.reversed() { copies.look(at: digest, .zero) }
    for digest in digests { copies.look(at: digest, .zero + .seconds(1)) }
    #expect(copies.take(60, at: .zero) == Array(digests.prefix(60)))
    #expect(copies.take(60, at: .zero) == Array(digests.suffix(40)))
    #expect(copies.take(60, at: .zero + .seconds(2)) == [] && copies.isEmpty)
    let copy = ContentCopies.Copy(worker: 3, conversation: 1)
    copies.order(digests[0], copy, at: .zero)
    copies.order(digests[0], copy, at: .zero)
    #expect(copies.underWayCount == 1 && copies.copies(of: digests[0]) == [copy: .zero])
    #expect(!copies.end(digests[0], at: 4) && copies.end(digests[0], at: 3) && copies.isEmpty)
    copies.order(digests[0], copy, at: .zero)
    copies.forget(digests[0])
    #expect(copies.underWayCount == 0 && copies.isEmpty)
    // Those that found no store are kept once, forgotten with their graph, and looked at in parts.
    for _ in 0..<2 { for digest in digests { copies.strand(digest) } }
    #expect(copies.strandedCount == 100 && copies.nextLook == nil)
    for digest in digests.prefix(50) { copies.forget(digest) }
    copies.reopenStranded(isNew: true)
    #expect(copies.hasReopened)
    #expect(copies.take(30, at: .zero) == Array(digests[50..<80]))
    copies.strand(digests[50])
    #expect(copies.take(30, at: .zero) == Array(digests[80...]))
    #expect(!copies.hasReopened && copies.strandedCount == 1)
    copies.forget(digests[50])
    for _ in 0..<50 {
      for digest in digests {
        copies.strand(digest)
        copies.forget(digest)
      }
    }
    #expect(copies.strandedCount <= 1_200 && copies.isEmpty)
    #expect(Limits.replicas == 8)
    #expect(Limits.replicationsPerTurn == 256 && Limits.copiesUnderWay == 4_096)
  }
}

extension ContentCopies {
  /// Those to look at now, in order, at most so many.
  fileprivate mutating func take(_ count: Int, at now: Instant) -> [ContentDigest] {
    var taken: [ContentDigest] = []
    while taken.count < count, let digest = takeNext(at: now) { taken.append(digest) }
    return taken
  }
}
