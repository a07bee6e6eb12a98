// The pool of a queue: labels that a worker must have for operations of the queue, in addition to
// their own requirements (S146). The pool belongs to the queue: an operation that moves gets
// another pool, and the pool changes only while the queue is empty. Called by `assign` and by
// requests about queues.

import OpClusterModel

extension Scheduler {
  /// Whether a worker may be given operations of a queue at all. Checks its labels if the queue has
  /// a pool.
  func isInPool(_ worker: UInt32, of queue: UInt32) -> Bool {
    let pool = queues[queue].settings.pool
    return pool.isEmpty || pool.allSatisfy { $0.isMet(by: conversations[worker].labels) }
  }

  /// Whether a worker could ever run an operation in its present queue.
  func couldRun(_ worker: UInt32, _ id: OperationID) -> Bool {
    let graph = id.graph.number
    let stage = graphs[graph].stageNumber(of: id.index)
    return fits(worker, graphs[graph].demandClass(of: stage))
      && isInPool(worker, of: graphs[graph].queue(of: id.index, stage: stage).number)
  }

  /// The requirements of an operation, including its queue's pool.
  func requirements(of id: OperationID) -> DemandClass {
    let graph = id.graph.number
    let stage = graphs[graph].stageNumber(of: id.index)
    var wanted = classes[graphs[graph].demandClass(of: stage)].demandClass
    let queue = graphs[graph].queue(of: id.index, stage: stage).number
    wanted.requirements += queues[queue].settings.pool
    return wanted
  }

  // MARK: - Followed pools

  /// The pool of a queue; nil: it has none, and any worker may take its operations. Costs a look at
  /// each worker when a pool is asked for that is not known.
  mutating func followedPool(of queue: UInt32) -> Int? {
    let wanted = queues[queue].settings.pool
    if wanted.isEmpty { return nil }
    if let known = workerPools.find(wanted) { return known }
    looks += workers.count
    return workerPools.follow(wanted, workers.numbers.filter { isInPool($0, of: queue) })
  }

  mutating func renewPool(_ pool: Int?) {
    if let pool { workerPools.renew(pool, from: workerIndex, &looks) }
  }

  /// The tree of a pool's workers, or of all.
  func workerTree(of pool: Int?) -> WorkerIndex {
    if let pool { return workerPools[pool].index }
    return workerIndex
  }

  func belongs(_ worker: UInt32, to pool: Int?) -> Bool {
    if let pool { return workerPools[pool].members.contains(worker) }
    return true
  }

  /// Whether the pools follow the workers; checked by the invariants.
  func brokenPool() -> String? {
    var (pools, steps) = (workerPools, 0)
    for pool in 0..<pools.count {
      pools.renew(pool, from: workerIndex, &steps)
      for worker in workers.numbers {
        let isMember = pools[pool].requirements.allSatisfy {
          $0.isMet(by: conversations[worker].labels)
        }
        if isMember != pools[pool].members.contains(worker) {
          return "worker \(workers[worker].name) is in pool \(pool), or is not"
        }
        if pools[pool].index[worker] != (isMember ? workerIndex[worker] : nil) {
          return "worker \(workers[worker].name) is not as pool \(pool) says"
        }
      }
      if pools[pool].members.count > workers.count { return "pool \(pool) has others" }
      if let node = pools[pool].index.brokenNode { return "node \(node) of pool \(pool)" }
    }
    return nil
  }

  // MARK: - Changes

  func checkEmpty(_ queue: Queue, _ what: String = "") throws(Refusal) {
    let count = queue.members + queue.barrierCount
    if count == 0 { return }
    let name = queue.settings.name
    let whole = what.isEmpty ? "" : what + " only while it is empty: "
    throw Refusal(
      .queueNotEmpty, "\(whole)queue \(name) has \(count) operations",
      hint: .cancelQueue(name))
  }
}

extension [LabelRequirement] {
  /// Checks a pool: the codec checks it in messages, but an in-process scheduler has no codec.
  func checkPool() throws(Refusal) {
    if count > Limits.labelsPerThing {
      throw Refusal(
        .limitExceeded, "a pool of \(count) labels; at most \(Limits.labelsPerThing)",
        hint: "give the workers one label that stands for them all")
    }
    if Set(map(\.key)).count < count {
      throw Refusal(
        .badRequest, "the pool names a label twice",
        hint: "give each key once, with all values of which a worker must have one")
    }
    for requirement in self where requirement.key.isEmpty || requirement.values.isEmpty {
      throw Refusal(
        .badRequest, "the pool's label '\(requirement.key)' has no key, or no value",
        hint: "give a key and the values of which a worker must have one")
    }
  }
}
