// What the log hears of workers that are not let in.

import OpClusterModel
import Testing

@testable import OpClusterCoordinator

@Suite struct RefusedWorkersTests {
  private func moment(_ seconds: Int64) -> Instant { Instant(nanoseconds: 0) + .seconds(seconds) }

  // The second worker of a name tries every few seconds for hours.
  @Test func theSameIsToldOnceInTenMinutes() {
    var refused = RefusedWorkers()
    var lines = 0
    for second in 0..<1_800 as Range<Int64> where refused.noteRefusal("a", at: moment(second)) {
      lines += 1
    }
    let isOther = refused.noteRefusal("b", at: moment(1_800))
    #expect(lines == 3 && isOther)
  }

  // Somebody with a new name each time does not fill the log, and makes nobody else unheard for
  // ever.
  @Test func aFloodIsBounded() {
    var refused = RefusedWorkers()
    var lines = 0
    for number in 0..<Limits.refusedWorkersTold + 100
    where refused.noteRefusal("worker \(number)", at: moment(0)) {
      lines += 1
    }
    #expect(lines == Limits.refusedWorkersTold)
    let early = refused.noteRefusal("another", at: moment(599))
    let late = refused.noteRefusal("another", at: moment(600))
    #expect(!early && late)
  }
}
