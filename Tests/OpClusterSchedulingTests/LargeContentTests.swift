// Large contents that many read: who has one is told to some of the others, and no holder is told
// to all.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite(.checks("S137", "S140")) struct LargeContentTests {
  private static let readers: UInt32 = 9

  /// A success whose output names a content of any size.
  private static func result(_ content: StoredContent) -> AttemptResult {
    var size: [UInt8] = []
    var rest = UInt64(content.size)
    while rest > 127 {
      size.append(UInt8(rest & 127) | 128)
      rest >>= 7
    }
    size.append(UInt8(rest))
    var result = AttemptResult.success
    result.output =
      [5 << 3 | 2, UInt8(35 + size.count), 1 << 3 | 2, 32] + content.digest.bytes + [2 << 3] + size
    return result
  }

  /// `make` has ended at worker 0, and an element of `read` waits for it at each of the others.
  private static func world(_ content: StoredContent) -> World {
    let names = ["a"] + (1...readers).map { "r\($0)" }
    var world = ContentTests.world(names)
    var graph = ContentTests.submission(readers: readers)
    graph.templates[1].requirements = [
      LabelRequirement(key: "worker", values: Array(names.dropFirst()))
    ]
    graph.templates[1].demand = Resources(cpus: ResourceAmount(2))
    world.ask(.submit(graph))
    world.start(0, operation(1, 0))
    world.end(0, operation(1, 0), result(content))
    world.workers[0].held = [content]
    world.report(0)
    return world
  }

  private static func source(_ at: Int) -> ContentSource { ContentTests.source("r\(at)") }

  /// The readers that were told of a holder.
  private static func told(of at: Int, _ world: World) -> [Int] {
    world.workers.indices.filter { reader in
      world.workers[reader].holders.contains { $0.sources == [source(at)] }
    }
  }

  @Test func someOthersAreToldOfEachNewHolder() throws {
    let content = try ContentTests.content(1, size: Limits.largeContentBytes)
    var world = Self.world(content)
    #expect(world.workers.dropFirst().allSatisfy { $0.holders.count == 1 })
    #expect(world.scheduler.largeContentReaders.count == Int(Self.readers))
    world.workers[4].held = [content]
    world.report(4)
    let first = Self.told(of: 4, world)
    #expect(first.count == Limits.readersOfLargeContent && !first.contains(4))
    let keys = first.map { ContentTests.source("r\($0)").key }
    #expect(Set(world.workers[4].grants.map(\.reader)) == Set(keys))
    world.workers[5].held = [content]
    world.report(5)
    let second = Self.told(of: 5, world)
    #expect(second.count == Limits.readersOfLargeContent, "others have their turn")
    #expect(Set(first).isDisjoint(with: second))
    // Of those that have it, or are gone, none is told.
    for at in 6...Int(Self.readers) {
      world.workers[at].held = [content]
      world.report(at)
    }
    world.input(.gone(world.workers[1].peer))
    let before = world.workers[1].holders.count
    world.workers[2].held = [content]
    world.report(2)
    #expect(world.workers[1].holders.count == before)
    #expect(Self.told(of: 2, world) == [3])
    #expect(world.brokenInvariant == nil)
  }

  @Test func smallOnesAreNotFollowed() throws {
    let content = try ContentTests.content(1, size: Limits.largeContentBytes - 1)
    var world = Self.world(content)
    world.workers[4].held = [content]
    world.report(4)
    #expect(Self.told(of: 4, world) == [] && world.scheduler.largeContentReaders.count == 0)
  }

  /// What nobody needs any more is forgotten, whoever has not got it.
  @Test func theEndOfTheGraphForgetsThem() throws {
    var world = Self.world(try ContentTests.content(1, size: Limits.largeContentBytes))
    world.runAll()
    #expect(world.scheduler.graphs.numbers.isEmpty)
    #expect(world.scheduler.largeContentReaders.count == 0)
  }

  /// Many readers of what many have begin at different holders.
  @Test func readersBeginAtDifferentHolders() throws {
    let content = try ContentTests.content(1)
    var index = HolderIndex()
    for worker in 1...5 as ClosedRange<UInt32> { _ = index.gain(content.digest, at: worker) }
    var turns = (0..<10).map { _ in index.takeTurn(of: content.digest) }
    #expect(turns == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4])
    index.lose(content.digest, at: 2)
    turns = (0..<8).map { _ in index.takeTurn(of: content.digest) }
    #expect(Set(turns) == [0, 1, 2, 3])
    let ofNone = index.takeTurn(of: try ContentTests.content(2).digest)
    #expect(ofNone == 0)
  }

  @Test(.checks("G29")) func theirNumberIsBounded() throws {
    var readers = LargeContentReaders(most: 3)
    let (one, other) = (try ContentTests.content(1).digest, try ContentTests.content(2).digest)
    for worker in [1, 2, 1] as [UInt32] { readers.enterLine(worker, for: one) }
    for worker in [1, 2] as [UInt32] { readers.enterLine(worker, for: other) }
    #expect(readers.count == 3 && readers.isConsistent)
    let next = (readers.takeNext(for: one), readers.takeNext(for: one), readers.takeNext(for: one))
    #expect(next == (1, 2, nil))
    readers.endLine(for: other)
    #expect(readers.count == 0 && readers.isConsistent)
    #expect(LargeContentReaders().most == Limits.readersToBeTold)
  }
}
