// Parts of a graph that stop by themselves: groups and arrays with a failure policy of their own.

import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct FailureScopeTests {
  //  a b c d  (a, b, c in the scope) and e, an array outside
  private func world(
    _ scope: FailureScope, change: (inout GraphSubmission) -> Void = { _ in }
  ) -> (World, Int) {
    var world = World()
    let worker = world.join("w1")
    var submission = graph(["a", "b", "c", "d"])
    submission.failureScopes = [scope]
    change(&submission)
    world.ask(.submit(submission))
    return (world, worker)
  }

  private func outcomes(_ world: World) -> [Outcome?] {
    (0..<4).map { world.cell(1, $0)?.ending.outcome }
  }

  // The first failure starts nothing more of the part; what runs of it goes on, and so does the
  // rest.
  @Test func stopsThePart() {
    var (world, worker) = world(
      FailureScope(first: 0, count: 3, maximumFailures: 0, cancelsRunning: false))
    world.start(worker, operation(1, 0))
    world.start(worker, operation(1, 1))
    world.end(worker, operation(1, 0), .failure(1))
    world.report(worker)
    #expect(outcomes(world) == [.failed, nil, .cancelled, nil])
    #expect(world.workers[worker].cancels.isEmpty)
    #expect(world.scheduler.graphs[1].reasons[2] == .failurePolicy)
    #expect(!world.scheduler.graphs[1].failurePolicyTookEffect)
    #expect(world.replayed().snapshot() == world.scheduler.snapshot())
    #expect(world.brokenInvariant == nil)
  }

  // As many failures as are allowed stop nothing; one more cancels what runs. The count outlives
  // the coordinator.
  @Test func countsAndCancels() {
    var (world, worker) = world(
      FailureScope(first: 0, count: 3, maximumFailures: 1, cancelsRunning: true))
    world.start(worker, operation(1, 0))
    world.end(worker, operation(1, 0), .failure(1))
    world.report(worker)
    #expect(outcomes(world) == [.failed, nil, nil, nil])
    var restored = Scheduler()
    restored.restore(world.scheduler.snapshot(), commit: world.scheduler.lastCommit)
    #expect(restored.graphs[1].scopeFailures == [1])
    world.start(worker, operation(1, 1))
    world.start(worker, operation(1, 2))
    world.report(worker)
    world.end(worker, operation(1, 1), .failure(1))
    world.report(worker)
    #expect(world.workers[worker].cancels.map(\.operation) == [operation(1, 2)])
    #expect(outcomes(world)[3] == nil)
  }

  // The graph's own policy still takes effect after a part has stopped.
  @Test func theGraphStopsLater() {
    var (world, worker) = world(
      FailureScope(first: 0, count: 2, maximumFailures: 0, cancelsRunning: false)
    ) { $0.maximumFailures = 1 }
    world.start(worker, operation(1, 0))
    world.end(worker, operation(1, 0), .failure(1))
    world.report(worker)
    world.report(worker)
    #expect(outcomes(world) == [.failed, .cancelled, nil, nil])
    world.start(worker, operation(1, 2))
    world.end(worker, operation(1, 2), .failure(1))
    world.report(worker)
    world.report(worker)
    #expect(!world.scheduler.graphs.contains(1))
  }

  @Test func namesTemplatesThatExist() {
    var world = World()
    for scope in [
      FailureScope(first: 0, count: 0, maximumFailures: 0, cancelsRunning: false),
      FailureScope(first: 1, count: 1, maximumFailures: 0, cancelsRunning: false),
      FailureScope(first: .max, count: .max, maximumFailures: 0, cancelsRunning: false),
    ] {
      var submission = graph(["a"])
      submission.failureScopes = [scope]
      guard case .refused(let refusal) = world.ask(.submit(submission)) else {
        Issue.record("accepted")
        continue
      }
      #expect(refusal.code == .badRequest)
    }
    var submission = graph(["a"])
    let whole = FailureScope(first: 0, count: 1, maximumFailures: 0, cancelsRunning: false)
    submission.failureScopes = Array(repeating: whole, count: Limits.failureScopesPerGraph + 1)
    guard case .refused(let refusal) = world.ask(.submit(submission)) else {
      Issue.record("accepted")
      return
    }
    #expect(refusal.code == .limitExceeded)
  }
}
