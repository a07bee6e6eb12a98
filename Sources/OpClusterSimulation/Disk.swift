// A disk with a journal on it: what was written is durable only when the sync has ended; a crash
// loses an unsynced suffix of turns and nothing else. Everything on it is bytes. Owned by the
// coordinator's shell.

import OpClusterModel
import OpClusterScheduling
import OpClusterWire

/// One turn as it stands in the journal.
struct WrittenTurn: Sendable {
  var commit: CommitIndex
  var records: [UInt8]
  var events: [UInt8]
  var submissions: [AcceptedSubmission]
  var endings: [GraphEnding]
}

struct Disk: Sendable {
  /// Durable: the newest snapshot, and every turn after it.
  private(set) var snapshot: [UInt8]?
  private(set) var snapshotCommit = CommitIndex(0)
  private(set) var turns: [WrittenTurn] = []
  /// Written, not yet synced; the first `syncing` of them are in the sync that runs.
  private var unsynced: [WrittenTurn] = []
  private(set) var syncing = 0
  /// Taken while running; in force when everything it contains is durable.
  private var pendingSnapshot: (commit: CommitIndex, bytes: [UInt8])?
  private(set) var durable = CommitIndex(0)

  var isIdle: Bool { unsynced.isEmpty }

  mutating func append(_ turn: Turn, records: [Record]) {
    unsynced.append(
      WrittenTurn(
        commit: turn.commit, records: Wire.encode(records: records),
        events: Wire.encode(eventRuns: turn.events), submissions: turn.submissions,
        endings: turn.endings))
  }

  /// Begins a sync of all that is written; false when one runs or there is nothing.
  mutating func beginSync() -> Bool {
    guard syncing == 0, !unsynced.isEmpty else { return false }
    syncing = unsynced.count
    return true
  }

  /// The sync has ended: what became durable, in order.
  mutating func endSync() -> [WrittenTurn] {
    let done = Array(unsynced[..<syncing])
    unsynced.removeFirst(syncing)
    syncing = 0
    keep(done)
    return done
  }

  /// Power is gone: of what was not durable a prefix survives. Returns it. A disk that lies about
  /// its syncs (a mutant) loses durable turns, too.
  mutating func crash(_ chance: inout Chance, losesDurable: Bool) -> [WrittenTurn] {
    if losesDurable { turns.removeLast(min(turns.count, 2)) }
    let kept = Array(unsynced[..<chance.below(unsynced.count + 1)])
    unsynced = []
    syncing = 0
    pendingSnapshot = nil
    keep(kept)
    return kept
  }

  mutating func write(snapshot records: [Record], commit: CommitIndex) {
    pendingSnapshot = (commit, Wire.encode(records: records))
    compact()
  }

  private mutating func keep(_ done: [WrittenTurn]) {
    turns += done
    if let last = done.last { durable = last.commit }
    compact()
  }

  /// A snapshot takes the place of the turns that it contains, in one step (G9).
  private mutating func compact() {
    guard let pending = pendingSnapshot, pending.commit <= durable else { return }
    snapshot = pending.bytes
    snapshotCommit = pending.commit
    turns.removeAll { $0.commit <= pending.commit }
    pendingSnapshot = nil
  }

  /// What a new life of the coordinator finds.
  func recover(_ timing: Timing) throws(WireError) -> Scheduler {
    var scheduler = Scheduler(timing: timing)
    if let snapshot {
      scheduler.restore(try Wire.decodeRecords(snapshot), commit: snapshotCommit)
    }
    for turn in turns {
      scheduler.replay(try Wire.decodeRecords(turn.records), commit: turn.commit)
    }
    return scheduler
  }
}
