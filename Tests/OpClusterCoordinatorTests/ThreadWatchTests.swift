// Which thread hangs, and who only was away itself; how many connections the descriptors allow
// (G23, G30). Pure.

import OpClusterModel
import OpClusterSystem
import Testing

@testable import OpClusterCoordinator

@Suite struct ThreadWatchTests {
  private let start = Instant(nanoseconds: 1_000_000_000_000)

  /// Looks twice a second for so long, while these threads live; what it finds.
  private func look(
    _ watch: inout ThreadWatch, from first: Int, to last: Int, living: [ThreadWatch.Member]
  ) -> [ThreadWatch.Finding] {
    var findings: [ThreadWatch.Finding] = []
    for half in (2 * first)..<(2 * last) {
      let now = start + .milliseconds(500 * Int64(half))
      for member in living { watch.heard(member, at: now) }
      findings += watch.look(at: now)
    }
    return findings
  }

  @Test func whoIsSilentIsNamedOnceAndWhenItIsBack() {
    var watch = ThreadWatch(at: start, heartbeat: .seconds(1))
    #expect(look(&watch, from: 0, to: 60, living: ThreadWatch.Member.allCases) == [])
    #expect(watch.hanging == nil)
    let silent = look(&watch, from: 60, to: 105, living: [.journal, .history])
    #expect(silent.map(\.member) == [.gate] && silent.map(\.isBack) == [false])
    #expect(watch.hanging == .gate)
    let back = look(&watch, from: 105, to: 110, living: ThreadWatch.Member.allCases)
    #expect(back.map(\.member) == [.gate] && back.map(\.isBack) == [true])
    #expect(watch.hanging == nil)
  }

  /// A disk may take its time: 20 s are nothing, minutes are.
  @Test func disksMayTakeTheirTime() {
    var watch = ThreadWatch(at: start, heartbeat: .seconds(1))
    #expect(look(&watch, from: 0, to: 60, living: [.gate]) == [])
    let found = look(&watch, from: 60, to: 200, living: [.gate])
    #expect(found.map(\.member) == [.journal, .history, .requests])
  }

  /// A process that was stopped as a whole accuses nobody.
  @Test func whoWasAwayItselfAccusesNobody() {
    var watch = ThreadWatch(at: start, heartbeat: .seconds(1))
    _ = watch.look(at: start)
    let awake = watch.look(at: start + .seconds(3_600))
    #expect(awake == [])
    let late = start + .seconds(3_602)
    let later = watch.look(at: late)
    #expect(later == [])
    // Long heartbeats are no reason to overlook somebody.
    var slow = ThreadWatch(at: start, heartbeat: .seconds(10))
    var found: [ThreadWatch.Finding] = []
    for step in 1...4 as ClosedRange<Int64> { found += slow.look(at: start + .seconds(5 * step)) }
    #expect(found.map(\.member) == [.gate])
  }

  @Test func connectionsByDescriptors() {
    var budget = DescriptorBudget(limit: 1_048_576, own: 40)
    let reserve = 1_048_576 - 40 - budget.budget
    #expect(reserve > 2_000 && budget.spares > 1_000 && budget.spares * 2 <= reserve)
    // Also where there are few: what is kept, what may be open and what is used fit together.
    for limit in [256, 1_024, 2_600, 4_096] {
      budget.limit = limit
      #expect(budget.budget > 0 && budget.budget + budget.spares + budget.own <= limit, "\(limit)")
    }
    for limit in [0, 10, Int.max] {
      budget.limit = limit
      #expect(budget.budget >= 8 && budget.spares >= 0)
    }
  }

  @Test func sparesAreKeptAndLetGo() {
    let spares = SpareDescriptors()
    spares.keep(20)
    #expect(spares.count == 20)
    spares.keep(5)
    #expect(spares.count == 5)
    spares.keep(0)
    #expect(spares.count == 0)
  }
}
