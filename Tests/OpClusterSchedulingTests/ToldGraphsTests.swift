// What workers remember of graphs, and who is told of a graph's end (G29): both follow what was
// told, and neither the number of workers nor that of templates.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct ToldGraphs {
  private func forgotten(_ world: World) -> [PeerID: [GraphID]] {
    var found: [PeerID: [GraphID]] = [:]
    for effect in world.turn.afterDurable {
      guard case .toWorker(let peer, .orders(let orders)) = effect,
        !orders.forgottenGraphs.isEmpty
      else { continue }
      found[peer, default: []] += orders.forgottenGraphs
    }
    return found
  }

  // The end of a graph is told to the worker that knew it; nobody else is looked at.
  @Test(.checks("G29"), arguments: [2, 16, 128])
  func theEndIsToldToThoseWhoKnewTheGraph(count: Int) {
    var world = World()
    world.invariantChecks = .never
    for at in 0..<count { world.join("w\(at)") }
    world.ask(.submit(graph(["a"])))
    world.ask(.submit(graph(["b"])))
    #expect(world.scheduler.brokenInvariant() == nil)
    world.start(0, operation(1, 0))
    world.end(0, operation(1, 0))
    let before = world.scheduler.looks
    world.scheduler.forgetAtWorkers([GraphID(9)], into: &world.turn)
    #expect(world.scheduler.looks == before)
    world.report(0)
    #expect(forgotten(world) == [PeerID(100): [GraphID(1)]])
    #expect(world.scheduler.toldWorkers.count == 1)
    #expect(world.scheduler.brokenInvariant() == nil)
  }

  // A conversation that begins anew, and one that ends, forget what was told.
  @Test(.checks("G29")) func aNewConversationKnowsNothing() {
    var world = World()
    world.join("w1")
    world.join("w2")
    world.ask(.submit(graph(["a"])))
    world.ask(.submit(graph(["b"])))
    #expect(world.scheduler.toldWorkers.count == 2)
    world.input(.gone(world.workers[0].peer))
    world.workers[0].peer = PeerID(1_000)
    world.greet(0)
    #expect(world.scheduler.toldWorkers.count == 1)
    world.input(.worker(world.workers[1].peer, .goodbye(lastReport: 0)))
    // What it held goes to the first one.
    #expect(world.scheduler.toldWorkers.count == 1)
    world.runAll()
    #expect(world.scheduler.toldWorkers.count == 0)
    #expect(world.endings.count == 2 && world.brokenInvariant == nil)
  }

  // The memory of a worker that was told the last of many templates is that of one.
  @Test(.checks("G29"), arguments: [10, 100, 2_000])
  func aWorkerRemembersWhatItWasTold(count: Int) {
    var world = World()
    world.invariantChecks = .never
    var submission = graph((0..<count).map { "t\($0)" })
    for at in submission.templates.indices.dropLast() { submission.templates[at].isHeld = true }
    world.ask(.submit(submission))
    world.join("w1")
    #expect(world.workers[0].assigned.map(\.attempt.operation.index) == [UInt32(count - 1)])
    #expect(world.scheduler.conversations[1].toldTemplates[GraphID(1)]?.count == 1)
    #expect(world.scheduler.brokenInvariant() == nil)
  }
}
