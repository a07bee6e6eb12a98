// Compacts an unused journal: replaces the turns behind the last snapshot by a new one, and returns
// the space of deleted rows to the disk (G9). Used by the command, on its thread.

import OpClusterJournal
import OpClusterModel
import OpClusterScheduling
import OpClusterSystem

public enum JournalCompaction {
  /// The size of the database before and after, in bytes.
  public struct Report: Sendable, Hashable {
    public let bytesBefore: UInt64
    public let bytesAfter: UInt64
  }

  /// Compacts the journal in a folder. Interrupted anywhere, it leaves a journal that recovers to
  /// the same state: only a complete snapshot counts, turns are dropped after it, and SQLite's own
  /// compaction is atomic. First verifies everything, including history: a damaged journal is not
  /// changed.
  ///
  /// - Throws: A `JournalError` (in use, damaged, disk), or a `CoordinatorError` that names a
  ///   record, or says that the journal ends in the middle of ends.
  public static func compact(folder: String) throws -> Report {
    let before = try JournalTools.size(folder: folder)
    _ = try JournalTools.verify(folder: folder, isUnused: true)
    _ = try JournalExport.check(folder: folder)
    try writeSnapshot(folder)
    try JournalTools.compact(folder: folder)
    return Report(bytesBefore: before, bytesAfter: try JournalTools.size(folder: folder))
  }

  /// Writes the journal's final state as a snapshot behind its last turn.
  private static func writeSnapshot(_ folder: String) throws {
    let notices = try Mailbox<Notice>(capacity: CoordinatorLimits.notices)
    let observer = JournalObserver(
      onDurable: { _ in },
      onFailure: { _ = notices.post(.failed($0)) },
      onSnapshot: { _ = notices.post(.snapshot($0)) })
    let (journal, recovered) = try SQLiteJournal.open(folder: folder, observer: observer)
    // Closing completes the remaining work: it drops the turns that the snapshot replaces.
    defer { journal.close() }
    guard recovered.lastSequence > recovered.snapshotSequence ?? 0 else { return }
    let scheduler = try Startup.scheduler(from: recovered, timing: Timing())
    if scheduler.hasPendingEnds { throw CoordinatorError.endsPending }
    let image = scheduler.image
    let answer = journal.snapshot(through: recovered.lastSequence) {
      SnapshotParts(image, SnapshotSize())
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
        case .durable, .history, .prepared, .reserve, .enrolled, .metrics, .stop: break
        }
      }
    }
  }
}
