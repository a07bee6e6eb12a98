// One queue: its settings, what it counts, its line and its barriers.

import OpClusterModel

struct Queue: Blankable {
  let id: QueueID
  var settings: QueueSettings
  /// The graph it came with and goes with; nil: it stays until removed.
  var owner: GraphID?
  var line = Line()
  /// Slots taken: handed over or executing (S67).
  var inFlight: UInt32 = 0
  /// Of these, what workers hold unstarted.
  var held = RankCounts()
  var executing: UInt32 = 0
  /// Queued and executing operations without barriers (S81).
  var members: UInt32 = 0
  /// As many as observers were last told of (`QueueCounts`).
  var toldMembers: UInt32 = 0
  /// Its count may have changed in this turn.
  var isCountDirty = false
  var barrierCount: UInt32 = 0
  /// What barriers separate, oldest first; the last segment is open. One when there is none.
  var segments: [Segment] = [Segment()]
  /// Cancelled, and waiting for the queue to go on before they finish (S75).
  var cancelledMembers: [OperationID] = []

  static var blank: Queue { Queue(id: QueueID(0), settings: QueueSettings(name: "")) }

  /// Operations between two barriers.
  struct Segment: Sendable {
    var unfinished: UInt32 = 0
    /// The barrier that ends it; nil for the open one.
    var barrier: Barrier?
    /// Ready but for the barriers before them.
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

  /// Neither suspended nor at limit 0, which acts the same (S65).
  var isRunning: Bool { !settings.isSuspended && settings.maximumConcurrent != 0 }

  /// How many more may be handed over now.
  var room: UInt32 {
    if !isRunning { return 0 }
    guard var limit = settings.maximumConcurrent else { return .max }
    if SchedulingBug.miscountedLimit.isPlanted { limit += 1 }
    return limit > inFlight ? limit - inFlight : 0
  }

  var hasBarriers: Bool { segments.count > 1 }
  var lastBarrier: OperationID? {
    hasBarriers ? segments[segments.count - 2].barrier?.operation : nil
  }

  /// The segment in which a place stands.
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

  /// Takes a barrier out; what it separated becomes one segment. Returns the runs that no barrier
  /// holds back any more.
  mutating func removeBarrier(_ operation: OperationID) -> [ParkedRun] {
    guard let at = segments.firstIndex(where: { $0.barrier?.operation == operation }) else {
      return []
    }
    barrierCount -= 1
    let behind = segments.remove(at: at + 1)
    segments[at].unfinished += behind.unfinished
    segments[at].barrier = behind.barrier
    if at == 0 { return behind.parked }
    segments[at].parked += behind.parked
    return []
  }

  /// The barrier before which nothing is left, if any (S77).
  var openableBarrier: OperationID? {
    segments[0].unfinished <= (SchedulingBug.earlyBarrier.isPlanted ? 1 : 0)
      ? segments[0].barrier?.operation : nil
  }
}
