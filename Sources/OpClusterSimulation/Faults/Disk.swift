// A simulated disk with a journal: writes are durable only after the sync has ended; a crash loses
// a suffix of unsynced turns and nothing else. All content is bytes. Owned by the coordinator's
// shell.

import OpClusterModel
import OpClusterScheduling
import OpClusterWire

/// The damage that a start finds in a journal.
enum JournalDamage: Error, Equatable {
  /// The checksum of this turn does not match, and turns follow it.
  case damaged(CommitIndex)
  case undecodable(CommitIndex)
}

/// One turn as written to the journal.
struct WrittenTurn: Sendable {
  var commit: CommitIndex
  /// The checksum of `records` when they were written.
  var checksum: UInt64
  var records: [UInt8]
  var events: [UInt8]
  var submissions: [AcceptedSubmission]
  var endings: [GraphEnding]
  /// Whether an undecided change of operations held some of them back when the turn closed. Not a
  /// part of what is written.
  var isSteered: Bool
}

struct Disk: Sendable {
  /// Durable: the newest snapshot, and every turn after it.
  private(set) var snapshot: [UInt8]?
  private(set) var snapshotCommit = CommitIndex(0)
  private(set) var turns: [WrittenTurn] = []
  /// Written but not synced; the first `syncing` of them are in the present sync.
  private var unsynced: [WrittenTurn] = []
  private(set) var syncing = 0
  /// The remains of the first turn that a crash lost.
  private var torn: WrittenTurn?
  private var isLosing = false
  /// A snapshot taken while running; valid once all that it contains is durable.
  private var pendingSnapshot: (commit: CommitIndex, bytes: [UInt8])?
  private(set) var durable = CommitIndex(0)
  /// The disk has no free space except the reserve until then.
  var fullUntil = Instant.zero

  var isIdle: Bool { unsynced.isEmpty }

  /// Bytes that are written and not durable (I18).
  var unsyncedBytes: Int { unsynced.reduce(0) { $0 + $1.records.count + $1.events.count } }
  var unsyncedTurns: Int { unsynced.count }

  mutating func append(_ turn: SchedulingTurn, records: [Record], isSteered: Bool) {
    let bytes = Wire.encode(records: records)
    torn = nil
    unsynced.append(
      WrittenTurn(
        commit: turn.commit, checksum: Disk.checksum(bytes), records: bytes,
        events: Wire.encode(eventRuns: turn.events), submissions: turn.submissions,
        endings: turn.endings, isSteered: isSteered))
  }

  static func checksum(_ bytes: [UInt8]) -> UInt64 {
    var sum: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in bytes { sum = (sum ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    return sum
  }

  /// Begins a sync of all written turns; false if one runs or there is nothing.
  mutating func beginSync() -> Bool {
    guard syncing == 0, !unsynced.isEmpty else { return false }
    syncing = unsynced.count
    return true
  }

  /// Ends the sync; returns the turns that became durable, in order.
  mutating func endSync() -> [WrittenTurn] {
    let done = Array(unsynced[..<syncing])
    unsynced.removeFirst(syncing)
    syncing = 0
    if isLosing, let last = done.last {
      isLosing = false
      durable = last.commit
    } else {
      keep(done)
    }
    return done
  }

  /// Simulates a power loss: a prefix of the unsynced turns survives (`permille` of them), and a
  /// part of the next turn. Returns the survivors. A disk that lies about its syncs (a mutant)
  /// loses durable turns, too.
  mutating func crash(keeping permille: Int, losesDurable: Bool) -> [WrittenTurn] {
    if losesDurable { turns.removeLast(min(turns.count, 2)) }
    let count = unsynced.count * permille / 1000
    let kept = Array(unsynced[..<count])
    torn = nil
    if count < unsynced.count {
      var part = unsynced[count]
      part.records.removeLast(part.records.count / 2)
      torn = part
    }
    unsynced = []
    syncing = 0
    pendingSnapshot = nil
    keep(kept)
    return kept
  }

  /// A mutant: the sync failed, and its repetition found nothing to do.
  mutating func loseNextSyncSilently() { isLosing = true }

  /// Flips one bit of a record in the middle. Returns its turn; nil if there is none, or the bit is
  /// unused.
  mutating func rot(_ place: Int) -> CommitIndex? {
    guard turns.count > 1 else { return nil }
    let at = place % (turns.count - 1)
    guard !turns[at].records.isEmpty else { return nil }
    let byte = place * 7919 % turns[at].records.count
    turns[at].records[byte] ^= UInt8(1) << UInt8(place % 8)
    return turns[at].commit
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

  /// Replaces the turns that a durable snapshot contains by it, in one step (G9).
  private mutating func compact() {
    guard let pending = pendingSnapshot, pending.commit <= durable else { return }
    snapshot = pending.bytes
    snapshotCommit = pending.commit
    turns.removeAll { $0.commit <= pending.commit }
    pendingSnapshot = nil
  }

  /// Recovers a scheduler for a new life. An incomplete turn at the end was never durable, and is
  /// dropped; a damaged one in the middle means that the disk cannot be trusted (G5, G6).
  func recover(
    _ timing: Timing, pageBits: UInt32, share: TurnShare
  ) throws(JournalDamage) -> Scheduler {
    try verify()
    var scheduler = Scheduler(
      timing: timing, pageBits: pageBits, share: share)
    // Contents of the simulation are small.
    scheduler.largeContentBytes = 50
    if let snapshot {
      scheduler.restore(try Disk.decode(snapshot, snapshotCommit), commit: snapshotCommit)
    }
    for turn in turns + (torn.map { [$0] } ?? []) {
      if Disk.checksum(turn.records) != turn.checksum { break }
      scheduler.replay(try Disk.decode(turn.records, turn.commit), commit: turn.commit)
    }
    return scheduler
  }

  /// Throws the first damage that cannot come from a crash.
  func verify() throws(JournalDamage) {
    for turn in turns where Disk.checksum(turn.records) != turn.checksum {
      throw .damaged(turn.commit)
    }
  }

  /// Whether each turn after the snapshot follows its predecessor.
  var isGapless: Bool {
    guard let last = turns.last else { return true }
    return last.commit.number - snapshotCommit.number == UInt64(turns.count)
  }

  private static func decode(
    _ bytes: [UInt8], _ commit: CommitIndex
  ) throws(JournalDamage) -> [Record] {
    do { return try Wire.decodeRecords(bytes) } catch { throw .undecodable(commit) }
  }
}
