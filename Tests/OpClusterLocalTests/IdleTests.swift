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
}
