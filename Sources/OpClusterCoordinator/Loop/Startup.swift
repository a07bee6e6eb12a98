// Recovers a scheduler from disk: snapshot, turns, and the check that the event log agrees with
// them (G4, G6). On the loop's thread, before it serves.

import OpClusterJournal
import OpClusterModel
import OpClusterScheduling
import OpClusterWire

enum Startup {
  /// The state of the journal. Changes nothing on disk.
  static func scheduler(
    from recovered: Recovered, timing: Timing
  ) throws(CoordinatorError) -> Scheduler {
    var scheduler = Scheduler(timing: timing)
    do {
      try restore(&scheduler, recovered)
      try recovered.forEachTurn { turn in
        let records = try decoded(turn.body, "turn \(turn.sequence)")
        scheduler.replay(records, commit: CommitIndex(turn.sequence))
      }
    } catch let error as CoordinatorError {
      throw error
    } catch let error as JournalError {
      throw .journal(error)
    } catch {
      throw .unreadable(record: "the journal", problem: "\(error)")
    }
    guard recovered.nextEvent <= scheduler.lastEvent + 1 else {
      throw .unreadable(
        record: "event \(recovered.nextEvent - 1)",
        problem: "the turns end with event \(scheduler.lastEvent)")
    }
    return scheduler
  }

  private static func restore(_ scheduler: inout Scheduler, _ recovered: Recovered) throws {
    guard let sequence = recovered.snapshotSequence else { return }
    var records: [Record] = []
    var part = 0
    try recovered.forEachSnapshotPart { body in
      records += try decoded(body, "snapshot \(sequence) part \(part)")
      part += 1
    }
    scheduler.restore(records, commit: CommitIndex(sequence))
  }

  private static func decoded(
    _ body: [UInt8], _ name: String
  ) throws(CoordinatorError) -> [Record] {
    do {
      return try Wire.decodeRecords(body)
    } catch {
      throw .unreadable(record: name, problem: error.description)
    }
  }
}
