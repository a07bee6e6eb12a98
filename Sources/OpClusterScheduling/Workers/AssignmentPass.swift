// The findings of one pass of the assignment, so that it looks at nothing twice.

import OpClusterModel

/// The findings of one pass; nothing becomes free during it.
struct AssignmentPass: Sendable {
  /// The number of operations that this turn may still hand over.
  var room = Limits.assignmentsPerTurn
  /// Whether a worker was found in this turn for an operation that not all may have, so that one
  /// may be found for others of the kind.
  var hasPlacedDoubtful = false
  /// The number of such operations for which none was found in this turn. After some of them the
  /// others wait without a search.
  var doubtfulTries = 0
  /// Counts the passes.
  var number: UInt64 = 0
  private var takers: UInt64 = 0
  private var conversations: UInt32 = 0
  /// The remaining reach of the workers by rank, as far as computed since the last change.
  var reach: [Rank: LineReach] = [:]
  /// By demand class: the pass in which no worker could take any more of it.
  private var fullIn: [UInt64] = []
  /// The queues whose lines this pass has looked at.
  var visited: [UInt32] = []
  /// The total number of visited queues and classes, including tree nodes on the way.
  var steps = 0

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
  }

  /// Compares the workers with those of the previous pass: whether they are others, or have other
  /// properties.
  mutating func haveWorkersChanged(takers: UInt64, conversations: UInt32) -> Bool {
    if takers == self.takers, conversations == self.conversations { return false }
    self.takers = takers
    self.conversations = conversations
    return true
  }
}
