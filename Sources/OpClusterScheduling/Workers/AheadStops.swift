// Where dispatching ahead of time stopped for want of room at a worker. A chain longer than what
// the worker fetches ahead would else run dry at each such place, for a round trip and a commit.

import DequeModule
import OpClusterModel

struct AheadStops: Sendable {
  /// By worker: operations that were there, whose dependents may not all have gone ahead; at most
  /// `Limits.aheadStopsPerWorker`, the newest. Looked up, never iterated.
  private var stops: [UInt32: Deque<OperationID>] = [:]
  /// The workers that have reported ends in this turn, in that order, and have stops.
  private var due: [UInt32] = []

  var isDue: Bool { !due.isEmpty }

  /// Remembers operations of which dependents are left. Those of forgotten ones are dispatched when
  /// they are ready.
  mutating func remember(_ operations: ArraySlice<OperationID>, at worker: UInt32) {
    let kept = operations.suffix(Limits.aheadStopsPerWorker)
    stops[worker, default: []].append(contentsOf: kept)
    while stops[worker]!.count > Limits.aheadStopsPerWorker { stops[worker]!.removeFirst() }
  }

  /// Notes that a worker has reported ends, and so may have room.
  mutating func noteEnds(at worker: UInt32) {
    if stops[worker] != nil, due.last != worker { due.append(worker) }
  }

  /// Nothing is at the worker any more, or a new conversation begins.
  mutating func endConversation(with worker: UInt32) { stops[worker] = nil }

  /// Takes the workers that may have room.
  mutating func takeDue() -> [UInt32] {
    defer { due.removeAll(keepingCapacity: true) }
    return due
  }

  /// Takes the stops of a worker, the oldest first.
  mutating func takeStops(at worker: UInt32) -> [OperationID] {
    stops.removeValue(forKey: worker).map(Array.init) ?? []
  }
}
