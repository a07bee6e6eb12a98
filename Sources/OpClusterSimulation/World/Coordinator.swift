// The coordinator of the simulated world: its brain, its disk, and what waits there. Owned by the
// world, driven by its shell.

import OpClusterModel
import OpClusterScheduling

/// Successive coordinator processes on the same disk.
final class Coordinator {
  var scheduler = Scheduler()
  var turn = SchedulingTurn()
  var disk = Disk()
  /// The number of processes so far.
  var life = 0
  var isUp = false
  var pausedUntil = Instant.zero
  var inbox: [(peer: PeerID, owner: Connection.Owner, bytes: [UInt8])] = []
  var gonePeers: [PeerID] = []
  /// Effects that leave when everything through this commit is durable; oldest first.
  var withheld: [(commit: CommitIndex, effects: [Effect])] = []
  var plannedTurn: Instant?
  var turns = 0
  /// Whether time was the only input of this turn.
  var isTurnIdle = false
  var idleTurns = Idleness()
  /// Whether its journal was restored, so that operations unknown to it may still run (G16).
  var mayHaveGoneBack = false
}
