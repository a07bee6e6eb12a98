// How long the next attempt waits, with numbers at the ends of their types, live and at replay
// (G4, G33), and what is left of the wait in the coordinator's next life (S150).

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct BackoffTests {
  private static let spans: [Span] = [
    Span(nanoseconds: .min), .zero, Span(nanoseconds: 1), .seconds(5), .longest,
    Span(nanoseconds: .max),
  ]

  /// No wait that can be asked for ends a coordinator, now or whenever it starts again.
  @Test(.checks("G4", "G33"), arguments: spans, spans) func noWaitIsTooLong(
    backoff: Span, maximum: Span
  ) {
    for percent: UInt32 in [0, 1, 100, 200, .max] {
      var world = World()
      let worker = world.join("w1")
      var template = noops("fails")
      template.retry = RetryPolicy(
        maximum: 100, backoff: backoff, backoffPercent: percent, maximumBackoff: maximum)
      template.timeout = .longest
      template.grace = .longest
      var submission = GraphSubmission(name: "g")
      submission.templates = [template]
      world.ask(.submit(submission))
      for _ in 0..<3 {
        world.start(worker, operation(1, 0))
        world.end(worker, operation(1, 0), .failure())
        world.report(worker)
        world.ask(.explain(Selection(graphs: .all)))
        world.ask(.operations(Selection(graphs: .all), after: nil, limit: 0))
        world.tick(after: .longest)
        world.greet(worker)
      }
      #expect(world.brokenInvariant == nil)
      #expect(world.replayed().snapshot() == world.scheduler.snapshot())
      #expect(world.cell(1, 0).map { $0.failures > 0 } == true)
    }
  }

  private func waiting() -> (World, Int) {
    var world = World()
    let worker = world.join("w1")
    var template = noops("fails")
    template.retry = RetryPolicy(maximum: 1, backoff: .seconds(100))
    var submission = GraphSubmission(name: "g")
    submission.templates = [template]
    world.ask(.submit(submission))
    world.start(worker, operation(1, 0))
    world.end(worker, operation(1, 0), .failure())
    world.report(worker)
    world.tick(after: .seconds(30))
    return (world, worker)
  }

  /// A life that begins from a snapshot knows the rest as well as one that begins from the facts.
  @Test(.checks("S150"), arguments: [false, true]) func theNextLifeWaitsForTheRest(
    fromSnapshot: Bool
  ) {
    var (world, worker) = waiting()
    if fromSnapshot {
      var next = Scheduler()
      next.restore(world.scheduler.snapshot(), commit: world.scheduler.lastCommit)
      world.scheduler = next
    } else {
      world.scheduler = world.replayed()
    }
    world.beginLife()
    world.greet(worker)
    world.tick(after: .seconds(69))
    world.greet(worker)
    #expect(world.workers[worker].assigned.isEmpty)
    world.tick(after: .seconds(1))
    #expect(world.workers[worker].assigned.map(\.attempt.operation) == [operation(1, 0)])
    #expect(world.brokenInvariant == nil)
  }

  /// The facts of earlier releases do not say when an attempt failed: its pause is over.
  @Test(.checks("S150")) func withoutAMomentThePauseIsOver() {
    var (world, worker) = waiting()
    for at in world.journal.indices {
      for position in world.journal[at].records.indices {
        if case .attemptFailed(let id, let result, _) = world.journal[at].records[position] {
          world.journal[at].records[position] = .attemptFailed(id, result, at: .unknown)
        }
      }
    }
    world.scheduler = world.replayed()
    world.beginLife()
    world.greet(worker)
    #expect(world.workers[worker].assigned.map(\.attempt.operation) == [operation(1, 0)])
  }
}
