// The simplest graphs, from submission to the end, with every turn's invariants checked.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct FirstSteps {
  // S9 S106 S109 S114
  @Test(.checks("S9", "S106", "S109")) func oneOperationRunsAndItsEventsComeInOrder() {
    var world = World()
    world.join("w1")
    let reply = world.ask(.submit(graph(["a"])))
    #expect(reply == .accepted(GraphID(1), operations: 1, repeated: false))
    world.runAll()
    #expect(world.brokenInvariant == nil)
    #expect(
      world.kinds(1, 0) == [
        .isReady(true), .attemptStarted(1, WorkerID(1)), .isExecuting(true),
        .isExecuting(false), .isFinished(.succeeded), .completion,
      ])
    #expect(world.endings.map(\.row.state) == [.succeeded])
    #expect(world.events.map(\.sequence) == Array(1...UInt64(world.events.count)))
  }

  //   a → b, a → c, b → d, c → d
  @Test(.checks("S20", "S21", "S114")) func diamond() {
    var world = World()
    world.join("w1")
    world.join("w2")
    world.ask(
      .submit(graph(["a", "b", "c", "d"], [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])))
    world.runAll()
    #expect(world.brokenInvariant == nil)
    #expect(world.endings.count == 1)
    let began = world.events.filter { $0.kind == .isExecuting(true) }.compactMap { event in
      if case .operation(let id, _) = event.subject { return id.index }
      return nil
    }
    #expect(began.first == 0 && began.last == 3 && began.sorted() == [0, 1, 2, 3], "\(began)")
    // Ready when what it waited for has ended, and not before (S21, S114).
    for (on, waiting) in [(0, 1), (0, 2), (1, 3), (2, 3)] as [(UInt32, UInt32)] {
      func sequence(_ index: UInt32, _ kind: Event.Kind) -> UInt64? {
        world.events.first { event in
          if case .operation(let id, _) = event.subject {
            return id.index == index && event.kind == kind
          }
          return false
        }?.sequence
      }
      let end = sequence(on, .isFinished(.succeeded))
      let ready = sequence(waiting, .isReady(true))
      #expect(end != nil && ready != nil && end! < ready!)
    }
  }

  // An array that waits costs its stage and nothing else; when it is ready, one run.
  @Test(.checks("W6")) func aLargeArrayMaterialisesOnlyWhatIsTouched() {
    var world = World()
    world.invariantChecks = .never
    var submission = GraphSubmission(name: "large")
    submission.templates = [noops("first"), noops("many", 5_000)]
    submission.groupEdges = [GroupEdge(from: 0, to: 1, policy: .succeeded)]
    world.ask(.submit(submission))
    #expect(world.scheduler.graphs[1].cells.cellCount == 0)
    world.join("w1", cpus: 4)
    world.start(0, operation(1, 0))
    world.end(0, operation(1, 0))
    world.report(0)
    #expect(world.workers[0].assigned.count >= 4)
    #expect(world.scheduler.graphs[1].cells.cellCount <= 3 * 256)
    world.runAll()
    #expect(world.endings.first?.row.counts[.succeeded] == 5_001)
    #expect(world.scheduler.brokenInvariant() == nil)
  }

  // S22 S23
  @Test(.checks("S22", "S23")) func aFailureSkipsWhatNeededItsSuccess() {
    var world = World()
    world.join("w1")
    world.ask(.submit(graph(["a", "b", "c"], [("a", "b"), ("b", "c")])))
    world.runAll { $0.index == 0 ? .failure() : .success }
    #expect(world.brokenInvariant == nil)
    #expect(world.endings.first?.outcomes == [2, 5, 5])
    #expect(!world.kinds(1, 1).contains(.isExecuting(true)))
  }

  // S4
  @Test(.checks("S4")) func aJoinPointNeedsNoWorker() {
    var world = World()
    var submission = graph(["a", "b"], [("a", "b")])
    submission.templates[0].work = .nothing
    submission.templates[1].work = .nothing
    world.ask(.submit(submission))
    #expect(world.endings.count == 1)
    #expect(world.kinds(1, 1).contains(.isExecuting(true)))
    #expect(world.brokenInvariant == nil)
  }
}
