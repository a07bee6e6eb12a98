// Workers that are lost before they could say what they had started.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct SilentStarts {
  // An operation whose first act is to kill its worker is given up after five of them.
  @Test(.checks("G17", "F10")) func whatKillsItsWorkerSilentlyIsCounted() {
    var world = World()
    var poison = graph(["poison"])
    poison.templates[0].maximumLosses = 5
    world.ask(.submit(poison))
    for life in 1...5 {
      world.join("w\(life)")
      #expect(world.endings.isEmpty)
      for _ in 0..<20 { world.tick(after: .seconds(1)) }
    }
    #expect(world.endings.first?.outcomes == [Outcome.lost.rawValue])
    #expect(world.brokenInvariant == nil)
  }

  // What must not run twice is lost with its worker, started or not.
  @Test(.checks("S12")) func whatMustNotRunTwiceIsNotRepeated() {
    var world = World()
    var once = graph(["once"])
    once.templates[0].maximumLosses = 0
    world.ask(.submit(once))
    world.join("w1")
    for _ in 0..<20 { world.tick(after: .seconds(1)) }
    #expect(world.endings.first?.outcomes == [Outcome.lost.rawValue])
    #expect(world.kinds(1, 0).contains(.attemptStarted(1, WorkerID(1))))
  }

  // What only stood in the lost worker's line is not to blame.
  @Test(.checks("S12", "G17")) func whatHadNoRoomIsNotCounted() {
    var world = World()
    var many = GraphSubmission(name: "many")
    many.templates = [noops("many", 600)]
    many.templates[0].maximumLosses = 1
    world.ask(.submit(many))
    world.join("w1", cpus: 1)
    for _ in 0..<4 {
      world.now = world.now + .milliseconds(1)
      for dispatch in world.workers[0].assigned { world.start(0, dispatch.attempt.operation) }
      for attempt in world.workers[0].executing { world.end(0, attempt.operation) }
      world.report(0)
    }
    #expect(world.workers[0].assigned.count > 2)
    for _ in 0..<20 { world.tick(after: .seconds(1)) }
    world.join("w2")
    world.runAll()
    #expect(world.endings.first?.row.counts[.lost] == 1)
    #expect(world.brokenInvariant == nil)
  }
}
