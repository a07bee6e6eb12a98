// The workers whose stores take their turns: for copies, and for the files of submitters.

import DequeModule

/// Each method costs the same, however many there are. Some may have left since, or drain; whoever
/// comes upon one of these takes it out.
struct StoreRotation: Sendable {
  private var order: Deque<UInt32> = []
  /// Looked up, never iterated.
  private var members: Set<UInt32> = []

  var count: Int { order.count }

  /// A worker has said that it has a store: its turn is the last one, unless it has one.
  mutating func append(_ worker: UInt32) {
    if members.insert(worker).inserted { order.append(worker) }
  }

  /// The one whose turn it is; its next turn is the last one.
  mutating func next() -> UInt32? {
    guard let worker = order.popFirst() else { return nil }
    order.append(worker)
    return worker
  }

  /// Takes out the one whose turn it was.
  mutating func removeCurrent() {
    if let worker = order.popLast() { members.remove(worker) }
  }

  /// Takes out all but these. Costs the members.
  mutating func keep(where stays: (UInt32) -> Bool) {
    order.removeAll { !stays($0) }
    members = Set(order)
  }
}
