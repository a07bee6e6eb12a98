// The ranks of operations, and the counts of those that are assigned to workers.

import OpClusterModel

extension ClusterState {
  func rank(of id: OperationID, _ stage: Int) -> Rank {
    let queue = graphs[id.graph.number].queue(of: id.index, stage: stage).number
    return Rank(queues[queue].settings.qos, queue: queue, level: level(of: id, stage))
  }

  /// The level of a line in which an operation stands.
  func level(of id: OperationID, _ stage: Int) -> Int {
    let graph = id.graph.number
    if graphs[graph].stages[stage].template.isBarrier { return Line.barrierLevel }
    return Line.level(of: graphs[graph].priority(of: id.index, stage: stage))
  }

  /// Counts an operation as assigned to a worker.
  mutating func assign(_ id: OperationID, _ stage: Int, at worker: UInt32) {
    let rank = rank(of: id, stage)
    workers[worker].assign(rank)
    queues[rank.queue].assigned.add(rank)
  }

  /// Counts an operation as no longer assigned: started, returned, or lost.
  mutating func unassign(_ id: OperationID, _ stage: Int, at worker: UInt32) {
    let rank = rank(of: id, stage)
    workers[worker].unassign(rank)
    queues[rank.queue].assigned.remove(rank)
  }

  /// The rank that bounds a queue's candidates of a level. The bounds are the queue's own only if
  /// operations of the queue are assigned below that level.
  func reachRank(_ queue: UInt32, level: Int) -> Rank {
    let service = queues[queue].settings.qos
    let rank = Rank(service, queue: queue, level: level)
    let isAlone =
      queues[queue].assigned.count(below: Rank(.background, queue: queue, level: level)) > 0
    return isAlone ? rank : Rank(service)
  }
}
