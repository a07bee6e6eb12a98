// Contents that a client cannot read where they are: another store gets a copy.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite(.checks("S154")) struct BroughtContentsTests {
  private static let client = ContentAsker(key: [UInt8](repeating: 7, count: 32))

  /// Worker `a` has a content that nobody needs any more.
  private static func world(_ names: [String]) throws -> (World, StoredContent) {
    var world = ContentTests.world(names)
    let content = try ContentTests.content(1)
    var graph = ContentTests.submission()
    graph.templates.removeLast()
    graph.groupEdges = []
    world.ask(.submit(graph))
    world.start(0, operation(1, 0))
    world.end(0, operation(1, 0), ContentTests.result(content))
    world.workers[0].held = [content]
    world.report(0)
    return (world, content)
  }

  private static func bring(
    _ content: StoredContent, _ unreached: [String], _ world: inout World
  ) -> ClientReply? {
    world.ask(.bring(content, unreached: unreached, reader: client))
  }

  private static func isThere(_ names: String..., of content: StoredContent) -> ClientReply {
    .located([
      ContentHolders(
        digest: content.digest,
        sources: names.map { name in
          var source = ContentTests.source(name)
          source.worker = name
          return source
        })
    ])
  }

  /// The only worker that has it drains: one copy is a copy that is wanted.
  @Test func fromAWorkerThatDrains() throws {
    var (world, content) = try Self.world(["a", "b"])
    world.ask(.drainWorker("a"))
    #expect(Self.bring(content, ["a"], &world) == Self.isThere(of: content))
    world.tick(after: .milliseconds(10))
    #expect(world.workers[1].copies == [content])
    world.workers[1].held = [content]
    world.report(1)
    #expect(Self.bring(content, ["a"], &world) == Self.isThere("b", of: content))
    for _ in 0..<3 {
      world.tick(after: .seconds(1))
      for at in world.workers.indices { world.report(at) }
    }
    #expect(world.scheduler.contentCopies.isEmpty && world.scheduler.brokenInvariant() == nil)
  }

  @Test func anotherStoreGetsACopy() throws {
    var (world, content) = try Self.world(["a", "b"])
    // Who is reached is named at once.
    #expect(Self.bring(content, [], &world) == Self.isThere("a", of: content))
    #expect(world.workers[1].copies == [])
    #expect(Self.bring(content, ["a"], &world) == Self.isThere(of: content))
    world.tick(after: .milliseconds(10))
    #expect(world.workers[1].copies == [content])
    // Asked again meanwhile.
    #expect(Self.bring(content, ["a"], &world) == Self.isThere(of: content))
    world.tick(after: .milliseconds(10))
    #expect(world.workers[1].copies == [content])
    world.workers[1].held = [content]
    world.report(1)
    #expect(Self.bring(content, ["a"], &world) == Self.isThere("b", of: content))
    let grant = GrantOrder(digest: content.digest, reader: Self.client.key)
    #expect(world.workers[1].grants.last == grant)
    // Nothing is kept of it.
    for _ in 0..<30 {
      for at in world.workers.indices { world.report(at) }
      world.tick(after: .seconds(1))
    }
    #expect(world.scheduler.contentCopies.isEmpty)
    #expect(world.scheduler.contentCopies.lasting(content.digest) == nil)
    #expect(world.brokenInvariant == nil)
  }

  /// The copy does not come to one store, and comes to the next.
  @Test func theNextStoreIsTried() throws {
    var (world, content) = try Self.world(["a", "b", "c"])
    _ = Self.bring(content, ["a"], &world)
    world.tick(after: .milliseconds(10))
    let first = try #require(world.workers.indices.first { world.workers[$0].copies == [content] })
    world.workers[first].lost = [content.digest]
    world.report(first)
    for _ in 0..<10 {
      for at in world.workers.indices { world.report(at) }
      world.tick(after: .seconds(1))
    }
    let second = try #require([1, 2].first { $0 != first })
    #expect(world.workers[second].copies == [content])
  }

  /// No store takes it, since a client named another size: nothing is kept of it.
  @Test func aWrongSizeLeavesNothing() throws {
    var (world, content) = try Self.world(["a", "b"])
    let claimed = StoredContent(digest: content.digest, size: .max)
    _ = Self.bring(claimed, ["a"], &world)
    world.tick(after: .milliseconds(10))
    #expect(world.workers[1].copies == [claimed])
    world.workers[1].lost = [content.digest]
    world.report(1)
    for _ in 0..<20 {
      for at in world.workers.indices { world.report(at) }
      world.tick(after: .seconds(1))
    }
    #expect(world.workers[1].copies == [claimed])
    #expect(world.scheduler.contentCopies.lasting(content.digest) == nil)
    #expect(world.scheduler.contentCopies.isEmpty)
    #expect(world.brokenInvariant == nil)
  }

  /// Clients have a bound of their own, and take no place of results that outlive their graphs.
  @Test func clientsHaveABoundOfTheirOwn() throws {
    func content(_ number: Int) throws -> StoredContent {
      let bytes = (0..<ContentDigest.byteCount).map { at in
        UInt8(truncatingIfNeeded: number >> (at * 8))
      }
      return StoredContent(digest: try #require(ContentDigest(bytes: bytes)), size: 1)
    }
    var copies = ContentCopies()
    var areBegun: [Bool] = []
    for number in 0..<Limits.broughtContents {
      areBegun.append(copies.bring(try content(number), copies: 2, .zero))
    }
    #expect(areBegun.allSatisfy { $0 })
    let further = try content(Limits.broughtContents)
    let isFurtherBegun = copies.bring(further, copies: 2, .zero)
    // What is brought already is asked for again.
    let isAsked = copies.bring(try content(0), copies: 3, .zero)
    #expect(!isFurtherBegun && isAsked)
    copies.last(further, copies: 2, isNeeded: false, .zero)
    #expect(copies.lasting(further.digest)?.copies == 2 && !copies.isBrought(further.digest))
    copies.forget(try content(0).digest)
    let isNextBegun = copies.bring(try content(Limits.broughtContents + 1), copies: 2, .zero)
    #expect(isNextBegun)
  }

  @Test func withoutAnotherStoreItIsSaid() throws {
    var (world, content) = try Self.world(["a"])
    guard case .refused(let refusal)? = Self.bring(content, ["a"], &world) else {
      Issue.record("it is brought")
      return
    }
    #expect(refusal.code == .workerUnavailable)
    #expect(refusal.message.contains("no other one has a store"))
    let unknown = try ContentTests.content(9)
    #expect(Self.bring(unknown, ["a"], &world) == .located([]))
  }

  /// A name that no worker has, and names without end, change nothing.
  @Test func foreignNamesAreNothing() throws {
    var (world, content) = try Self.world(["a", "b"])
    #expect(Self.bring(content, ["x", ""], &world) == Self.isThere("a", of: content))
  }
}
