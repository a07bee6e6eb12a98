// The ranks of operations, and the counts of those that workers hold.

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

  /// Counts an operation as held by a worker.
  mutating func hold(_ id: OperationID, _ stage: Int, at worker: UInt32) {
    let rank = rank(of: id, stage)
    workers[worker].hold(rank)
    queues[rank.queue].held.add(rank)
  }

  /// Counts an operation as no longer held: started, returned, or lost.
  mutating func letGo(_ id: OperationID, _ stage: Int, at worker: UInt32) {
    let rank = rank(of: id, stage)
    workers[worker].letGo(rank)
    queues[rank.queue].held.remove(rank)
  }

  /// The rank that bounds a queue's candidates of a level. The bounds are the queue's own only if
  /// workers hold operations of the queue below that level.
  func reachRank(_ queue: UInt32, level: Int) -> Rank {
    let service = queues[queue].settings.qos
    let rank = Rank(service, queue: queue, level: level)
    let isAlone = queues[queue].held.count(below: Rank(.background, queue: queue, level: level)) > 0
    return isAlone ? rank : Rank(service)
  }
}
