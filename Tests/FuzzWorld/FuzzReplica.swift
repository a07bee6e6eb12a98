// The coordinator that would begin from what a turn leaves on disk: it replays every turn as it was
// written. A fact that traps or differs at replay is a journal that no coordinator can open again.

import OpClusterModel
import OpClusterScheduling
import OpClusterWire

struct FuzzReplica {
  private var scheduler = Scheduler()
  private var turns = 0
  /// Whole states are compared after so many turns: that costs what the world is large.
  private static let turnsPerComparison = 20

  /// Takes in what a turn writes; returns what is wrong.
  mutating func take(_ turn: SchedulingTurn, of live: Scheduler) -> String? {
    guard turn.isDurable else { return nil }
    do {
      let records = try Wire.decodeRecords(Wire.encode(records: turn.records))
      if records != turn.records { return "the records of a turn change on their way to disk" }
      scheduler.replay(records, commit: turn.commit)
    } catch {
      return "the records of a turn do not decode: \(error)"
    }
    turns += 1
    return turns % Self.turnsPerComparison == 0 ? difference(from: live) : nil
  }

  /// Begins from a snapshot, as a new life of the coordinator does.
  mutating func begin(from snapshot: [Record], commit: CommitIndex) {
    scheduler = Scheduler()
    scheduler.restore(snapshot, commit: commit)
  }

  func difference(from live: Scheduler) -> String? {
    let (one, other) = (live.snapshot(), scheduler.snapshot())
    guard one != other else { return nil }
    let at =
      zip(one, other).enumerated().first { $1.0 != $1.1 }?.offset ?? min(one.count, other.count)
    return "replay differs at fact \(at) of \(one.count)"
  }
}
