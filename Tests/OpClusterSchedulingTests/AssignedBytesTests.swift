// What a worker holds unstarted, bounded in number and in bytes (G27): at each limit and past it.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite(.checks("G27")) struct AssignedBytesTests {
  private let inputs = Limits.outputBytes

  /// An operation with an output, and readers that need no capacity and bring it along.
  private func world(readers: UInt32) -> World {
    var graph = GraphSubmission(name: "wide")
    var reader = noops("reader", readers)
    reader.demand = .none
    reader.wantsInputs = true
    graph.templates = [noops("first"), reader]
    graph.groupEdges = [GroupEdge(from: 0, to: 1, policy: .succeeded)]
    var world = World()
    world.invariantChecks = .never
    world.join("w1")
    world.ask(.submit(graph))
    world.start(0, operation(1, 0))
    var result = AttemptResult.success
    result.output = Array(repeating: 1, count: inputs)
    world.end(0, operation(1, 0), result)
    world.report(0)
    return world
  }

  private func assignedBytes(_ world: World) -> Int {
    world.workers[0].assigned.reduce(0) { sum, dispatch in
      sum + dispatch.inputs.reduce(0) { $0 + ($1.output?.count ?? 0) }
    }
  }

  /// At the limit, one byte past it, and the one that always fits.
  @Test func assignedBytesPerWorker() {
    var worker = WorkerConversation.blank
    #expect(worker.hasRoom(for: Limits.assignedBytesPerWorker * 2))
    #expect(worker.count(fitting: Limits.assignedBytesPerWorker * 2) == 1)
    worker.note(Limits.assignedBytesPerWorker - 100, of: operation(1, 0))
    #expect(worker.hasRoom(for: 100) && !worker.hasRoom(for: 101))
    #expect(worker.count(fitting: 25) == 4 && worker.count(fitting: 0) == .max)
    worker.letGo(operation(1, 1))
    #expect(!worker.hasRoom(for: 101))
    worker.letGo(operation(1, 0))
    #expect(worker.assignedBytes == 0)
  }

  /// Readers that all fit into the worker's capacity are handed over as far as their inputs go;
  /// what has started makes room, and in the end all have run.
  @Test func inputsAreCounted() {
    var world = world(readers: 2_000)
    let bytes = assignedBytes(world)
    #expect(bytes <= Limits.assignedBytesPerWorker)
    #expect(bytes + Limits.inputBytes + inputs > Limits.assignedBytesPerWorker)
    let held = world.workers[0].assigned.count
    for dispatch in world.workers[0].assigned.prefix(10) {
      world.start(0, dispatch.attempt.operation)
    }
    world.report(0)
    #expect(world.workers[0].assigned.count == held)
    world.runAll()
    #expect(world.workers[0].started.count == 2_001)
    #expect(world.scheduler.brokenInvariant() == nil)
  }

  /// What comes back gives its bytes back as well.
  @Test func whatComesBackMakesRoom() {
    var world = world(readers: 2_000)
    world.ask(.cancel(.selection(.graph(GraphID(1))), reason: "", grace: nil))
    world.report(0)
    #expect(world.workers[0].assigned.isEmpty)
    #expect(world.scheduler.conversations[1].assignedBytes == 0)
    #expect(world.scheduler.brokenInvariant() == nil)
  }

  /// `Limits.inputBytes`: with so many an operation starts, with more it fails and says why.
  @Test func inputBytes() {
    let most = UInt32(Limits.inputBytes / inputs)
    for (count, fits) in [(most, true), (most + 1, false)] {
      var graph = GraphSubmission(name: "wide")
      var reader = noops("reader")
      reader.wantsInputs = true
      graph.templates = [noops("many", count), reader]
      graph.groupEdges = [GroupEdge(from: 0, to: 1, policy: .succeeded)]
      var world = World()
      world.join("w1", cpus: 100)
      world.ask(.submit(graph))
      var result = AttemptResult.success
      result.output = Array(repeating: 1, count: inputs)
      for index in 0..<count {
        world.start(0, operation(1, index))
        world.end(0, operation(1, index), result)
      }
      world.report(0)
      let isHeld = world.workers[0].assigned.contains {
        $0.attempt.operation == operation(1, count)
      }
      #expect(isHeld == fits)
      #expect(world.endings.first?.row.state == (fits ? nil : .failed))
    }
  }

  /// However fast a worker is.
  @Test func prefetchPerWorker() {
    var worker = WorkerConversation.blank
    for (count, most) in [
      (100_000, 1_000), (Limits.prefetchPerWorker * 100, Limits.prefetchPerWorker),
      (Limits.prefetchPerWorker * 100 + 100, Limits.prefetchPerWorker),
    ] {
      // A rate of so many a second.
      worker.rate = Double(count)
      #expect(worker.prefetch(at: worker.busySince) == most)
    }
  }

  /// With so many dependencies an operation goes ahead of time, with one more it waits.
  @Test func dependenciesForLocalUnblocking() {
    let most = Limits.dependenciesForLocalUnblocking
    for (count, goes) in [(most, true), (most + 1, false)] {
      var graph = GraphSubmission(name: "join")
      var many = noops("many", UInt32(count))
      many.demand = .none
      graph.templates = [many, noops("last")]
      graph.elementEdges = ElementEdges(
        from: (0..<UInt32(count)).map { $0 },
        to: Array(repeating: UInt32(count), count: count), policies: [.succeeded])
      var world = World()
      world.join("w1")
      // Fast enough to be given something ahead of time.
      world.scheduler.conversations[1].rate = 1_000_000
      world.ask(.submit(graph))
      let last = operation(1, UInt32(count))
      #expect(world.workers[0].assigned.contains { $0.attempt.operation == last } == goes)
    }
  }

  /// Dependencies that have ended count as well, since they are looked at for each that is
  /// dispatched: one of a million would cost a million with each of the last 64.
  @Test func endedDependenciesCount() {
    let most = UInt32(Limits.dependenciesForLocalUnblocking)
    for (count, goes) in [(most, true), (most + 1, false)] {
      var graph = GraphSubmission(name: "join")
      var many = noops("many", count - 1)
      many.demand = .none
      graph.templates = [noops("first"), many, noops("last")]
      graph.groupEdges = [GroupEdge(from: 0, to: 1, policy: .succeeded)]
      graph.elementEdges = ElementEdges(
        from: Array(0..<count), to: Array(repeating: count, count: Int(count)),
        policies: [.succeeded])
      var world = World()
      world.join("w1")
      world.scheduler.conversations[1].rate = 1_000_000
      world.ask(.submit(graph))
      let last = operation(1, count)
      #expect(!world.workers[0].assigned.contains { $0.attempt.operation == last })
      world.start(0, operation(1, 0))
      world.end(0, operation(1, 0))
      world.report(0)
      world.scheduler.conversations[1].rate = 1_000_000
      world.tick(after: .zero)
      let ids = Set(world.workers[0].assigned.map(\.attempt.operation))
      #expect(ids.contains(operation(1, count - 1)))
      #expect(ids.contains(last) == goes)
    }
  }
}
