// A local cluster in which nothing can go on sleeps: the alarm rings for a time that comes, never
// again and again for one that has passed.

import OpClusterModel
import OpClusterOperations
import Testing

@testable import OpClusterLocal

@Suite struct IdleTests {
  /// Rings the alarm as long as there is a deadline; how many times until there is none.
  private func rings(_ brains: inout Brains, from start: Instant) -> Int {
    var now = start
    for count in 0..<10 {
      guard let deadline = brains.output.deadline else { return count }
      now = max(now, deadline)
      brains.output.clear()
      brains.round([.wake], at: now, wall: .unknown)
    }
    return 10
  }

  @Test func nothingIsWokenForWhatHasPassed() {
    let start = Instant(nanoseconds: 1_000_000_000)
    var brains = Brains(types: [OperationRegistry.closureType], slots: 2, at: start)
    brains.round([.wake], at: start + .milliseconds(5), wall: .unknown)
    #expect(rings(&brains, from: start + .milliseconds(5)) <= 2)
    // Something is held in a queue.
    brains.output.clear()
    let later = start + .seconds(60)
    brains.round(
      [.request(.createQueue(QueueSettings(name: "q", isSuspended: true)), { _ in })], at: later,
      wall: .unknown)
    #expect(rings(&brains, from: later) <= 2)
    // Somebody only looks in.
    brains.output.clear()
    brains.round([.wake], at: later + .seconds(600), wall: .unknown)
    #expect(rings(&brains, from: later + .seconds(600)) == 0)
  }

  private func declaration(held: Bool = false) -> GraphSubmission {
    var graph = GraphSubmission(name: "declared")
    graph.isDeclaredOnly = !held
    var template = OperationTemplate(
      name: "one", work: .call(OperationRegistry.closureType))
    template.payload = Array("1".utf8)
    template.isHeld = held
    graph.templates = [template]
    return graph
  }

  @Test(
    "an idle cluster is not woken, whatever its first use was",
    arguments: ["declare", "start", "hold", "submit"])
  func firstUse(_ use: String) {
    let start = Instant(nanoseconds: 1_000_000_000)
    var brains = Brains(types: [OperationRegistry.closureType], slots: 2, at: start)
    let graph = declaration(held: use == "hold")
    var now = start + .milliseconds(5)
    brains.round([.request(.submit(graph), { _ in })], at: now, wall: .unknown)
    let operation = OperationID(graph: GraphID(1), index: 0)
    if use == "start" || use == "submit" {
      now = now + .milliseconds(5)
      brains.output.clear()
      let arrival: Arrival =
        use == "start"
        ? .start(operation, { _ in })
        : .request(.enqueue([operation], queue: "default"), { _ in })
      brains.round([arrival], at: now, wall: .unknown)
    }
    // It runs, or waits.
    #expect(rings(&brains, from: now) <= 2)
    let attempts = brains.output.deeds.compactMap { deed -> AttemptID? in
      if case .launch(let launch) = deed { launch.attempt } else { nil }
    }
    for attempt in attempts + brains.byHand.running.keys.sorted() {
      now = now + .seconds(3)
      brains.output.clear()
      brains.round([.ended(attempt, .success)], at: now, wall: .unknown)
    }
    #expect(rings(&brains, from: now + .seconds(60)) <= 2)
    brains.output.clear()
    brains.round([.close({})], at: now + .seconds(90), wall: .unknown)
    #expect(rings(&brains, from: now + .seconds(100)) <= 2)
  }
}
