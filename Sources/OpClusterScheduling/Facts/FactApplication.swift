// Applies facts: only they change state. The live path decides a fact and applies it; replay
// applies it and drops the effects (G4). There is no second state machine.

import OpClusterModel

extension ClusterState {
  /// Applies a committed turn of the journal.
  mutating func replay(_ records: [Record], commit: CommitIndex) {
    var turn = Turn()
    turn.isReplay = true
    turn.commit = commit
    for record in records { apply(record, into: &turn) }
    tellQueueCounts(into: &turn)
    endGraphs(into: &turn)
    sweepLines()
    lastCommit = commit
  }

  /// Changes the durable state; nothing else does.
  mutating func apply(_ record: Record, into turn: inout Turn) {
    switch record {
    case .started(let life):
      beginLife(life, after: CommitIndex(max(turn.commit.number, 1) - 1))
    case .submitted(let graph, let submission, let fingerprint, let at):
      applySubmission(graph, submission, fingerprint, at, into: &turn)
    case .enqueued(let operations, let queue):
      for id in operations { enqueue(id, in: queue, into: &turn) }
    case .queueCreated(let id, let settings):
      addQueue(id, settings, owner: nil)
      emit(.queueCreated(settings), about: .queue(id), into: &turn)
    case .queueChanged(let id, let settings):
      changeQueue(id, settings, into: &turn)
    case .queueRemoved(let id):
      removeQueue(id)
      emit(.queueRemoved, about: .queue(id), into: &turn)
    case .workerJoined(let id, let name, let session):
      addWorker(id, name, session, into: &turn)
    case .workerLost(let id):
      loseWorker(id, counts: true, into: &turn)
    case .workerLeft(let id):
      loseWorker(id, counts: false, into: &turn)
    case .workerDraining(let id):
      drainWorker(id, into: &turn)
    case .workerSetAside(let id, let stage, let reason):
      emit(.workerSetAside(stage, reason: reason), about: .worker(id), into: &turn)
    case .workerResumed(let id, let stage):
      emit(.workerResumed(stage), about: .worker(id), into: &turn)
    case .graphSuspended(let graph, let isSuspended):
      suspendGraph(graph, isSuspended, into: &turn)
    case .restoredGraph(let state):
      restore(state)
    case .restoredEnding(let ending):
      remember(ending)
    case .restoredCounters(let values):
      counters = values
    case .restoredKeys(let kept):
      for key in kept { keys.restore(key) }
    case .keysDated(let at):
      keys.pass(at)
      turn.keysDate = at
    case .graphsRemoved(let graphs):
      forgetGraphs(graphs)
    case .dispatched, .recalled, .executing, .succeeded, .finished, .attemptFailed, .cancelled,
      .dependencyAdded, .dependencyRemoved, .prioritySet, .held, .released, .moved, .blocksAdded:
      applyToOperations(record, into: &turn)
    }
  }

  /// Applies a fact about operations.
  private mutating func applyToOperations(_ record: Record, into turn: inout Turn) {
    switch record {
    case .dispatched(let worker, let runs):
      runs.forEachOperation { apply(.dispatched(worker), to: $0, into: &turn) }
    case .recalled(let runs):
      runs.forEachOperation { apply(.recalled, to: $0, into: &turn) }
    case .executing(let runs):
      runs.forEachOperation { apply(.executing, to: $0, into: &turn) }
    case .succeeded(let runs):
      runs.forEachOperation { apply(.succeeded, to: $0, into: &turn) }
    case .finished(let id, let result):
      finishAttempt(id, result, into: &turn)
    case .attemptFailed(let id, let result):
      failAttempt(id, result, into: &turn)
    case .cancelled(let runs, let reason):
      cancel(runs, reason, into: &turn)
    case .dependencyAdded(let from, let to, let policy):
      addDependency(from, to, policy, into: &turn)
    case .dependencyRemoved(let from, let to):
      removeDependency(from, to, into: &turn)
    case .prioritySet(let id, let priority):
      setPriority(id, priority, into: &turn)
    case .held(let runs):
      setHeld(runs, true, into: &turn)
    case .released(let runs):
      setHeld(runs, false, into: &turn)
    case .moved(let id, let queue):
      moveToQueue(id, queue, into: &turn)
    case .blocksAdded(let id, let bytes):
      addBlocks(bytes, to: id)
    case .started, .submitted, .enqueued, .queueCreated, .queueChanged, .queueRemoved,
      .workerJoined, .workerLost, .workerLeft, .workerDraining, .workerSetAside, .workerResumed,
      .graphSuspended, .restoredGraph, .restoredEnding, .restoredCounters, .restoredKeys,
      .keysDated,
      .graphsRemoved:
      preconditionFailure("not a fact about operations: \(record)")
    }
  }

  /// Applies a fact that comes in runs to one operation.
  @inline(__always)
  mutating func apply(_ fact: RunFact, to id: OperationID, into turn: inout Turn) {
    switch fact {
    case .dispatched(let worker): handOver(id, to: worker, into: &turn)
    case .recalled: giveBack(id, into: &turn)
    case .executing: begin(id, into: &turn)
    case .succeeded: succeed(id, output: nil, into: &turn)
    }
  }

  /// Ends an operation whose running attempt succeeded. A report of the end implies its beginning
  /// (S149); a join point has no worker and no attempt (S4).
  ///
  /// - Parameter output: The output; empty if it is not kept; nil if there is none.
  mutating func succeed(_ id: OperationID, output: [UInt8]?, into turn: inout Turn) {
    let graph = id.graph.number
    let cell = graphs[graph].cell(id.index)
    if cell.phase != .executing || cell.isHeldUnstarted { begin(id, into: &turn) }
    if cell.isCancelled { return end(id, .cancelled, into: &turn) }
    if let output { keep(output, of: id) }
    end(id, .succeeded, into: &turn)
  }

  /// Ends an operation by the end of its attempt.
  mutating func finishAttempt(
    _ id: OperationID, _ result: AttemptResult, into turn: inout Turn
  ) {
    if result.isSuccess { return succeed(id, output: result.output, into: &turn) }
    let graph = id.graph.number
    let cell = graphs[graph].cell(id.index)
    if cell.phase != .executing || cell.isHeldUnstarted { begin(id, into: &turn) }
    let outcome = outcome(of: result, isCancelled: cell.isCancelled)
    if outcome != .cancelled { countFailure(id, result) }
    end(id, outcome, into: &turn)
  }

  /// The outcome of an operation: cancelled wins if the flag is set at the finish (S100).
  func outcome(of result: AttemptResult, isCancelled: Bool) -> Outcome {
    if isCancelled { return .cancelled }
    return switch result.cause {
    case .none: .cancelled
    case .timeout: .timedOut
    // Final only for operations that must not run twice.
    case .lost, .workerStopped: .lost
    case .failed, .signal, .outOfMemory, .cannotStart, .badArgument, .unknownType,
      .missingInput, .badOutput:
      .failed
    }
  }

  private mutating func countFailure(_ id: OperationID, _ result: AttemptResult) {
    let graph = id.graph.number
    let stage = graphs[graph].stageNumber(of: id.index)
    let isAllowed =
      switch graphs[graph].stages[stage].template.allowedFailures {
      case .none: false
      case .all: true
      case .exitStatuses(let statuses):
        result.cause == .failed && statuses.contains(result.exitStatus)
      }
    if isAllowed {
      graphs[graph].allowedFailures += 1
    } else {
      graphs[graph].countFailure(stage)
      failedGraphs.append(id.graph)
    }
  }

  /// Ends an attempt after which the operation is tried again.
  mutating func failAttempt(_ id: OperationID, _ result: AttemptResult, into turn: inout Turn) {
    let graph = id.graph.number
    let cell = graphs[graph].cell(id.index)
    if cell.phase != .executing || cell.isHeldUnstarted { begin(id, into: &turn) }
    let stage = graphs[graph].stageNumber(of: id.index)
    let isCounted = result.cause != .workerStopped
    noteAvoided(id, cell, stage, after: result.cause, into: turn)
    let delay =
      turn.isReplay || !isCounted ? .zero : backoff(stage, of: graph, failures: cell.failures)
    graphs[graph].update(id.index) { cell in
      switch result.cause {
      case .lost: cell.losses = min(cell.losses, .max - 1) + 1
      case .workerStopped: break
      default: cell.failures = min(cell.failures, .max - 1) + 1
      }
    }
    tryAgain(id, cause: result.cause, delay: delay, into: &turn)
  }

  /// The pause before the next attempt, after this number of earlier failures.
  private func backoff(_ stage: Int, of graph: UInt32, failures: UInt8) -> Span {
    let policy = graphs[graph].stages[stage].template.retry
    var delay = policy.backoff
    for _ in 0..<failures {
      delay = delay.scaled(by: Double(policy.backoffPercent) / 100)
    }
    return min(max(delay, .zero), policy.maximumBackoff)
  }
}

extension OperationRuns {
  @inline(__always)
  func forEachOperation(_ body: (OperationID) -> Void) {
    forEach { body(OperationID(graph: graph, index: $0)) }
  }
}
