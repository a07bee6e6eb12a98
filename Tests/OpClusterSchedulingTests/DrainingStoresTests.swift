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
