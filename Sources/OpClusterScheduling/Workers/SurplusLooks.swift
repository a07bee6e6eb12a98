// Whose unstarted operations are to be looked at in a turn, because they may be of more use
// elsewhere. While a thousand workers are slow, a look at all of them in each turn would take most
// of the coordinator's time.

import OpClusterModel

struct SurplusLooks: Sendable {
  /// The workers that have become slow since the last look.
  var fresh: [UInt32] = []
  /// Until when a look at all of many waits,
  private var next = Instant.distantPast
  /// and whether one waits.
  private var isPutOff = false

  /// So many looks are made without a pause; of more each makes the pause longer. One takes less
  /// than 0.3 µs, so that a sixth of the coordinator's time is the most that all of them take.
  private static let few = 64
  private static let pause = Span(nanoseconds: 2_000)

  /// When a look that was put off is due; nil: there is none.
  var deadline: Instant? { isPutOff ? next : nil }

  func isDue(at now: Instant) -> Bool { isPutOff && next <= now }

  /// Notes how many looks at workers, operations and nodes of the index were made.
  mutating func note(_ looks: Int, at now: Instant) {
    if looks > Self.few { next = now + Self.pause * Int64(looks) }
  }

  /// No look was made in a turn that was full: it is made in the next that is not.
  mutating func putOff() { isPutOff = true }

  /// Nobody has anything to give.
  mutating func noneIsSlow() {
    fresh.removeAll(keepingCapacity: true)
    isPutOff = false
  }

  /// The workers to look at now, of those that a recall may help. All, if another has room or
  /// something more urgent may wait; else those that have become slow, and those that give
  /// everything back.
  mutating func workers(
    in index: WorkerIndex, _ chance: SurplusChance, haveLinesChanged: Bool, at now: Instant,
    _ looks: inout Int
  ) -> [UInt32] {
    var few: [UInt32] = []
    swap(&few, &fresh)
    let isWanted = haveLinesChanged || isPutOff || index.whole.mayTakeSurplus
    if isWanted, next <= now {
      let all = index.workers(&looks) { $0.surplusSince <= now && chance.admits($0) }
      isPutOff = false
      return all
    }
    isPutOff = isWanted
    if index.whole.surplusSince == .distantPast {
      few += index.workers(&looks) { $0.surplusSince == .distantPast }
    }
    return few.filter { index[$0].map { chance.admits($0) } ?? false }
  }
}

/// What a recall may help. In a cluster that is full, and where nothing of higher rank waits, none
/// does, and the workers with surplus are not looked at in each turn.
struct SurplusChance: Sendable {
  /// Whether some worker may have room for something.
  var hasRoom: Bool
  /// Whether something waits that goes before operations of its own queue at workers.
  var isOvertaken: Bool
  /// The highest service in which something waits; -1 if nothing does.
  var highestService: Int

  func admits(_ summary: WorkerSummary) -> Bool {
    // One that drains gives all back, whether that helps or not.
    summary.surplusSince == .distantPast || hasRoom || isOvertaken
      || Int(summary.surplusService) < highestService
  }
}
