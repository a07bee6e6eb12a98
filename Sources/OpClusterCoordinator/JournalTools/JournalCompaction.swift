// Makes a journal smaller while nobody uses it: one snapshot instead of the turns behind the last
// one, and the space of what was deleted back to the disk (G9). Used by the command, on its thread.

import OpClusterJournal
import OpClusterModel
import OpClusterScheduling
import OpClusterZeroMQ

public enum JournalCompaction {
  /// The size of the database before and after, in bytes.
  public struct Report: Sendable, Hashable {
    public let bytesBefore: UInt64
    public let bytesAfter: UInt64
  }

  /// Interrupted anywhere, it leaves a journal that recovers to the same state: a snapshot counts
  /// only when it is whole, turns are dropped after that, and SQLite's own compaction is atomic.
  /// Everything is verified first, history too: of a damaged journal nothing is changed.
  ///
  /// - Throws: a `JournalError` (in use, damaged, disk), or a `CoordinatorError` naming a record.
  public static func compact(folder: String) throws -> Report {
    let before = try JournalTools.size(folder: folder)
    _ = try JournalTools.verify(folder: folder, isUnused: true)
    _ = try JournalExport.check(folder: folder)
    try writeSnapshot(folder)
    try JournalTools.compact(folder: folder)
    return Report(bytesBefore: before, bytesAfter: try JournalTools.size(folder: folder))
  }

  /// The state that the journal leads to, as a snapshot behind its last turn.
  private static func writeSnapshot(_ folder: String) throws {
    let notices = try Mailbox<Notice>(capacity: CoordinatorLimits.notices)
    let observer = JournalObserver(
      onDurable: { _ in },
      onFailure: { _ = notices.post(.failed($0)) },
      onSnapshot: { _ = notices.post(.snapshot($0)) })
    let (journal, recovered) = try SQLiteJournal.open(folder: folder, observer: observer)
    // Closing does what is still to be done: the turns that the snapshot replaces go.
    defer { journal.close() }
    guard recovered.lastSequence > recovered.snapshotSequence ?? 0 else { return }
    let scheduler = try Startup.scheduler(from: recovered, timing: Timing())
    let parts = SnapshotParts(scheduler.snapshot())
    let answer = journal.snapshot(through: recovered.lastSequence, parts: parts.count) { part in
      parts.encoded(part)
    }
    precondition(answer == .accepted, "a fresh journal answered \(answer)")
    try awaitSnapshot(notices)
  }

  private static func awaitSnapshot(_ notices: Mailbox<Notice>) throws {
    var poller = Poller()
    _ = poller.add(descriptor: notices.descriptor)
    var batch: [Notice] = []
    while true {
      _ = try poller.wait(until: nil)
      notices.takeAll(into: &batch)
      for notice in batch {
        switch notice {
        case .snapshot: return
        case .failed(let error): throw error
        case .durable, .history, .reserve, .enrolled, .stop: break
        }
      }
    }
  }
}
