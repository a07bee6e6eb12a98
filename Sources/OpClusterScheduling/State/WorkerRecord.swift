// What the facts say of a worker: who it is and what it holds. What it says of itself, and what is
// under way between it and the coordinator, is in `WorkerConversation`.

import DequeModule
import OpClusterModel

struct WorkerRecord: Blankable {
  let id: WorkerID
  let name: String
  let session: WorkerSession

  /// Asked to finish what it runs and to leave.
  var isDraining = false

  /// Sum of the demands of everything it holds.
  var taken = Resources.none
  var executing: UInt32 = 0
  /// Handed over and not started.
  private(set) var held: UInt32 = 0
  private(set) var heldByRank = RankCounts()
  /// Everything handed to it, oldest first; entries that it no longer holds are skipped and
  /// swept out when they are many.
  var holdings: Deque<OperationID> = []

  init(id: WorkerID, name: String, session: WorkerSession) {
    self.id = id
    self.name = name
    self.session = session
  }

  static var blank: WorkerRecord {
    WorkerRecord(id: WorkerID(0), name: "", session: WorkerSession(0))
  }

  mutating func hold(_ rank: Rank) {
    heldByRank.add(rank)
    held += 1
  }

  mutating func letGo(_ rank: Rank) {
    heldByRank.remove(rank)
    held -= 1
  }

  /// How many more of a rank it may hold, of `window` in all: what goes after them there is not in
  /// their way, since workers order what they hold by the same rule. A look at each service and
  /// level.
  func room(for rank: Rank, within window: UInt32) -> UInt32 {
    if held < window { return window - held }
    guard window > 0, held < Limits.heldPerWorker else { return 0 }
    let before = held - heldByRank.count(below: rank)
    return window - min(before, window)
  }
}
