// The facts about a worker: its identity and the operations that it holds. Its own reports, and the
// state of the connection, are in `WorkerConversation`.

import DequeModule
import OpClusterModel

struct WorkerRecord: Watchable {
  let id: WorkerID
  let name: String
  let session: WorkerSession

  /// Whether it was asked to finish its running operations and to leave.
  var isDraining = false

  /// The sum of the demands of all operations that it holds or runs.
  var taken = Resources.none
  var executing: UInt32 = 0
  /// Handed over and not started.
  private(set) var held: UInt32 = 0
  private(set) var heldByRank = RankCounts()
  /// All operations handed to it, oldest first. Obsolete entries are skipped, and swept when there
  /// are many.
  var holdings: Deque<OperationID> = []
  var isNoted = false

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

  /// Counts what it holds of a queue under another service.
  mutating func moveHeld(
    of queue: UInt32, from before: QualityOfService, to service: QualityOfService
  ) {
    heldByRank.move(queue: queue, from: before, to: service)
  }

  /// The lowest level of what it holds unstarted; the highest number if it holds nothing.
  @inline(__always)
  var lowestLevel: UInt8 { heldByRank.lowestLevel }

  /// At least the number of further operations of any rank that it may hold.
  @inline(__always)
  func mostRoom(within window: UInt32) -> UInt32 {
    if held < window { return window - held }
    return held < Limits.heldPerWorker ? window : 0
  }

  /// The number of further operations of a rank that it may hold, of `window` in all. Lower-ranked
  /// ones that it holds do not count, since workers order their operations by the same rule. Visits
  /// each service and level.
  @inline(__always)
  func room(for rank: Rank, within window: UInt32) -> UInt32 {
    if held < window { return window - held }
    guard window > 0, held < Limits.heldPerWorker else { return 0 }
    let before = held - heldByRank.count(below: rank)
    return window - min(before, window)
  }
}
