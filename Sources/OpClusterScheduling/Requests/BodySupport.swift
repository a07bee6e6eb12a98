// What the coordinator's body asks beside inputs and turns: answers that it merges with the
// history, and where attempts are held. Nothing here changes anything.

public import OpClusterModel

extension Scheduler {
  /// The answer to a reading request from what lives now; to be asked between turns.
  ///
  /// - Throws: a refusal when nothing that lives matches.
  public func answer(
    _ request: ClientRequest, at now: Instant
  ) throws(Refusal) -> ClientReply {
    try read(request, at: now)
  }

  /// What each living graph was submitted with, for what it takes in memory; looks at all.
  public func sizesOfLivingGraphs() -> [(
    graph: GraphID, templates: Int, operations: Int, bytes: Int
  )] {
    graphs.numbers.map { number in
      let submission = graphs[number].submission
      var bytes = 0
      for template in submission.templates {
        bytes += template.name.utf8.count + template.payload.count
        bytes += template.elementArguments.bytes.count
      }
      return (
        GraphID(number), submission.templates.count, Int(graphs[number].operationCount), bytes
      )
    }
  }

  /// Where a worker of this name speaks; nil when it is not connected.
  public func peer(ofWorkerNamed name: String) -> PeerID? {
    guard let worker = workerByName[name] else { return nil }
    return conversations.find(worker.number)?.peer
  }

  /// What a worker is called; empty: it is gone.
  public func workerName(_ worker: WorkerID) -> String { workers.find(worker.number)?.name ?? "" }

  /// The name of the worker that speaks there; nil: none does.
  public func workerName(at peer: PeerID) -> String? {
    guard let worker = workerByPeer[peer] else { return nil }
    return workers.find(worker.number)?.name
  }

  /// The attempt of an operation that a worker holds or runs now; `run` is its number as people
  /// count, of one that has not begun the number it will have.
  public func holder(
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
