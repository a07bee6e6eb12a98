// When a question is asked again: never more often than its cost allows, and no more often because
// it fails.

import Testing

@testable import OpClusterDashboard

@Suite struct SharedAnswerTests {
  private struct Failure: Error {}

  /// Counts how often viewers who ask every `pause` make a question of this cost be asked.
  private func asked(
    cost: Duration, failing: Bool, for time: Duration, every pause: Duration
  ) -> Int {
    let begin = ContinuousClock.now
    var (now, count) = (begin, 0)
    var shared = SharedAnswer<Int>(leastAge: .milliseconds(900))
    while now - begin < time {
      if shared.current(at: now) == nil {
        count += 1
        shared.take(
          failing ? .failure(Failure()) : .success(count), asked: now, answered: now + cost)
        now += cost
      }
      now += pause
    }
    return count
  }

  @Test(arguments: [false, true]) func aQuestionTakesATwentiethOfTheTime(isFailing: Bool) {
    let cheap = asked(
      cost: .milliseconds(1), failing: isFailing, for: .seconds(90), every: .milliseconds(10))
    #expect((95...100).contains(cheap))
    let dear = asked(
      cost: .seconds(1), failing: isFailing, for: .seconds(210), every: .milliseconds(10))
    #expect(dear == 10)
  }

  @Test func whatCountsIsTheNewest() throws {
    let begin = ContinuousClock.now
    var shared = SharedAnswer<Int>(leastAge: .seconds(1))
    #expect(shared.current(at: begin) == nil)
    shared.take(.success(7), asked: begin, answered: begin)
    #expect(try shared.current(at: begin + .milliseconds(999))?.get() == 7)
    #expect(shared.current(at: begin + .seconds(1)) == nil)
    shared.take(.failure(Failure()), asked: begin, answered: begin)
    #expect(throws: Failure.self) { try shared.current(at: begin)?.get() }
  }
}
