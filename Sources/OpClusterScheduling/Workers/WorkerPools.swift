// The workers of the pools that queues name: one tree of summaries for each set of labels that is
// asked for, so that a worker of a pool is chosen as one of all is. A pool takes note of what
// changes and looks at it when it is asked for, so that one that nobody asks for costs nothing. Not
// durable.

import OpClusterModel

struct WorkerPools: Sendable {
  struct Pool: Sendable {
    let requirements: [LabelRequirement]
    fileprivate(set) var index = WorkerIndex()
    /// Looked up; iterated only to be sorted.
    fileprivate(set) var members: Set<UInt32> = []
    /// By demand class. Looked up, never iterated.
    var eligible: [Int: EligibleWorkers] = [:]
    /// Workers that are no longer as the tree says, or no longer in the pool,
    fileprivate var changed: [UInt32] = []
    /// unless it is to be made anew.
    fileprivate var isStale = true
    fileprivate var lastUse: UInt64 = 0

    fileprivate mutating func noteChange(of worker: UInt32) {
      if isStale { return }
      changed.append(worker)
      if changed.count <= members.count / 4 + WorkerIndex.few { return }
      changed = []
      isStale = true
    }
  }

  private var pools: [Pool] = []
  /// The number of each pool. Looked up, never iterated.
  private var numbers: [[LabelRequirement]: Int] = [:]
  private var uses: UInt64 = 0

  var count: Int { pools.count }

  subscript(number: Int) -> Pool {
    _read { yield pools[number] }
    _modify { yield &pools[number] }
  }

  /// The number of the pool with these labels; valid until one is added.
  mutating func find(_ requirements: [LabelRequirement]) -> Int? {
    guard let number = numbers[requirements] else { return nil }
    uses += 1
    pools[number].lastUse = uses
    return number
  }

  /// Adds a pool and returns its number. Others give way to it if there are many, or many workers
  /// in them. Costs its members, and a look at each pool.
  mutating func follow(_ requirements: [LabelRequirement], _ members: [UInt32]) -> Int {
    var pool = Pool(requirements: requirements)
    pool.members = Set(members)
    uses += 1
    pool.lastUse = uses
    var pooled = pools.reduce(members.count) { $0 + $1.members.count }
    while pools.count >= Limits.workerPools || pooled > Limits.pooledWorkers,
      let next = nextToLeave
    {
      pooled -= pools.remove(at: next).members.count
    }
    pools.append(pool)
    numbers = [:]
    for at in pools.indices { numbers[pools[at].requirements] = at }
    return pools.count - 1
  }

  /// One that nobody has asked for in a long time. If all are in use, the one that was asked for
  /// last: queues are served in rotation, so that it is the last to be asked for again, and the
  /// others stay.
  private var nextToLeave: Int? {
    let longAgo = UInt64(Self.rounds * pools.count)
    let oldest = pools.indices.min { pools[$0].lastUse < pools[$1].lastUse }
    if let oldest, uses - pools[oldest].lastUse > longAgo { return oldest }
    return pools.indices.max { pools[$0].lastUse < pools[$1].lastUse }
  }
  private static let rounds = 16

  /// Notes that the summary of a worker is another. Costs a look at each pool.
  mutating func noteChange(of worker: UInt32) {
    for number in pools.indices where !pools[number].isStale {
      if pools[number].members.contains(worker) { pools[number].noteChange(of: worker) }
    }
  }

  /// Notes the labels of a worker, nil if it has left. Costs a look at each pool.
  mutating func compare(_ worker: UInt32, _ labels: [Label]?) {
    for number in pools.indices {
      let isMember =
        labels.map { labels in pools[number].requirements.allSatisfy { $0.isMet(by: labels) } }
        ?? false
      if isMember, pools[number].members.insert(worker).inserted {
        // The tree is in the order of the numbers.
        pools[number].isStale = true
      } else if !isMember, pools[number].members.remove(worker) != nil {
        pools[number].noteChange(of: worker)
      }
    }
  }

  /// Makes a pool say what `all` says of its workers. Costs those that have changed, with a path to
  /// the root each, or all its members if these are many.
  mutating func renew(_ number: Int, from all: WorkerIndex, _ looks: inout Int) {
    if pools[number].isStale {
      pools[number].isStale = false
      pools[number].index.forgetAll()
      pools[number].index.set(
        pools[number].members.sorted().map { (number: $0, summary: all[$0]) }, &looks)
    }
    if pools[number].changed.isEmpty { return }
    for worker in pools[number].changed {
      let isMember = pools[number].members.contains(worker)
      pools[number].index.set(worker, isMember ? all[worker] : nil, &looks)
    }
    pools[number].changed.removeAll(keepingCapacity: true)
  }
}

/// The workers that may take an operation.
enum Candidates: Sendable {
  case all
  /// Those of a pool.
  case pool(Int)
  case few([UInt32])

  var pool: Int? { if case .pool(let number) = self { number } else { nil } }
}
