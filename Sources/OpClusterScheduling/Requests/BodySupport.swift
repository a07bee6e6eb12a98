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

  /// Where a worker of this name speaks; nil when it is not connected.
  public func peer(ofWorkerNamed name: String) -> PeerID? {
    guard let worker = seatByName[name] else { return nil }
    return seats.find(worker.number)?.peer
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
    guard cell.worker != 0, let seat = seats.find(cell.worker) else { return nil }
    return (cell.attempt, cell.run, seat.name)
  }
}
