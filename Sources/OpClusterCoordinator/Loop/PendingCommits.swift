// The turns on their way to the disk, and everything that waits for them.

import DequeModule
import OpClusterJournal
import OpClusterModel
import OpClusterScheduling

/// The journal, and the data that wait for it.
struct PendingCommits {
  let journal: any Journal
  var release = ReleaseQueue(durable: 0)
  /// The turn for which the journal had no room.
  var unappended: JournalTurn?
  var snapshots: SnapshotPolicy
  /// The commit of the state that the scheduler copies for a snapshot.
  var image: CommitIndex?
  /// Removed graphs whose attempts the journal must still delete, with the commits that must be
  /// durable first.
  var forgetting: Deque<(commit: UInt64, graph: GraphID)> = []
  /// The graphs changed by turns that wait for the disk.
  var undurable = UndurableGraphs()
  /// Whether the next life will know that no older journal was restored.
  var isSettled: Bool
  /// The journal accepts nothing any more; a notice will give the reason.
  var isClosed = false

  init(_ journal: any Journal, _ settings: CoordinatorSettings, isSettled: Bool) {
    self.journal = journal
    self.isSettled = isSettled
    snapshots = SnapshotPolicy(turns: settings.snapshotTurns, bytes: settings.snapshotBytes)
  }
}
