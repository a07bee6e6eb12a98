// A state that was restored from a snapshot goes on exactly as the one that it was taken from:
// what became of the past in another order must not show later (G4).

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct RestoredOrder {
  /// The state of `world` by way of a snapshot.
  private func restored(_ world: World) -> Scheduler {
    var fresh = Scheduler()
    fresh.restore(world.scheduler.snapshot(), commit: world.scheduler.lastCommit)
    return fresh
  }

  /// Both states after the same request.
  private func expectSame(_ world: World, after request: ClientRequest) {
    var (live, again) = (world.scheduler, restored(world))
    var turn = SchedulingTurn()
    for state in [0, 1] {
      turn.begin(at: world.now, wall: .unknown)
      let input = Input.client(PeerID(1), RequestID(1), request)
      if state == 0 {
        live.handle(input, into: &turn)
        live.close(&turn)
      } else {
        again.handle(input, into: &turn)
        again.close(&turn)
      }
    }
    #expect(live.snapshot() == again.snapshot())
    #expect(live.lastEvent == again.lastEvent)
  }

  // X waits for both; whichever ends first is its reason.
  @Test(.checks("G4")) func cancelledMembersEndInOneOrder() {
    var world = World()
    world.ask(.changeQueue("default", QueueChange(isSuspended: true)))
    var submission = graph(["a", "b", "x", "rest"], [("a", "x"), ("b", "x")])
    submission.templates[3].isHeld = true
    world.ask(.submit(submission))
    for index in [UInt32(1), 0] {
      world.ask(.cancel(.operations([operation(1, index)]), reason: "", grace: nil))
    }
    expectSame(world, after: .changeQueue("default", QueueChange(isSuspended: false)))
  }

  // Y waits for both; the one that ends first is its reason, in whatever order the edges
  // were given.
  @Test(.checks("G4")) func dependentsEndInOneOrder() {
    var world = World()
    var submission = graph(["a", "b", "c", "y"])
    submission.elementEdges = ElementEdges(
      from: [0, 0, 1, 2], to: [2, 1, 3, 3], policies: [.succeeded])
    submission.templates.append(noops("rest", 1))
    submission.templates[4].isHeld = true
    world.ask(.submit(submission))
    expectSame(
      world, after: .cancel(.operations([operation(1, 0)]), reason: "", grace: nil))
  }

  // The same where the edges were added later, and lead to other graphs.
  @Test(.checks("G4")) func dependentsElsewhereEndInOneOrder() {
    var world = World()
    var first = graph(["a", "rest"])
    first.templates[1].isHeld = true
    world.ask(.submit(first))
    world.ask(.submit(graph(["b", "c", "y"], [("b", "y"), ("c", "y")])))
    for index in [UInt32(1), 0] {
      world.ask(
        .addDependency(from: operation(1, 0), to: operation(2, index), .succeeded))
    }
    expectSame(
      world, after: .cancel(.operations([operation(1, 0)]), reason: "", grace: nil))
  }

  // Its own number is lower than that of what it has come to wait for.
  @Test(.checks("S77", "G4")) func aMovedBarrierStillWaits() {
    var world = World()
    world.ask(.createQueue(QueueSettings(name: "other")))
    var submission = graph(["barrier", "a"])
    submission.templates[0].isBarrier = true
    submission.templates[0].queue = 1
    submission.queues = [.named("default"), .named("other")]
    world.ask(.submit(submission))
    #expect(world.cell(1, 0)?.phase == .ready)
    world.ask(.setQueue(.operations([operation(1, 0)]), queue: "default"))
    #expect(world.cell(1, 0)?.phase == .waiting)
    let again = restored(world)
    #expect(again.graphs[1].cell(0).phase == .waiting)
    #expect(again.snapshot() == world.scheduler.snapshot())
    expectSame(world, after: .cancel(.operations([operation(1, 1)]), reason: "", grace: nil))
  }

  // All that it had was moved away, and then it was removed.
  @Test(.checks("S5", "G4")) func aQueueThatIsGoneIsRestoredAsNone() {
    var world = World()
    world.ask(.createQueue(QueueSettings(name: "other")))
    var submission = graph(["first"])
    submission.templates.append(noops("x", 3))
    submission.groupEdges = [GroupEdge(from: 0, to: 1, policy: .succeeded)]
    submission.queues = [.named("other")]
    world.ask(.submit(submission))
    world.ask(.setQueue(.selection(.graph(GraphID(1))), queue: "default"))
    guard case .done = world.ask(.removeQueue("other")) else {
      Issue.record("the queue is empty and was not removed")
      return
    }
    #expect(restored(world).snapshot() == world.scheduler.snapshot())
    #expect(restored(world).brokenInvariant() == nil)
    world.join("w1")
    world.runAll()
    #expect(world.endings.count == 1)
    #expect(world.brokenInvariant == nil)
  }

  // Graphs start, end, come and are cancelled while the state of an earlier turn is copied.
  @Test(.checks("G4")) func anImageIsOfOneMoment() {
    var world = World()
    world.join("a")
    for at in 0..<600 {
      var submission = graph(["x", "y"], [("x", "y")])
      submission.templates[0].isHeld = at % 3 == 0
      world.ask(.submit(submission))
    }
    let before = world.scheduler.snapshot()
    world.scheduler.beginImage()
    var image: ClusterImage?
    var turns: UInt32 = 0
    while image == nil {
      turns += 1
      for dispatch in world.workers[0].assigned {
        world.start(0, dispatch.attempt.operation)
        world.end(0, dispatch.attempt.operation)
      }
      world.report(0)
      let cancelled = Selection.graph(GraphID(turns * 3 + 300))
      world.ask(.cancel(.selection(cancelled), reason: "", grace: nil))
      world.ask(.submit(graph(["new"])))
      image = world.scheduler.continueImage()
    }
    #expect(turns > 1)
    #expect(image?.records == before)
    #expect(world.scheduler.snapshot() != before)
    #expect(world.scheduler.continueImage() == nil)
  }
}
