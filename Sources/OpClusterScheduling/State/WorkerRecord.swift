// The facts about a worker: its identity and the operations that it was given. Its own reports, and
// the state of the connection, are in `WorkerConversation`.

import DequeModule
import OpClusterModel

struct WorkerRecord: Watchable {
  let id: WorkerID
  let name: String
  let session: WorkerSession

  /// Whether it was asked to finish its running operations and to leave.
  var isDraining = false

  /// The sum of the demands of all operations that it was given.
  var taken = Resources.none
  var executing: UInt32 = 0
  /// Operations that were handed over to it and have not started: what is *assigned*.
  private(set) var assigned: UInt32 = 0
  private(set) var assignedByRank = RankCounts()
  /// All operations handed to it, oldest first. Obsolete entries are skipped, and swept when there
  /// are many.
  var operations: Deque<OperationID> = []
  var isNoted = false

  init(id: WorkerID, name: String, session: WorkerSession) {
    self.id = id
    self.name = name
    self.session = session
  }

  static var blank: WorkerRecord {
    WorkerRecord(id: WorkerID(0), name: "", session: WorkerSession(0))
  }

  mutating func assign(_ rank: Rank) {
    assignedByRank.add(rank)
    assigned += 1
  }

  mutating func unassign(_ rank: Rank) {
    assignedByRank.remove(rank)
    assigned -= 1
  }

  /// Counts what is assigned of a queue under another service.
  mutating func moveAssigned(
    of queue: UInt32, from before: QualityOfService, to service: QualityOfService
  ) {
    assignedByRank.move(queue: queue, from: before, to: service)
  }

  /// The lowest level of what is assigned; the highest number if nothing is.
  @inline(__always)
  var lowestLevel: UInt8 { assignedByRank.lowestLevel }

  /// The lowest service of what is assigned; the highest number if nothing is.
  @inline(__always)
  var lowestService: UInt8 { assignedByRank.lowestService }

  /// At least the number of further operations of any rank that may be assigned.
  @inline(__always)
  func mostRoom(within window: UInt32) -> UInt32 {
    if assigned < window { return window - assigned }
    return assigned < Limits.assignedPerWorker ? window : 0
  }

  /// The number of further operations of a rank that may be assigned, of `window` in all.
  /// Lower-ranked ones do not count, since workers order their operations by the same rule. Visits
  /// each service and level.
  @inline(__always)
  func room(for rank: Rank, within window: UInt32) -> UInt32 {
    if assigned < window { return window - assigned }
    guard window > 0, assigned < Limits.assignedPerWorker else { return 0 }
    let before = assigned - assignedByRank.count(below: rank)
    return window - min(before, window)
  }
}
