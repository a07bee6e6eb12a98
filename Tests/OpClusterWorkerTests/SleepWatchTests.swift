// A machine that slept (G16): the clock that goes on meanwhile runs ahead of the loop's.

import Synchronization
import Testing

@testable import OpClusterWorker

@Suite struct SleepWatchTests {
  /// Two clocks in the test's hand.
  private final class Clocks: Sendable {
    private let state = Mutex((sleepless: Int64(900), own: Int64(400)))

    var now: (sleepless: Int64, own: Int64) { state.withLock { $0 } }
    func pass(_ nanoseconds: Int64, asleep: Int64 = 0) {
      state.withLock {
        $0.own += nanoseconds
        $0.sleepless += nanoseconds + asleep
      }
    }
  }

  @Test func sleepIsNoticedOnceEach() {
    let clocks = Clocks()
    var watch = SleepWatch { clocks.now }
    var slept = false
    #expect(watch.ahead == 500)
    clocks.pass(10_000_000_000)
    slept = watch.noticeSleep()
    #expect(!slept, "awake, however long")
    // The time between two looks at two clocks is no sleep.
    clocks.pass(1_000, asleep: 500_000_000)
    slept = watch.noticeSleep()
    #expect(!slept)
    clocks.pass(1_000, asleep: 500_000_001)
    slept = watch.noticeSleep()
    #expect(slept)
    slept = watch.noticeSleep()
    #expect(!slept)
    #expect(watch.ahead == 1_000_000_501, "the lease is counted by the sleepless clock")
    clocks.pass(0, asleep: 3_600_000_000_000)
    slept = watch.noticeSleep()
    #expect(slept)
  }

  // A look that was held up between the clocks finds them nearer; that shortens no later sleep.
  @Test func aSmallerDifferenceIsNoSleep() {
    let clocks = Clocks()
    var watch = SleepWatch { clocks.now }
    var slept = false
    clocks.pass(1_000, asleep: -100)
    slept = watch.noticeSleep()
    #expect(!slept)
    #expect(watch.ahead == 500)
  }

  // This machine's clocks: nothing slept while the test ran.
  @Test func theRealClocks() {
    var watch = SleepWatch()
    var slept = true
    slept = watch.noticeSleep()
    #expect(!slept)
    #expect(watch.ahead >= -1_000_000_000)
  }
}
