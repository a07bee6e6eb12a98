// What a person sees while the coordinator is busy: what, why, and when it is asked again (G27).

import OpClusterModel
import Synchronization
import Testing

@testable import opbatch

@Suite struct BusyNoticeTests {
  private let refusal = Refusal(
    .busy, "key a\u{1B}[2Jb asks more than 10 requests a second", retryAfter: .milliseconds(400))

  @Test func saysWhatWhyAndWhen() {
    let line = BusyNotice.line(refusal, .milliseconds(449))
    #expect(line.hasPrefix("waiting: the coordinator is busy: key a"))
    #expect(line.hasSuffix("b asks more than 10 requests a second; asking again in 0.4 s"))
    #expect(!line.utf8.contains(0x1B))
    #expect(BusyNotice.line(refusal, .milliseconds(1)).hasSuffix("in 0.1 s"))
    #expect(BusyNotice.line(refusal, .seconds(12)).hasSuffix("in 12.0 s"))
  }

  @Test func saysThatTheDiskIsSlow() {
    let line = BusyNotice.line(diskWait: .milliseconds(12_340))
    #expect(line.hasPrefix("waiting: the coordinator has waited for its disk for 12.3 s"))
    let lines = Mutex<[String]>([])
    let notice = BusyNotice { line in lines.withLock { $0.append(line) } }
    let start = ContinuousClock.Instant.now
    notice.tell(diskWait: .seconds(2), at: start)
    notice.tell(diskWait: .seconds(4), at: start + .seconds(2))
    notice.tell(diskWait: .seconds(7), at: start + .seconds(5))
    #expect(lines.withLock(\.count) == 2)
  }

  /// One line at first, another one after some seconds, however often it has to wait.
  @Test func notTooOften() {
    let count = Atomic<Int>(0)
    let notice = BusyNotice { _ in count.add(1, ordering: .relaxed) }
    let start = ContinuousClock.Instant.now
    for step in 0..<49 {
      notice.tell(refusal, pause: .milliseconds(100), at: start + .milliseconds(step * 100))
    }
    #expect(count.load(ordering: .relaxed) == 1)
    notice.tell(refusal, pause: .milliseconds(100), at: start + .seconds(5))
    #expect(count.load(ordering: .relaxed) == 2)
  }
}
