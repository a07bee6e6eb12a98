// A copy of a journal, and what remains of the world when it is put in place. Values; owned by the
// world.

import OpClusterModel
import OpClusterScheduling

/// A copy of the coordinator's disk, with the oracles' knowledge of it.
struct Backup {
  var disk: Disk
  var ledger: ShadowLedger
  var shadow: Scheduler
}

/// The limits of what a restore kept: the commits up to this one, and the graphs below this number.
struct Restore {
  var at: Instant
  var commit: CommitIndex
  var graphs: UInt32
}
