// The findings of one pass of the assignment, so that it looks at nothing twice.

import OpClusterModel

/// The findings of one pass; nothing becomes free during it.
struct AssignmentPass: Sendable {
  /// The number of operations that this turn may still hand over.
  var room = Limits.assignmentsPerTurn
  /// Counts the passes.
  var number: UInt64 = 0
  /// Counts the changes of the workers that take new work, or of their properties.
  var workersVersion: UInt64 = 0
  private var takers: UInt64 = 0
  private var conversations: UInt32 = 0
  /// The remaining reach of the workers by rank, as far as computed since the last change.
  var reach: [Rank: LineReach] = [:]
  /// By demand class: the pass in which no worker could take any more of it.
  private var fullIn: [UInt64] = []
  /// The kinds that fit nowhere in this pass, by bit.
  var closedKinds: UInt64 = 0
  /// The pools of queues that have one, as long as the workers stay the same. Looked up, never
  /// iterated.
  private var pools: [UInt32: Pool] = [:]
  private struct Pool: Sendable {
    var requirements: [LabelRequirement]
    var workersVersion: UInt64
    var workers: [UInt32]
  }
  /// The queues whose lines this pass has looked at.
  var visited: [UInt32] = []
  /// The total number of visited queues and classes, including tree nodes on the way.
  var steps = 0

  /// The workers of a queue's pool, computed again when the workers change; nil: the queue has
  /// none, and takes any.
  mutating func pool(
    of queue: UInt32, _ requirements: [LabelRequirement], _ find: () -> [UInt32]
  ) -> [UInt32]? {
    if requirements.isEmpty { return nil }
    if let known = pools[queue], known.workersVersion == workersVersion,
      known.requirements == requirements
    {
      return known.workers
    }
    // The pools of removed queues go as well.
    if pools.count >= Self.mostPools { pools.removeAll() }
    let found = find()
    pools[queue] = Pool(
      requirements: requirements, workersVersion: workersVersion, workers: found)
    return found
  }
  private static let mostPools = 256

  /// Notes that operations were handed over or passed, which may lower every reach.
  mutating func noteHandedOver(_ count: UInt32) {
    room -= min(room, Int(count))
    reach.removeAll(keepingCapacity: true)
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
    reach.removeAll(keepingCapacity: true)
    visited.removeAll(keepingCapacity: true)
    closedKinds = 0
  }

  /// Compares the workers with those of the previous pass: whether they are others, or have other
  /// properties.
  mutating func haveWorkersChanged(takers: UInt64, conversations: UInt32) -> Bool {
    if takers == self.takers, conversations == self.conversations { return false }
    self.takers = takers
    self.conversations = conversations
    workersVersion += 1
    return true
  }
}
