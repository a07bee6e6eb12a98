// Whole worlds of a coordinator, a relay and machines, with and without trouble: everything ends,
// nothing exclusive runs twice at once, and all sums add up after each event.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterRack

@Suite struct RackWorldTests {
  private func graph(_ chance: inout Seeded) -> GraphSubmission {
    var graph = GraphSubmission(name: "g")
    for at in 0..<(1 + chance.below(4)) {
      var template = OperationTemplate(
        name: "t\(at)", count: UInt32(1 + chance.below(8)), work: .call(RackWorld.type))
      template.isArray = true
      template.demand = Resources(cpus: ResourceAmount(Int64(chance.below(4))))
      template.maximumLosses = 1_000
      template.isExclusive = chance.percent(20)
      template.retry.maximum = UInt32(chance.below(3))
      graph.templates.append(template)
      if at > 0, chance.percent(60) {
        graph.groupEdges.append(
          GroupEdge(from: UInt32(at - 1), to: UInt32(at), policy: .finished, match: .all))
      }
    }
    return graph
  }

  // A calm world: each operation starts once, on some machine.
  @Test(arguments: 0..<8) func aCalmRack(seed: UInt64) {
    let world = RackWorld(seed: seed)
    for cpus: Int64 in [2, 4, 4] { world.addNode(cpus: cpus) }
    world.run(for: .seconds(5))
    #expect(world.workerRows.map(\.capacity.cpus) == [ResourceAmount(10)], "seed \(seed)")
    var operations = 0
    for _ in 0..<5 {
      var graph = graph(&world.chance)
      for at in graph.templates.indices { graph.templates[at].retry.maximum = 0 }
      operations += graph.operationCount
      #expect(world.submit(graph) != nil, "seed \(seed)")
    }
    world.run(for: .seconds(600)) { $0.living == 0 }
    #expect(world.living == 0, "seed \(seed)")
    #expect(world.starts.count == operations, "seed \(seed)")
    #expect(world.starts.values.allSatisfy { $0 == 1 }, "seed \(seed)")
    #expect(world.problems == [], "seed \(seed)")
  }

  // Connections break, machines die and leave, the relay dies or is cut off: all ends in spite of
  // that, once the trouble is over.
  @Test(.checks("G13", "G16"), arguments: 0..<20) func aTroubledRack(seed: UInt64) {
    let world = RackWorld(seed: seed)
    for _ in 0..<3 { world.addNode(cpus: Int64(3 + world.chance.below(4))) }
    if world.chance.percent(50) { world.addNode(cpus: 3, isDirect: true) }
    world.run(for: .seconds(4))
    for _ in 0..<30 {
      if world.chance.percent(50) { _ = world.submit(graph(&world.chance)) }
      trouble(world)
      world.run(for: .milliseconds(Int64(50 + world.chance.below(3_000))))
    }
    world.isRelayCutOff = false
    for at in world.nodes.indices {
      world.setCutOff(false, ofNode: at)
      if !world.nodes[at].isUp { world.restartNode(at) }
    }
    world.run(for: .seconds(900)) { $0.living == 0 }
    #expect(world.living == 0, "seed \(seed)")
    #expect(world.problems == [], "seed \(seed)")
  }

  // The relay loses the coordinator, and then its machine, which has found it once more in between:
  // what may not run twice at once has ended there before the coordinator gives it to another.
  @Test(.checks("G16"), arguments: 0..<12) func aLeaseEndsWithTheRelays(seed: UInt64) {
    let world = RackWorld(seed: seed)
    world.longestRun = .seconds(1_000)
    world.addNode(cpus: 2)
    world.run(for: .seconds(4))
    var template = OperationTemplate(name: "once", work: .call(RackWorld.type))
    template.isExclusive = true
    template.maximumLosses = 1_000
    var graph = GraphSubmission(name: "g")
    graph.templates = [template]
    #expect(world.submit(graph) != nil)
    world.run(for: .seconds(3))
    #expect(world.starts.count == 1)
    world.addNode(cpus: 2, isDirect: true)
    world.run(for: .milliseconds(Int64(world.chance.below(2_000))))
    world.isRelayCutOff = true
    world.breakUpLine()
    world.run(for: .milliseconds(Int64(1 + world.chance.below(10_000))))
    world.breakLine(ofNode: 0)
    world.run(for: .milliseconds(Int64(1 + world.chance.below(1_500))))
    world.setCutOff(true, ofNode: 0)
    world.breakLine(ofNode: 0)
    world.run(for: .seconds(60))
    #expect(world.problems == [], "seed \(seed)")
    #expect(world.starts.values.first == 2, "seed \(seed): the other worker has got it")
  }

  // A relay that stands still for long is given up; its machines are not given up by it.
  @Test(.checks("S147"), arguments: 0..<4) func aPauseIsNoSilenceOfMachines(seed: UInt64) {
    let world = RackWorld(seed: seed)
    for _ in 0..<2 { world.addNode(cpus: 2) }
    world.run(for: .seconds(4))
    #expect(world.rack.machineCount == 2)
    world.pauseRelay(for: .seconds(60))
    #expect(world.workerRows.isEmpty)
    world.run(for: .milliseconds(20))
    #expect(world.rack.machineCount == 2)
    var graph = graph(&world.chance)
    for at in graph.templates.indices {
      graph.templates[at].retry.maximum = 9
      graph.templates[at].demand.cpus = ResourceAmount(1)
    }
    #expect(world.submit(graph) != nil)
    world.run(for: .seconds(600)) { $0.living == 0 }
    #expect(world.living == 0, "seed \(seed)")
    #expect(world.starts.count == graph.operationCount, "seed \(seed)")
    #expect(world.problems == [], "seed \(seed)")
  }

  // A relay has a bound, and says so to the machine that is one too many.
  @Test(.checks("G27")) func machinesAreBounded() {
    let world = RackWorld(seed: 1)
    world.addNode(cpus: 1)
    world.run(for: .seconds(2))
    for number in 1..<UInt64(Limits.machinesPerRelay) { world.greet(number) }
    #expect(world.rack.machineCount == Limits.machinesPerRelay)
    #expect(world.greet(0)?.code == .limitExceeded)
    #expect(world.problems == [])
  }

  // Who says hello again and again while the coordinator is away waits once.
  @Test(.checks("G29")) func aHelloWaitsOnce() {
    let world = RackWorld(seed: 2)
    let peer = PeerID(77)
    let hello = WorkerHello(name: "x", session: WorkerSession(7), capacity: Resources())
    for _ in 0..<5 { world.applyRack(.machine(peer, .hello(hello))) }
    #expect(world.rack.pending.count == 1)
  }

  // The machine of a lately ended attempt is known, that of one long ago is not.
  @Test func endedAttemptsAreForgotten() {
    var logs = LogQuestions()
    func attempt(_ index: Int) -> AttemptID {
      AttemptID(operation: OperationID(graph: GraphID(1), index: UInt32(index)), attempt: 1)
    }
    for index in 0...Limits.endedAttemptsPerRelay {
      logs.note(attempt(index), at: WorkerSession(3))
    }
    #expect(logs.holder(of: attempt(0)) == nil)
    #expect(logs.holder(of: attempt(1)) == WorkerSession(3))
    #expect(logs.holder(of: attempt(Limits.endedAttemptsPerRelay)) == WorkerSession(3))
  }

  private func trouble(_ world: RackWorld) {
    let at = world.chance.below(world.nodes.count)
    switch world.chance.below(16) {
    case 9: world.pauseRelay(for: .seconds(Int64(1 + world.chance.below(30))))
    case 0: world.breakUpLine()
    case 1: world.breakLine(ofNode: at)
    case 2: world.restartNode(at)
    case 3: world.stopNode(at)
    case 4: if world.nodes[at].isUp { world.leaveNode(at) }
    case 5: world.restartRelay()
    case 6:
      world.isRelayCutOff.toggle()
      if world.isRelayCutOff { world.breakUpLine() }
    case 7:
      world.setCutOff(!world.nodes[at].isCutOff, ofNode: at)
      if world.nodes[at].isCutOff { world.breakLine(ofNode: at) }
    case 8:
      world.ask(
        .cancel(.selection(Selection(graphs: .active)), reason: "", grace: .milliseconds(300)))
    default: break
    }
  }
}
