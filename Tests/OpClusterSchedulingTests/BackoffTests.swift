// How long the next attempt waits, with numbers at the ends of their types, live and at replay
// (G4, G33).

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
}
