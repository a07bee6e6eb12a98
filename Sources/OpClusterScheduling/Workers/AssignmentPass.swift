// The findings of one pass of the assignment, so that it looks at nothing twice.

import OpClusterModel

/// The findings of one pass; nothing becomes free during it.
struct AssignmentPass: Sendable {
  /// Counts the passes.
  var number: UInt64 = 0
  /// The workers that take new work.
  var workers: [UInt32] = []
  /// Counts the changes of these workers or of their properties.
  var workersVersion: UInt64 = 0
  private var conversations: UInt32 = 0
  private var earlier: [UInt32] = []
  /// The remaining reach of these workers by rank, as far as computed since the last change.
  var reach: [Rank: Reach] = [:]
  /// By demand class: the pass in which no worker could take any more of it.
  private var fullIn: [UInt64] = []
  /// The kinds that fit nowhere in this pass, by bit.
  var closedKinds: UInt64 = 0
  /// The pools of queues that have one. Looked up, never iterated.
  private var pools: [UInt32: [UInt32]] = [:]
  /// The total number of visited queues and classes, including tree nodes on the way.
  var steps = 0

  /// The workers of a queue's pool, computed once per pass; nil: the queue has none, and takes any.
  mutating func pool(
    of queue: UInt32, _ settings: QueueSettings, _ find: ([UInt32]) -> [UInt32]
  ) -> [UInt32]? {
    if settings.pool.isEmpty { return nil }
    if let known = pools[queue] { return known }
    let found = find(workers)
    pools[queue] = found
    return found
  }

  func isFull(_ demandClass: Int) -> Bool {
    demandClass < fullIn.count && fullIn[demandClass] == number
  }

  mutating func noteFull(_ demandClass: Int) {
    while fullIn.count <= demandClass { fullIn.append(0) }
    fullIn[demandClass] = number
  }

  mutating func begin() {
    number += 1
    if !pools.isEmpty { pools.removeAll() }
    reach.removeAll(keepingCapacity: true)
    closedKinds = 0
    swap(&workers, &earlier)
    workers.removeAll(keepingCapacity: true)
  }

  /// Compares the workers with those of the previous pass; call it after naming all.
  mutating func compareWorkers(conversations: UInt32) {
    if workers != earlier || conversations != self.conversations { workersVersion += 1 }
    self.conversations = conversations
  }
}
