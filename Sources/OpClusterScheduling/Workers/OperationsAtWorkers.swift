// What workers were given of a queue, or of some graphs: gathered in one walk over the orders of
// all workers for a whole request, and without any walk if the counts say that there is nothing.

import OpClusterModel

extension Scheduler {
  /// The operations of a queue that workers were given, by worker and time.
  mutating func operationsAtWorkers(in queue: QueueID) -> [OperationID] {
    if queues[queue.number].inFlight == 0 { return [] }
    var found: [OperationID] = []
    forEachAtWorkers { graphs, id in
      let graph = id.graph.number
      let stage = graphs[graph].stageNumber(of: id.index)
      if graphs[graph].queue(of: id.index, stage: stage) == queue { found.append(id) }
    }
    return found
  }

  /// The operations of graphs that workers were given: by graph, in the given order, then by
  /// worker and time.
  mutating func operationsAtWorkers(of wanted: [GraphID]) -> [OperationID] {
    var places: [GraphID: Int] = [:]
    for graph in wanted where graphs[graph.number].inFlight > 0 && places[graph] == nil {
      places[graph] = places.count
    }
    if places.isEmpty { return [] }
    var found: [[OperationID]] = Array(repeating: [], count: places.count)
    forEachAtWorkers { _, id in
      if let place = places[id.graph] { found[place].append(id) }
    }
    return found.flatMap { $0 }
  }

  private mutating func forEachAtWorkers(_ body: (Registry<Graph>, OperationID) -> Void) {
    for number in workers.numbers {
      looks += 1 + workers[number].operations.count
      for id in state.operations(at: WorkerID(number)) { body(graphs, id) }
    }
  }
}
