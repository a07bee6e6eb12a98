// The future happenings, in order of virtual time; equal moments in order of planning. Owned by a
// world; the model of a large cluster has happenings of its own.

import OpClusterModel

/// A future happening of the world.
enum Happening: Sendable {
  /// Bytes reach one end of a connection.
  case arrival(Delivery)
  /// The loop of this life of the coordinator runs a turn.
  case coordinatorTurn(life: Int)
  case syncEnds(life: Int)
  case coordinatorStarts
  /// The socket reports that this peer is gone.
  case peerGone(PeerID, life: Int)
  case workerTurn(worker: Int, life: Int)
  case workerStarts(worker: Int)
  /// The worker's end of a connection notices that the other end is gone.
  case broken(connection: Int)
  case processEnds(worker: Int, life: Int, AttemptID)
  /// The lease guard of a worker checks whether exclusive operations may still run.
  case guardLooks(worker: Int, life: Int)
  /// A holder may give a worker what it wants.
  case fetchTries(worker: Int, life: Int, StoredContent, tries: Int)
  case deliveryTries(worker: Int, life: Int, ContentDelivery, tries: Int)
  /// A store makes room.
  case contentLeaves(worker: Int, ContentDigest)
  /// The store finds that the bytes are not what they were.
  case contentRots(worker: Int, ContentDigest)
  case clientActs(client: Int)
  /// The request at this position of the replayed script.
  case clientAsks(Int)
  case clientRepeats(client: Int, RequestID)
  /// The position in the world's list.
  case mishap(Int)
  case heal
  /// Everything is healed: acts as users would to let everything run.
  case tidyUp
}

/// A binary heap ordered by moments.
struct Agenda<What: Sendable>: Sendable {
  private struct Entry {
    var at: Instant
    var order: UInt64
    var what: What
    func isBefore(_ other: Entry) -> Bool { (at, order) < (other.at, other.order) }
  }
  private var heap: [Entry] = []
  private var planned: UInt64 = 0

  var isEmpty: Bool { heap.isEmpty }

  mutating func plan(_ what: What, at moment: Instant) {
    planned += 1
    heap.append(Entry(at: moment, order: planned, what: what))
    var child = heap.count - 1
    while child > 0, heap[child].isBefore(heap[(child - 1) / 2]) {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  mutating func next() -> (at: Instant, what: What)? {
    guard let first = heap.first else { return nil }
    let last = heap.removeLast()
    if !heap.isEmpty {
      heap[0] = last
      sink()
    }
    return (first.at, first.what)
  }

  private mutating func sink() {
    var parent = 0
    while true {
      var least = 2 * parent + 1
      guard least < heap.count else { return }
      if least + 1 < heap.count, heap[least + 1].isBefore(heap[least]) { least += 1 }
      guard heap[least].isBefore(heap[parent]) else { return }
      heap.swapAt(parent, least)
      parent = least
    }
  }
}
