// The pool of a queue: labels that a worker must have to be given its operations, whatever they ask
// for themselves (S146). It belongs to the queue, so that one that moves falls under another pool,
// and changes only while the queue is empty. Called by `assign`, and by requests about queues.

import OpClusterModel

extension Scheduler {
  /// Whether a worker may be given operations of a queue at all. A look at its labels, where the
  /// queue has a pool.
  func isInPool(_ worker: UInt32, of queue: UInt32) -> Bool {
    let pool = queues[queue].settings.pool
    if SchedulingBug.forgottenPools.isPlanted { return true }
    return pool.isEmpty || pool.allSatisfy { $0.isMet(by: conversations[worker].labels) }
  }

  /// Those of a pass that may be given operations of a queue.
  func workers(_ candidates: [UInt32], inPoolOf queue: UInt32) -> [UInt32] {
    if queues[queue].settings.pool.isEmpty { return candidates }
    return candidates.filter { isInPool($0, of: queue) }
  }

  /// Whether a worker could ever run an operation where it is now.
  func couldRun(_ worker: UInt32, _ id: OperationID) -> Bool {
    let graph = id.graph.number
    let stage = graphs[graph].stageNumber(of: id.index)
    return fits(worker, graphs[graph].stages[stage].demandClass)
      && isInPool(worker, of: graphs[graph].queue(of: id.index, stage: stage).number)
  }

  /// What an operation asks of a worker, its queue's pool included.
  func wanted(by id: OperationID) -> DemandClass {
    let graph = id.graph.number
    let stage = graphs[graph].stageNumber(of: id.index)
    var wanted = classes[graphs[graph].stages[stage].demandClass].demandClass
    let queue = graphs[graph].queue(of: id.index, stage: stage).number
    wanted.requirements += queues[queue].settings.pool
    return wanted
  }

  func checkEmpty(_ queue: Queue, _ what: String = "") throws(Refusal) {
    let count = queue.members + queue.barrierCount
    if count == 0 { return }
    let name = queue.settings.name
    let whole = what.isEmpty ? "" : what + " only while it is empty: "
    throw Refusal(
      .queueNotEmpty, "\(whole)queue \(name) has \(count) operations",
      hint: "wait for them, or cancel them with: opbatch queue cancel \(name)")
  }
}

extension [LabelRequirement] {
  /// What programs send is looked at by the codec as well; a scheduler of this process has none.
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
