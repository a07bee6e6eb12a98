// Read-only queries of the coordinator's body beside inputs and turns: answers that it merges with
// the history, and the workers of attempts.

public import OpClusterModel

extension Scheduler {
  /// Answers a reading request from the living state; call it between turns.
  ///
  /// - Throws: A refusal if nothing that lives matches.
  public func answer(
    _ request: ClientRequest, at now: Instant
  ) throws(Refusal) -> ClientReply {
    try read(request, at: now)
  }

  /// The operations of living graphs that have not ended; visits all graphs.
  public var unfinishedOperations: UInt64 {
    graphs.numbers.reduce(0) { $0 + UInt64(graphs[$1].unfinished) }
  }

  public var livingGraphCount: Int { graphs.count }

  /// Queues that belong to no graph, the oldest first. Costs those that are looked at.
  public func sharedQueues(atMost limit: Int, among looks: Int) -> [QueueRow] {
    queues.numbers(after: nil, limit: looks).lazy.filter { queues[$0].owner == nil }
      .prefix(limit).map { row(ofQueue: $0) }
  }

  /// The size of the submission of each living graph, for estimates of memory; visits all graphs.
  public func sizesOfLivingGraphs() -> [(
    graph: GraphID, templates: Int, operations: Int, bytes: Int
  )] {
    graphs.numbers.map { number in
      let stages = graphs[number].stages
      var bytes = 0
      for template in stages.lazy.map(\.template) {
        bytes += template.name.utf8.count + template.payload.count
        bytes += template.elementArguments.bytes.count + template.ownFiles.bytes.count
      }
      return (
        GraphID(number), stages.count, Int(graphs[number].operationCount), bytes
      )
    }
  }

  /// The connection of the worker with this name; nil if it is not connected.
  public func peer(ofWorkerNamed name: String) -> PeerID? {
    guard let worker = workerByName[name] else { return nil }
    return conversations.find(worker.number)?.peer
  }

  /// The name of a worker; empty if the worker is gone.
  public func workerName(_ worker: WorkerID) -> String { workers.find(worker.number)?.name ?? "" }

  /// The name of the worker at this connection; nil if there is none.
  public func workerName(at peer: PeerID) -> String? {
    guard let worker = workerByPeer[peer] else { return nil }
    return workers.find(worker.number)?.name
  }

  /// The attempt of an operation at a worker, unstarted or running. `run` is its number for people;
  /// an attempt that has not begun has the number that it will get.
  public func currentAttempt(
    of operation: OperationID
  ) -> (attempt: UInt32, run: UInt32, workerName: String)? {
    guard graphs.contains(operation.graph.number),
      operation.index < graphs[operation.graph.number].operationCount
    else { return nil }
    let cell = graphs[operation.graph.number].cell(operation.index)
    guard cell.worker != 0, let worker = workers.find(cell.worker) else { return nil }
    return (cell.attempt, cell.run, worker.name)
  }
}
