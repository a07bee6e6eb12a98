// One queue: its settings, its counts, its line and its barriers.

import DequeModule
import HeapModule
import OpClusterModel

struct Queue: Watchable {
  let id: QueueID
  var isNoted = false
  var settings: QueueSettings
  /// The graph that it came with and is removed with; nil: it stays until it is removed.
  var owner: GraphID?
  var line = Line()
  /// The slots in use: operations handed over or executing (S67).
  var inFlight: UInt32 = 0
  /// Of these, the operations that are assigned to workers and not started.
  var assigned = RankCounts()
  var executing: UInt32 = 0
  /// Queued and executing operations without barriers (S81).
  var members: UInt32 = 0
  /// The latest count that observers were told (`QueueCounts`).
  var toldMembers: UInt32 = 0
  /// Whether its count may have changed in this turn.
  var isCountDirty = false
  var barrierCount: UInt32 = 0
  /// The parts between barriers, oldest first; the last segment is open. One segment without
  /// barriers.
  var segments: Deque<Segment> = [Segment()]
  /// Cancelled operations that finish when the queue resumes (S75).
  var cancelledMembers: Heap<OperationSpan> = []

  static var blank: Queue { Queue(id: QueueID(0), settings: QueueSettings(name: "")) }

  /// The operations between two barriers.
  struct Segment: Sendable {
    var unfinished: UInt32 = 0
    /// The barrier that ends it; nil for the open one.
    var barrier: Barrier?
    /// Ready operations that only a barrier blocks: one ahead, or for those of the first segment,
    /// which came before it only now, the one at its end while a worker has it.
    var parked: [ParkedRun] = []
  }
  struct Barrier: Sendable {
    var operation: OperationID
    var place: UInt64
  }
  struct ParkedRun: Sendable {
    var run: ReadyRun
    var stage: Int
  }

  /// Neither suspended nor at limit 0, which has the same effect (S65).
  var isRunning: Bool { !settings.isSuspended && settings.maximumConcurrent != 0 }

  /// The number of operations that workers may have of it now.
  var limit: UInt32 { isRunning ? settings.maximumConcurrent ?? .max : 0 }

  /// The number of operations that may still be handed over now.
  var room: UInt32 {
    if !isRunning { return 0 }
    guard let limit = settings.maximumConcurrent else { return .max }
    return limit > inFlight ? limit - inFlight : 0
  }

  var hasBarriers: Bool { segments.count > 1 }
  var lastBarrier: OperationID? {
    hasBarriers ? segments[segments.count - 2].barrier?.operation : nil
  }

  /// The segment that contains a place.
  func segment(of place: UInt64) -> Int {
    if segments.count == 1 { return 0 }
    var low = 0
    var high = segments.count - 1
    while low < high {
      let middle = (low + high) / 2
      if let barrier = segments[middle].barrier, barrier.place < place {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low
  }

  /// Closes the open segment with a barrier.
  mutating func addBarrier(_ operation: OperationID, place: UInt64) {
    segments[segments.count - 1].barrier = Barrier(operation: operation, place: place)
    segments.append(Segment())
    barrierCount += 1
  }

  /// Removes a barrier and merges the segments on both sides; `moved` counts the segments before it
  /// or behind it, whichever are fewer. Returns the runs that no barrier blocks any more. Costs
  /// `moved`, and a logarithm of the barriers.
  mutating func removeBarrier(
    _ operation: OperationID, place: UInt64, moved: inout Int
  ) -> [ParkedRun] {
    let at = segment(of: place)
    guard segments[at].barrier?.operation == operation else { return [] }
    moved = min(at, segments.count - at)
    barrierCount -= 1
    let behind = segments.remove(at: at + 1)
    segments[at].unfinished += behind.unfinished
    segments[at].barrier = behind.barrier
    segments[at].parked += behind.parked
    if at > 0 { return [] }
    defer { segments[0].parked = [] }
    return segments[0].parked
  }

  /// The barrier with no unfinished operation before it, if any (S77).
  var openableBarrier: OperationID? {
    segments[0].unfinished == 0 ? segments[0].barrier?.operation : nil
  }
}
