// Starts an operation by hand (S15), outside of its queue's order, limit and suspension. Only for a
// body that has the operation's code in its own process.

public import OpClusterModel

extension Scheduler {
  /// Hands a declared, ready operation to one worker and counts it as started at once. The order
  /// leaves with the turn. The worker may be draining: it then gets nothing else.
  ///
  /// - Parameters:
  ///   - peer: The connection of that worker.
  ///   - name: The queue that holds the operation meanwhile.
  /// - Returns: false if it has finished without running.
  /// - Throws: `alreadyFinished`, `alreadyStarted`, `alreadyEnqueued`, `notReady`,
  ///   `unknownOperation`, `unknownQueue`, `workerUnavailable`.
  public mutating func startByHand(
    _ id: OperationID, at peer: PeerID, queue name: String, into turn: inout SchedulingTurn
  ) throws(Refusal) -> Bool {
    turn.commit = CommitIndex(lastCommit.number + 1)
    let queue = try queue(named: name)
    guard let worker = workerByPeer[peer] else {
      throw Refusal(.workerUnavailable, "there is no worker that could run it")
    }
    try checkStartable(id, state.liveCell(id))
    commit(.enqueued([id], queue), into: &turn)
    guard dispatch(id, to: worker, awaits: [], into: &turn) else { return false }
    commit(.executing, id, into: &turn)
    return true
  }

  private func checkStartable(_ id: OperationID, _ cell: OperationCell) throws(Refusal) {
    let stage = graphs[id.graph.number].stageNumber(of: id.index)
    func refuse(_ code: Refusal.Code, _ what: String) -> Refusal {
      Refusal(code, "operation \(state.shown(id)) \(what)", operations: [id])
    }
    switch cell.phase {
    case .finished: throw refuse(.alreadyFinished, "has finished")
    case .executing, .dispatched: throw refuse(.alreadyStarted, "has been started")
    case .waiting, .ready: throw refuse(.alreadyEnqueued, "is in a queue, which starts it")
    case .declared:
      guard state.isReady(id, stage) else { throw refuse(.notReady, "is not ready") }
      guard !graphs[id.graph.number].stages[stage].template.isBarrier else {
        throw refuse(.badRequest, "is a barrier, which has a meaning only in a queue")
      }
    }
  }
}
