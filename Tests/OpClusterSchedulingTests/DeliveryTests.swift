// Contents that a worker cannot fetch: who brings them, and what follows if nobody can.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite(.checks("S154", "S140")) struct DeliveryTests {
  /// Worker `a` has left contents, each read by an operation at `b`, which `b` has been given.
  private static func world(_ contents: [StoredContent], _ names: [String]) -> World {
    var world = ContentTests.world(names)
    for content in contents { make(content, &world) }
    return world
  }

  private static func make(_ content: StoredContent, _ world: inout World) {
    var graph = ContentTests.submission()
    graph.templates[1].requirements = [LabelRequirement(key: "worker", values: ["b"])]
    world.ask(.submit(graph))
    let id = GraphID(world.scheduler.counters.lastGraph)
    world.start(0, OperationID(graph: id, index: 0))
    world.end(0, OperationID(graph: id, index: 0), ContentTests.result(content))
    world.workers[0].held = [content]
    world.report(0)
  }

  private static func doesNotReach(
    _ content: StoredContent, at holder: String = "a", _ world: inout World
  ) {
    world.workers[1].unreached = [
      UnreachedContent(content, from: [ContentTests.source(holder)])
    ]
    world.report(1)
  }

  private static func fails(_ delivery: ContentDelivery, _ world: inout World) {
    world.workers[0].undelivered = [FailedDelivery(delivery, isUnreached: true)]
    world.report(0)
  }

  private static func why(_ world: inout World) -> String {
    guard case .explanations(let rows, _)? = world.ask(.explain(.graph(GraphID(1)))) else {
      return ""
    }
    return rows.flatMap(\.lines).map(\.text).joined(separator: "; ")
  }

  /// A worker goes and is lost; the others are heard meanwhile.
  private static func lose(_ gone: Int, _ world: inout World) {
    world.input(.gone(world.workers[gone].peer))
    for _ in 0..<30 {
      for at in world.workers.indices where at != gone { world.report(at) }
      world.tick(after: .seconds(1))
    }
  }

  @Test func aHolderLeavesItWithTheReader() throws {
    let content = try ContentTests.content(1)
    var world = Self.world([content], ["a", "b"])
    #expect(world.workers[1].holders.count == 1)
    Self.doesNotReach(content, &world)
    let delivery = ContentDelivery(content, to: ContentTests.source("b"))
    #expect(world.workers[0].deliveries == [delivery])
    let grant = GrantOrder(
      digest: content.digest, reader: ContentTests.source("a").key, mayWrite: true)
    #expect(world.workers[1].grants == [grant])
    let why = Self.why(&world)
    #expect(why.contains("worker b cannot connect to who has it; a sends it there"), "\(why)")
    // Said again, as in a new conversation: it is on its way.
    Self.doesNotReach(content, &world)
    #expect(world.workers[0].deliveries.count == 1)
    world.workers[1].held = [content]
    world.report(1)
    world.runAll()
    #expect(world.scheduler.graphs.numbers.isEmpty && world.scheduler.contentDeliveries.count == 0)
    #expect(world.brokenInvariant == nil)
    // What is known is not tried again: the next one is brought at once.
    let next = try ContentTests.content(2)
    Self.make(next, &world)
    #expect(world.workers[1].holders.count == 1)
    #expect(world.workers[0].deliveries.last?.content == next)
    world.workers[1].held = [next]
    world.report(1)
    world.runAll()
    // With either of them it is forgotten.
    Self.lose(1, &world)
    #expect(world.scheduler.contentDeliveries.isEmpty)
  }

  @Test func elseAThirdStandsBetween() throws {
    let content = try ContentTests.content(1)
    var world = Self.world([content], ["a", "b", "d"])
    Self.doesNotReach(content, &world)
    Self.fails(ContentDelivery(content, to: ContentTests.source("b")), &world)
    let delivery = ContentDelivery(content, to: ContentTests.source("d"))
    #expect(world.workers[0].deliveries.last == delivery)
    #expect(Self.why(&world).contains("a sends it to d, where it can be fetched"))
    world.workers[2].held = [content]
    world.report(2)
    let known = ContentHolders(digest: content.digest, sources: [ContentTests.source("d")])
    #expect(world.workers[1].holders.last == known)
    let grant = GrantOrder(digest: content.digest, reader: ContentTests.source("b").key)
    #expect(world.workers[2].grants.last == grant)
    #expect(Self.why(&world).contains("it fetches it from d instead"))
    // An earlier search has ended only now: it fetches it from the third.
    Self.doesNotReach(content, &world)
    #expect(world.workers[2].deliveries == [])
    // From there it does not come either, and there is no other.
    Self.doesNotReach(content, at: "d", &world)
    // It is a holder now, and may leave it there.
    #expect(world.workers[2].deliveries == [ContentDelivery(content, to: ContentTests.source("b"))])
    world.workers[2].undelivered = world.workers[2].deliveries.map {
      FailedDelivery($0, isUnreached: false)
    }
    world.report(2)
    #expect(world.workers[1].unobtainable == [content.digest])
    #expect(world.scheduler.contentDeliveries.count == 0)
    #expect(world.brokenInvariant == nil)
    // The next one is tried by nobody who is known not to reach the other: not by `a` with `b`, nor
    // through `d`, from which `b` does not fetch.
    world.workers[1].unobtainable = []
    let tried = world.workers[0].deliveries.count
    Self.make(try ContentTests.content(2), &world)
    #expect(world.workers[0].deliveries.count == tried)
    #expect(world.workers[1].unobtainable == [try ContentTests.content(2).digest])
  }

  // Found by the simulation, seed 43846: the third had no more room for it when the reader was told
  // to fetch it there.
  @Test(.checks("S154")) func whatTheThirdHasLostIsBroughtOtherwise() throws {
    let content = try ContentTests.content(1)
    var world = Self.world([content], ["a", "b", "d", "e"])
    Self.doesNotReach(content, &world)
    Self.fails(ContentDelivery(content, to: ContentTests.source("b")), &world)
    let third = try #require(world.workers[0].deliveries.last)
    let at = try #require(world.workers.firstIndex { $0.store == third.to })
    world.workers[at].held = [content]
    world.report(at)
    let orders = world.workers[0].deliveries.count
    world.workers[at].lost = [content.digest]
    world.report(at)
    #expect(world.workers[0].deliveries.count == orders + 1)
    #expect(world.workers[0].deliveries.last?.to != third.to)
    #expect(world.brokenInvariant == nil)
  }

  // The one that is to bring it has lost it, and nobody else has it.
  @Test(.checks("S154")) func whatItsHolderHasLostIsNotWaitedFor() throws {
    let content = try ContentTests.content(1)
    var world = Self.world([content], ["a", "b"])
    Self.doesNotReach(content, &world)
    world.workers[0].lost = [content.digest]
    world.report(0)
    let nobody = ContentHolders(digest: content.digest, sources: [])
    #expect(world.workers[1].holders.last == nobody)
    #expect(world.scheduler.contentDeliveries.count == 0)
  }

  @Test func notThroughEverybody() throws {
    let content = try ContentTests.content(1)
    let others = ["d", "e", "f", "g", "h"]
    var world = Self.world([content], ["a", "b"] + others)
    Self.doesNotReach(content, &world)
    for _ in 0...Limits.deliveryTries {
      let delivery = try #require(world.workers[0].deliveries.last)
      Self.fails(delivery, &world)
    }
    let targets = Set(world.workers[0].deliveries.map(\.to))
    #expect(targets.count == 1 + Limits.deliveryTries && others.count > Limits.deliveryTries)
    #expect(world.workers[1].unobtainable == [content.digest])
  }

  @Test func whoBringsItGoes() throws {
    let content = try ContentTests.content(1)
    var world = Self.world([content], ["a", "b", "d"])
    Self.doesNotReach(content, &world)
    #expect(world.workers[0].deliveries.count == 1)
    Self.lose(0, &world)
    // Nobody has it: the reader is told so, and gives the operation back.
    let nobody = ContentHolders(digest: content.digest, sources: [])
    #expect(world.workers[1].holders.last == nobody)
    #expect(world.scheduler.contentDeliveries.count == 0)
    #expect(world.brokenInvariant == nil)
  }

  /// What is remembered of who reaches whom is bounded, and leaves with either of the two.
  @Test func pairs() {
    var deliveries = ContentDeliveries()
    for reader in 1...300 as ClosedRange<UInt32> {
      for holder in 1_000..<1_300 as Range<UInt32> {
        deliveries.noteUnreached(holder, from: reader)
      }
    }
    #expect(!deliveries.reaches(1, 1_000) && deliveries.reaches(300, 1_299))
    for worker in 1...1_300 as ClosedRange<UInt32> {
      let undecided = deliveries.forget(worker)
      #expect(undecided == [])
    }
    #expect(deliveries.isEmpty && deliveries.reaches(1, 1_000))
    #expect(300 * 300 > Limits.unreachedPairs)
  }

  @Test func wantsAreBounded() throws {
    var deliveries = ContentDeliveries()
    let content = try ContentTests.content(1)
    for reader in 1...UInt32(Limits.deliveries) {
      let want = ContentDeliveries.Want(digest: content.digest, reader: reader)
      let hasRoom = deliveries.seek(want, size: 1)
      #expect(hasRoom)
    }
    let further = ContentDeliveries.Want(digest: content.digest, reader: 0)
    let hasRoom = deliveries.seek(further, size: 1)
    #expect(!hasRoom)
  }
}
