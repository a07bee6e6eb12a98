// What only a worker that drains has, and somebody needs: it stays until others have it too.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite(.checks("S140", "S148", "G42")) struct DrainingStoresTests {
  /// `make` has left the content at worker `a`, and `read` is held.
  private static func made(_ content: StoredContent, _ world: inout World, ends: Bool = true) {
    var graph = ContentTests.submission()
    graph.templates[1].isHeld = true
    world.ask(.submit(graph))
    world.start(0, operation(1, 0))
    if !ends { return }
    end(leaving: content, &world)
  }

  private static func end(leaving content: StoredContent, _ world: inout World) {
    world.end(0, operation(1, 0), ContentTests.result(content))
    world.workers[0].held = [content]
    world.report(0)
  }

  private static func wait(_ world: inout World, seconds: Int = 3) {
    for _ in 0..<seconds {
      for at in world.workers.indices where world.workers[at].conversation != nil {
        world.report(at)
      }
      world.tick(after: .seconds(1))
    }
  }

  /// Each is left at worker `a` by a graph of its own, whose reader is held.
  private static func madeByGraphs(
    _ count: UInt8, _ world: inout World
  ) throws -> [StoredContent] {
    let contents = try (0..<count).map { try ContentTests.content($0) }
    var graph = ContentTests.submission()
    graph.templates[1].isHeld = true
    for content in contents {
      world.ask(.submit(graph))
      let made = operation(UInt32(content.digest.bytes[0]) + 1, 0)
      world.start(0, made)
      world.end(0, made, ContentTests.result(content))
      world.report(0)
    }
    return contents
  }

  private func said(_ world: World) -> Bool { world.workers[0].wasToldToDrain }

  /// It leaves when another worker says that it has it.
  @Test func itStaysUntilAnotherHasIt() throws {
    var world = ContentTests.world(["a", "b", "c"])
    let content = try ContentTests.content(1)
    Self.made(content, &world)
    world.ask(.drainWorker("a"))
    #expect(!said(world))
    let at = world.workers[1].copies.isEmpty ? 2 : 1
    #expect(world.workers[at].copies == [content])
    #expect(world.workers.map(\.copies.count).reduce(0, +) == 1)
    Self.wait(&world, seconds: 100)
    #expect(!said(world))
    world.workers[at].held = [content]
    world.report(at)
    #expect(said(world) && world.scheduler.contentCopies.isEmpty)
    world.input(.worker(world.workers[0].peer, .goodbye(lastReport: 0)))
    world.workers[0].conversation = nil
    Self.wait(&world)
    // Nothing is made again.
    #expect(world.scheduler.brokenInvariant() == nil)
    #expect(world.scheduler.livingGraphs(Selection(graphs: .all)) == [GraphID(1)])
  }

  /// What an operation leaves that ends while its worker drains is fetched as well.
  @Test func whatComesWhileItDrains() throws {
    var world = ContentTests.world(["a", "b"])
    let content = try ContentTests.content(1)
    Self.made(content, &world, ends: false)
    world.ask(.drainWorker("a"))
    #expect(said(world))
    world.workers[0].wasToldToDrain = false
    Self.end(leaving: content, &world)
    // It has to wait for an order that knows of its content.
    #expect(!said(world) && world.workers[1].copies == [content])
    world.workers[1].held = [content]
    world.report(1)
    #expect(said(world))
  }

  @Test func whatNobodyNeeds() throws {
    var world = ContentTests.world(["a", "b"])
    let content = try ContentTests.content(1)
    Self.made(content, &world)
    world.ask(.drainWorker("a"))
    #expect(!said(world) && world.workers[1].copies == [content])
    world.ask(.cancel(.selection(.graph(GraphID(1))), reason: "", grace: nil))
    Self.wait(&world)
    #expect(said(world) && world.scheduler.contentCopies.isEmpty)
    // Left by a graph that has ended before.
    var other = ContentTests.world(["a", "b"])
    other.workers[0].held = [content]
    other.report(0)
    other.ask(.drainWorker("a"))
    #expect(said(other) && other.workers[1].copies.isEmpty)
  }

  /// It stays no longer than a store may take it.
  @Test func noStoreTakesIt() throws {
    let content = try ContentTests.content(1)
    var alone = ContentTests.world(["a"])
    Self.made(content, &alone)
    alone.ask(.drainWorker("a"))
    #expect(said(alone))
    var world = ContentTests.world(["a", "b", "c"])
    Self.made(content, &world)
    world.ask(.drainWorker("a"))
    for round in 0..<2 {
      #expect(!said(world), "\(round)")
      let at = try #require((1...2).first { !world.workers[$0].copies.isEmpty })
      world.workers[at].copies = []
      world.workers[at].lost = [content.digest]
      world.report(at)
      Self.wait(&world, seconds: 4)
    }
    #expect(said(world))
  }

  /// Told to leave since no store took it, it may still run something when one comes.
  @Test func aStoreComesBeforeItHasLeft() throws {
    let content = try ContentTests.content(1)
    var world = ContentTests.world(["a"])
    Self.made(content, &world)
    world.ask(.drainWorker("a"))
    #expect(said(world))
    world.workers[0].wasToldToDrain = false
    ContentTests.join("b", &world)
    Self.wait(&world)
    #expect(!said(world) && world.workers[1].copies == [content])
    world.workers[1].held = [content]
    world.report(1)
    #expect(said(world))
    Self.wait(&world)
    // It comes too late for one that has left.
    var late = ContentTests.world(["a"])
    Self.made(content, &late)
    late.ask(.drainWorker("a"))
    late.input(.worker(late.workers[0].peer, .goodbye(lastReport: 0)))
    late.workers[0].conversation = nil
    ContentTests.join("b", &late)
    Self.wait(&late)
    #expect(late.workers[1].copies.isEmpty && late.scheduler.contentCopies.strandedCount == 0)
  }

  /// The copy is lost for which it was told to leave, while it still runs something.
  @Test func theCopyIsLost() throws {
    let content = try ContentTests.content(1)
    var world = ContentTests.world(["a", "b", "c"])
    Self.made(content, &world)
    world.ask(.drainWorker("a"))
    let first = world.workers[1].copies.isEmpty ? 2 : 1
    world.workers[first].held = [content]
    world.report(first)
    #expect(said(world))
    world.workers[0].wasToldToDrain = false
    for at in 1...2 { world.workers[at].copies = [] }
    world.workers[first].lost = [content.digest]
    world.report(first)
    #expect(!said(world))
    let second = try #require((1...2).first { !world.workers[$0].copies.isEmpty })
    world.workers[second].held = [content]
    world.report(second)
    #expect(said(world))
    // Its worker says hello again and has it no more; until then it is not known who has it.
    world.workers[0].wasToldToDrain = false
    for at in 1...2 { world.workers[at].copies = [] }
    world.workers[second].peer = PeerID(9_000)
    world.greet(second)
    Self.wait(&world, seconds: 4)
    #expect(!said(world) && world.workers[1...2].contains { !$0.copies.isEmpty })
  }

  /// What a worker says before it has the order for a copy is about something else.
  @Test func aLossBeforeTheOrder() throws {
    let content = try ContentTests.content(1)
    var world = ContentTests.world(["a", "b"])
    Self.made(content, &world)
    world.ask(.drainWorker("a"))
    #expect(world.workers[1].copies == [content])
    let taken = world.workers[1].ordersTaken
    for (known, isUnderWay) in [(taken - 1, true), (taken, false)] {
      world.workers[1].ordersTaken = known
      world.workers[1].lost = [content.digest]
      world.report(1)
      #expect(world.scheduler.contentCopies.copies(of: content.digest).isEmpty != isUnderWay)
      #expect(said(world) != isUnderWay)
    }
  }

  /// Another worker is not heard just now: it may come back, until it is lost.
  @Test(arguments: [true, false]) func theOtherIsSilent(comesBack: Bool) throws {
    let content = try ContentTests.content(1)
    var world = ContentTests.world(["a", "b"])
    Self.made(content, &world)
    for _ in 0..<6 {
      world.report(0)
      world.tick(after: .seconds(1))
    }
    world.ask(.drainWorker("a"))
    #expect(!said(world) && world.workers[1].copies.isEmpty)
    if comesBack {
      world.report(1)
      Self.wait(&world, seconds: 16)
      #expect(!said(world) && world.workers[1].copies == [content])
      world.workers[1].held = [content]
      world.report(1)
    } else {
      for _ in 0..<16 {
        world.report(0)
        world.tick(after: .seconds(1))
      }
    }
    #expect(said(world))
  }

  /// A worker that is heard and silent in turns gets the copy as soon as it is heard. It never says
  /// that it has it, and it is not waited for anew each time.
  @Test func theOtherIsSilentAgainAndAgain() throws {
    let content = try ContentTests.content(1)
    var world = ContentTests.world(["a", "b"])
    Self.made(content, &world)
    for _ in 0..<6 {
      world.report(0)
      world.tick(after: .seconds(1))
    }
    world.ask(.drainWorker("a"))
    #expect(!said(world) && world.workers[1].copies.isEmpty)
    world.report(1)
    world.tick(after: .seconds(1))
    #expect(world.workers[1].copies == [content])
    for second in 0..<Int(Limits.copyPatience.seconds) + 120 where !said(world) {
      world.report(0)
      if second % 15 < 6 { world.report(1) }
      world.tick(after: .seconds(1))
    }
    #expect(said(world) && world.workers[1].copies == [content])
    #expect(world.scheduler.drainingStores.waitingForSilent.isEmpty)
    #expect(world.scheduler.brokenInvariant() == nil)
  }

  /// A worker that never says that its copy has arrived is passed over for another, and after that
  /// nobody is waited for.
  @Test func aCopyThatNeverArrives() throws {
    var world = ContentTests.world(["a", "b", "c"])
    let content = try ContentTests.content(1)
    Self.made(content, &world)
    world.ask(.drainWorker("a"))
    let minutes = Int(Limits.copyPatience.seconds / 60) + 2
    func waitLong() {
      for _ in 0..<minutes * 20 {
        for at in world.workers.indices where world.workers[at].conversation != nil {
          world.report(at)
        }
        world.tick(after: .seconds(3))
      }
    }
    let first = world.workers[1].copies.isEmpty ? 2 : 1
    Self.wait(&world, seconds: 300)
    #expect(world.workers[3 - first].copies.isEmpty && !said(world))
    waitLong()
    #expect(world.workers[3 - first].copies == [content] && !said(world))
    waitLong()
    #expect(said(world) && world.scheduler.brokenInvariant() == nil)
    // It was only late.
    world.workers[first].held = [content]
    world.report(first)
    #expect(world.scheduler.contentCopies.underWayCount == 0)
    #expect(Limits.leastBytesPerSecondOfCopy == 1 << 20)
  }

  /// What it has is looked at in parts, and it stays until all was.
  @Test(.checks("G29"), arguments: [1_000, 1_025, 20_000])
  func aLargeStore(count: Int) throws {
    var world = ContentTests.world(["a", "b"])
    world.invariantChecks = .never
    let content = try ContentTests.content(1)
    Self.made(content, &world)
    var random = Seeded(state: 3)
    let others = (0..<count).compactMap { _ in
      ContentDigest(bytes: (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) })
        .map { StoredContent(digest: $0, size: 1) }
    }
    for start in stride(from: 0, to: count, by: 4_000) {
      world.workers[0].held = Array(others[start..<min(start + 4_000, count)])
      world.report(0)
    }
    func looks(_ body: (inout World) -> Void) -> Int {
      let before = world.scheduler.looks
      body(&world)
      return world.scheduler.looks - before
    }
    var most = looks { $0.ask(.drainWorker("a")) }
    var turns = 1
    while world.scheduler.drainingStores.hasUnexamined {
      #expect(!said(world))
      #expect(world.scheduler.nextDeadline().map { $0 <= world.now } ?? false)
      most = max(most, looks { $0.tick(after: .zero) })
      turns += 1
    }
    #expect(turns >= count / 2_048 && turns <= count / 1_024 + 1)
    #expect(most < 1_200, "\(most) looks in a turn")
    #expect(!said(world) && world.workers[1].copies == [content])
    world.workers[1].held = [content]
    world.report(1)
    #expect(said(world) && world.scheduler.brokenInvariant() == nil)
  }

  /// A worker that means ill has contents that begin alike: they are looked at in parts as well.
  /// Those of one that has left are passed over.
  @Test func contentsThatBeginAlike() throws {
    func digest(_ number: Int) throws -> ContentDigest {
      try #require(
        ContentDigest(
          bytes: Array(repeating: 7, count: 30)
            + [UInt8(number >> 8), UInt8(truncatingIfNeeded: number)]))
    }
    let all = try (0..<5_000).map { try digest($0) }
    var stores = DrainingStores()
    stores.addUnexamined(of: 1, all)
    stores.addUnexamined(of: 2, Array(all.prefix(3)))
    var sizes: [Int] = []
    while let (part, isLast) = stores.takeUnexamined() {
      sizes.append(part.contents.count)
      #expect(stores.keeps(part.worker) == !isLast)
    }
    #expect(sizes == [1_024, 1_024, 1_024, 1_024, 904, 3])
    stores.addUnexamined(of: 3, all)
    stores.addUnexamined(of: 4, Array(all.prefix(3)))
    stores.forget(3)
    #expect(!stores.keeps(3) && stores.keeps(4))
    #expect(stores.takeUnexamined()?.part.worker == 4 && !stores.hasUnexamined)
    stores.addUnexamined(of: 5, [])
    #expect(!stores.keeps(5) && !stores.hasUnexamined)
  }

  /// Many that begin to drain at once share the turns.
  @Test(.checks("G29")) func manyDrainAtOnce() throws {
    var world = ContentTests.world((0..<200).map { "w\($0)" })
    world.invariantChecks = .never
    for at in 0..<199 {
      world.workers[at].held = try (0..<100 as Range<UInt8>).map { try ContentTests.content($0) }
      world.report(at)
    }
    for at in 0..<199 { world.ask(.drainWorker("w\(at)")) }
    var turns = 0
    while world.scheduler.drainingStores.hasUnexamined {
      world.tick(after: .zero)
      turns += 1
    }
    #expect(turns <= 199 * 100 / 1_024 + 1)
    #expect((0..<199).allSatisfy { world.workers[$0].wasToldToDrain })
    #expect(world.scheduler.brokenInvariant() == nil)
  }

  /// A content that all of many have who drain at once costs each of them once: only some stay for
  /// it, and the stores of the others are not passed again and again.
  @Test(.checks("G29"), arguments: [true, false]) func manyShareContents(oneStays: Bool) throws {
    let (count, shared) = (200, 100)
    var world = ContentTests.world(["a"] + (1..<count).map { "w\($0)" } + ["spare"])
    world.invariantChecks = .never
    let contents = try Self.madeByGraphs(UInt8(shared), &world)
    for at in 0..<count {
      world.workers[at].held = contents
      world.report(at)
    }
    let before = world.scheduler.looks
    world.ask(.drainWorker("a"))
    for at in 1..<(oneStays ? count - 1 : count) { world.ask(.drainWorker("w\(at)")) }
    var most = 0
    while world.scheduler.drainingStores.hasUnexamined {
      let before = world.scheduler.looks
      world.tick(after: .zero)
      most = max(most, world.scheduler.looks - before)
    }
    let looks = world.scheduler.looks - before
    #expect(looks < 6 * count * shared, "\(looks) looks")
    #expect(most < 2 * (Limits.replicationLooksPerTurn + 1_024 + count), "\(most) in a turn")
    // The others were told before the last one drained; some of them are held back.
    let stay = (1...UInt32(count)).count { world.scheduler.drainingStores.keeps($0) }
    #expect(stay == (oneStays ? 0 : Limits.workersStayingForContent))
    #expect(world.workers[..<count].count { $0.wasToldToDrain } == count - 1)
    #expect(world.workers[count].copies.isEmpty == oneStays)
    if !oneStays {
      for _ in 0..<10 { world.tick(after: .zero) }
      #expect(Set(world.workers[count].copies) == Set(contents))
      world.workers[count].held = contents
      world.report(count)
      #expect(world.workers[..<count].allSatisfy { $0.wasToldToDrain })
    }
    #expect(world.scheduler.brokenInvariant() == nil)
  }

  /// Many that have it are not connected: they are not all passed for each content that one of them
  /// had, and who can be read is found after them.
  @Test(.checks("G29")) func mostAreNotConnected() throws {
    let (count, shared) = (200, 100)
    var world = ContentTests.world(["a"] + (1..<count).map { "w\($0)" } + ["last", "spare"])
    world.invariantChecks = .never
    let contents = try Self.madeByGraphs(UInt8(shared), &world)
    for at in 0...count {
      world.workers[at].held = contents
      world.report(at)
    }
    world.ask(.drainWorker("last"))
    #expect(world.workers[count].wasToldToDrain)
    for at in 0..<count { world.input(.gone(world.workers[at].peer)) }
    var most = 0
    func turn(_ body: (inout World) -> Void) {
      let before = world.scheduler.looks
      body(&world)
      most = max(most, world.scheduler.looks - before)
    }
    turn { $0.ask(.drainWorker("a")) }
    // The last one finds that only such have it that drain.
    for at in 1..<count { turn { $0.ask(.drainWorker("w\(at)")) } }
    for _ in 0..<20 { turn { $0.tick(after: .zero) } }
    #expect(most < 2 * (Limits.replicationLooksPerTurn + 1_024 + count), "\(most) in a turn")
    #expect(world.scheduler.drainingStores.keeps(UInt32(count) + 1))
    #expect(Set(world.workers[count + 1].copies) == Set(contents))
    #expect(world.scheduler.brokenInvariant() == nil)
  }

  /// A worker that stays has it no more: those that were told to leave are held back.
  @Test func whoStaysLosesIt() throws {
    var world = ContentTests.world(["a", "b", "c", "d", "e", "f"])
    let content = try ContentTests.content(1)
    Self.made(content, &world)
    for at in 1..<5 {
      world.workers[at].held = [content]
      world.report(at)
    }
    func staying() -> [UInt32] {
      world.scheduler.drainingStores.workersStaying(for: content.digest).sorted()
    }
    for name in ["a", "b", "c", "d", "e"] { world.ask(.drainWorker(name)) }
    #expect(staying() == [1, 2, 5] && world.workers[5].copies == [content])
    for lost in [5, 1, 2] as [UInt32] {
      world.workers[Int(lost) - 1].lost = [content.digest]
      world.report(Int(lost) - 1)
      world.tick(after: .zero)
      #expect(!staying().contains(lost) && !staying().isEmpty)
    }
    #expect(staying() == [3, 4])
    // One report says both: it has it not.
    world.workers[2].held = [content]
    world.workers[2].lost = [content.digest]
    world.report(2)
    world.tick(after: .zero)
    #expect(staying() == [4])
    world.workers[5].held = [content]
    world.report(5)
    #expect(staying() == [] && world.brokenInvariant == nil)
  }

  /// All that have it drain: each stays, and the worker that comes gets it.
  @Test func allDrain() throws {
    var world = ContentTests.world(["a", "b", "c"])
    let content = try ContentTests.content(1)
    Self.made(content, &world)
    world.workers[1].held = [content]
    world.report(1)
    world.ask(.drainWorker("a"))
    #expect(said(world))
    world.ask(.drainWorker("b"))
    #expect(!world.workers[1].wasToldToDrain && world.workers[2].copies == [content])
    world.workers[2].held = [content]
    world.report(2)
    #expect(world.workers[1].wasToldToDrain)
  }

  /// By its own wish, and in a conversation that begins anew.
  @Test func againInEachConversation() throws {
    var world = ContentTests.world(["a", "b"])
    let content = try ContentTests.content(1)
    Self.made(content, &world)
    world.ask(.drainWorker("a"))
    #expect(!said(world))
    world.input(.gone(world.workers[0].peer))
    world.workers[0].peer = PeerID(world.workers[0].peer.number + 1_000)
    world.greet(0)
    // What is there is told after the hello: a worker leaves by no order that knows nothing of it.
    world.workers[0].wasToldToDrain = false
    world.workers[0].held = [content]
    world.report(0)
    #expect(!said(world))
    world.workers[1].held = [content]
    world.report(1)
    #expect(said(world))
  }
}
