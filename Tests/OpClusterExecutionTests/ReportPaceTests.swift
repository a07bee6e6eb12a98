// When a worker tells what it has: at once what somebody waits for, the rest after an interval.

import OpClusterExecution
import OpClusterModel
import Testing

@Suite struct ReportPaceTests {
  private let begin = Instant.zero + .seconds(1)

  // News after one millisecond: few, and many.
  @Test(arguments: [(0, 5), (15, 5), (16, 2), (1_000, 2)])
  func newsThatCanWait(ends: Int, milliseconds: Int64) {
    var pace = ReportPace(at: begin)
    for _ in 0..<ends { pace.noteEnd() }
    let due = begin + .milliseconds(milliseconds)
    let early = pace.maySpeak(canWait: true, at: begin + .milliseconds(1))
    #expect(!early && pace.speakAt == due)
    let justBefore = pace.maySpeak(canWait: true, at: due + Span(nanoseconds: -1))
    #expect(!justBefore && pace.speakAt == due)
    let intended = pace.maySpeak(canWait: true, at: due)
    #expect(intended)
    #expect(pace.speakAt == nil && pace.lastSpoken == due)
  }

  // What somebody waits for takes along what waited; then the count of ends begins anew.
  @Test func newsThatCannotWait() {
    var pace = ReportPace(at: begin)
    for _ in 0..<16 { pace.noteEnd() }
    let first = pace.maySpeak(canWait: true, at: begin)
    let second = pace.maySpeak(canWait: false, at: begin)
    #expect(!first && second && pace.speakAt == nil)
    let third = pace.maySpeak(canWait: true, at: begin + .milliseconds(4))
    #expect(!third && pace.speakAt == begin + .milliseconds(5))
  }
}
