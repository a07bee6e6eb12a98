// Facts about workers: they come, are drained, are lost.

import OpClusterModel

extension ClusterState {
  // MARK: - Facts

  mutating func addWorker(
    _ id: WorkerID, _ name: String, _ session: WorkerSession, into turn: inout SchedulingTurn
  ) {
    workers.insert(WorkerRecord(id: id, name: name, session: session), number: id.number)
    counters.lastWorker = max(counters.lastWorker, id.number)
    workerByName[name] = id
    workerBySession[session] = id
    emit(.workerJoined(name: name), about: .worker(id), into: &turn)
  }

  /// Gives a worker nothing new from now on, in any later conversation either (S148).
  mutating func drainWorker(_ id: WorkerID, into turn: inout SchedulingTurn) {
    guard workers.contains(id.number) else { return }
    workers[id.number].isDraining = true
    emit(.workerDraining, about: .worker(id), into: &turn)
  }

  /// Releases all operations of a worker: unstarted attempts are ready again, running ones follow
  /// their policy (S12, S101).
  mutating func loseWorker(_ id: WorkerID, counts: Bool, into turn: inout SchedulingTurn) {
    guard workers.contains(id.number) else { return }
    // Sorted, so that a restored state uses the same order: an end may be another's reason.
    for operation in operations(at: id).sorted() {
      let cell = graphs[operation.graph.number].cell(operation.index)
      if cell.worker != id.number { continue }
      if cell.isAssigned {
        giveBack(operation, into: &turn)
      } else {
        interrupt(operation, cell, counts: counts, by: id, into: &turn)
      }
    }
    let worker = workers[id.number]
    if workerByName[worker.name] == id { workerByName[worker.name] = nil }
    workerBySession[worker.session] = nil
    workers.remove(id.number)
    turn.dropOrders(for: id.number)
    emit(counts ? .workerLost : .workerLeft, about: .worker(id), into: &turn)
  }

  mutating func interrupt(
    _ id: OperationID, _ cell: OperationCell, counts: Bool, by worker: WorkerID,
    into turn: inout SchedulingTurn
  ) {
    var result = AttemptResult()
    result.cause = counts ? .lost : .workerStopped
    if counts {
      graphs[id.graph.number].update(id.index) { $0.losses = min($0.losses, .max - 1) + 1 }
    }
    let isFinal = cell.isCancelled || (counts && !mayRunAgainAfterLoss(id, counted: true))
    note(result, of: id, ends: isFinal, by: worker, into: &turn)
    if isFinal {
      finishAttempt(id, result, into: &turn)
    } else {
      tryAgain(id, cause: result.cause, delay: .zero, into: &turn)
      if !turn.isReplay { recallAhead(of: id, into: &turn) }
    }
  }

  /// Whether an operation must not run again after a run that its worker did not complete.
  func runsOnce(_ id: OperationID) -> Bool {
    let graph = id.graph.number
    return graphs[graph].stages[graphs[graph].stageNumber(of: id.index)].template.maximumLosses == 0
  }

  /// Whether another run may follow a loss: losses do not fail an operation until there are too
  /// many (S12).
  func mayRunAgainAfterLoss(_ id: OperationID, counted: Bool = false) -> Bool {
    let graph = id.graph.number
    let stage = graphs[graph].stageNumber(of: id.index)
    let losses = UInt32(graphs[graph].cell(id.index).losses) + (counted ? 0 : 1)
    return losses < graphs[graph].stages[stage].template.maximumLosses
  }
}
