// What a rack does when its machines differ, leave and are lost: nothing fails for that, nothing
// waits for ever, and nothing is passed over.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterRack

@Suite struct RackFairnessTests {
  private func world(_ seed: UInt64, cpus: [Int64]) -> RackWorld {
    let world = RackWorld(seed: seed)
    world.failures = 0
    for cpus in cpus { world.addNode(cpus: cpus) }
    world.run(for: .seconds(4))
    return world
  }

  /// So many operations that ask for so much, and one behind the success of all of them.
  private func graph(_ count: UInt32, cpus: Int64) -> GraphSubmission {
    var many = OperationTemplate(name: "many", count: count, work: .call(RackWorld.type))
    many.isArray = true
    many.demand.cpus = ResourceAmount(cpus)
    many.maximumLosses = 1_000
    let last = OperationTemplate(name: "last", work: .call(RackWorld.type))
    var graph = GraphSubmission(name: "g")
    graph.templates = [many, last]
    graph.groupEdges = [GroupEdge(from: 0, to: 1, policy: .succeeded, match: .all)]
    return graph
  }

  private func expectSuccess(
    of graph: GraphID?, _ count: UInt32, _ world: RackWorld, _ seed: UInt64
  ) {
    guard let graph else {
      Issue.record("seed \(seed): refused")
      return
    }
    world.run(for: .seconds(600)) { $0.living == 0 }
    #expect(world.living == 0, "seed \(seed)")
    #expect(world.starts[OperationID(graph: graph, index: count)] == 1, "seed \(seed)")
    #expect(world.problems == [], "seed \(seed)")
  }

  // The only machine that is large enough leaves, and comes back later.
  @Test(.checks("S148"), arguments: 0..<6) func theLargestLeaves(seed: UInt64) {
    let world = world(seed, cpus: [4, 2])
    let graph = world.submit(graph(12, cpus: 3))
    world.run(for: .milliseconds(Int64(500 + world.chance.below(3_000))))
    world.leaveNode(0)
    world.run(for: .seconds(Int64(1 + world.chance.below(20))))
    world.stopNode(0)
    world.restartNode(0)
    expectSuccess(of: graph, 12, world, seed)
  }

  // The only machine that is large enough is lost while something waits for it; another comes.
  @Test(.checks("S147"), arguments: 0..<6) func theLargestIsLost(seed: UInt64) {
    let world = world(seed, cpus: [4, 8])
    let graph = world.submit(graph(6, cpus: 5))
    world.run(for: .milliseconds(Int64(200 + world.chance.below(2_000))))
    world.stopNode(1)
    world.run(for: .seconds(40))
    world.addNode(cpus: 8)
    expectSuccess(of: graph, 6, world, seed)
  }

  // The connection of the only machine breaks again and again, with orders on their way.
  @Test(.checks("G13"), arguments: 0..<6) func theOnlyOneReturns(seed: UInt64) {
    let world = world(seed, cpus: [3])
    let graph = world.submit(graph(40, cpus: 1))
    for _ in 0..<30 {
      world.run(for: .milliseconds(Int64(1 + world.chance.below(400))))
      world.breakLine(ofNode: 0)
    }
    expectSuccess(of: graph, 40, world, seed)
  }

  // Small ones come one after the other; the large one that waits is not passed over by all.
  @Test(.checks("S47"), arguments: 0..<6) func aLargeOneIsNotPassedOver(seed: UInt64) {
    let world = world(seed, cpus: [4, 4])
    let small = world.submit(graph(300, cpus: 1))
    world.run(for: .seconds(3))
    var urgent = graph(1, cpus: 4)
    urgent.templates[0].priority = .high
    let large = world.submit(urgent)
    world.run(for: .seconds(20))
    let first = large.map { OperationID(graph: $0, index: 0) }
    #expect(first.map { world.starts[$0] } == 1, "seed \(seed)")
    expectSuccess(of: small, 300, world, seed)
  }

  // A machine without what the others have gets nothing that was chosen for that.
  @Test(.checks("S128"), arguments: 0..<4) func aPoorerMachineWaits(seed: UInt64) {
    let world = world(seed, cpus: [2])
    var labelled = graph(30, cpus: 1)
    labelled.templates[0].requirements = [LabelRequirement(key: "host", values: ["m0"])]
    let graph = world.submit(labelled)
    world.run(for: .seconds(1))
    world.addNode(cpus: 8)
    world.run(for: .seconds(30))
    #expect(world.nodes[1].running.isEmpty && world.startsAt[1] == nil, "seed \(seed)")
    world.stopNode(1)
    expectSuccess(of: graph, 30, world, seed)
  }

  // Times that leave little room for a lease: machines are welcomed all the same.
  @Test(.checks("G16"), arguments: 0..<4) func tightTimes(seed: UInt64) {
    var timing = Timing()
    timing.lost = .seconds(13)
    let world = RackWorld(seed: seed, timing: timing)
    #expect(timing.fencesInTime)
    world.run(for: .seconds(Int64(10 + world.chance.below(10))))
    world.addNode(cpus: 2)
    world.run(for: .seconds(10))
    #expect(world.rack.machineCount == 1, "seed \(seed)")
    #expect(world.problems == [], "seed \(seed)")
  }

  // More names than a worker may have: the machine that is too much is told, the rack goes on.
  @Test(.checks("G27")) func namesAreBounded() {
    let world = RackWorld(seed: 3)
    world.addNode(cpus: 1, resources: (0..<Limits.customResources).map { "a\($0)" })
    world.run(for: .seconds(4))
    world.addNode(cpus: 1, resources: ["b"])
    world.run(for: .seconds(8))
    #expect(world.rack.machineCount == 1)
    #expect(world.workerRows.map(\.capacity.custom.count) == [Limits.customResources])
  }
}
