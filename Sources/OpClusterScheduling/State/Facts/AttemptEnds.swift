// Facts about the end of an attempt: whether its operation ends with it, or is tried again.

import OpClusterModel

extension ClusterState {
  /// Ends an operation whose running attempt succeeded. A report of the end implies its beginning
  /// (S149); a join point has no worker and no attempt (S4).
  ///
  /// - Parameter output: The output; empty if it is not kept; nil if there is none.
  mutating func succeed(_ id: OperationID, output: [UInt8]?, into turn: inout SchedulingTurn) {
    let graph = id.graph.number
    let cell = graphs[graph].cell(id.index)
    if cell.phase != .executing || cell.isAssigned { begin(id, into: &turn) }
    if cell.isCancelled { return end(id, .cancelled, into: &turn) }
    if let output { keep(output, of: id) }
    end(id, .succeeded, into: &turn)
  }

  /// Ends an operation by the end of its attempt.
  mutating func finishAttempt(
    _ id: OperationID, _ result: AttemptResult, into turn: inout SchedulingTurn
  ) {
    if result.isSuccess { return succeed(id, output: result.output, into: &turn) }
    let graph = id.graph.number
    let cell = graphs[graph].cell(id.index)
    if cell.phase != .executing || cell.isAssigned { begin(id, into: &turn) }
    let outcome = outcome(of: result, isCancelled: cell.isCancelled)
    if outcome != .cancelled { countFailure(id, result) }
    let isSeen = result.outcomeAtWorker(isCancelled: cell.isCancelled) == outcome
    end(id, outcome, isSeen: isSeen, into: &turn)
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
      .missingInput, .inputUnavailable, .badOutput, .storeFull:
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
  mutating func failAttempt(
    _ id: OperationID, _ result: AttemptResult, at moment: WallTime,
    into turn: inout SchedulingTurn
  ) {
    let graph = id.graph.number
    let cell = graphs[graph].cell(id.index)
    if cell.phase != .executing || cell.isAssigned { begin(id, into: &turn) }
    let stage = graphs[graph].stageNumber(of: id.index)
    let isCounted = result.cause != .workerStopped
    noteAvoided(id, cell, stage, after: result.cause, into: turn)
    // Journals of earlier releases do not say when: a replayed pause without a begin is over.
    let isOver = turn.isReplay && moment == .unknown
    let delay = isOver || !isCounted ? .zero : backoff(stage, of: graph, failures: cell.failures)
    graphs[graph].update(id.index) { cell in
      switch result.cause {
      case .lost: cell.losses = min(cell.losses, .max - 1) + 1
      case .workerStopped: break
      default: cell.failures = min(cell.failures, .max - 1) + 1
      }
    }
    if delay > .zero, moment != .unknown {
      graphs[graph].pauses[id.index] = Graph.Pause(since: moment, length: delay)
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

  /// Records the end of an attempt for the history.
  func note(
    _ result: AttemptResult, of id: OperationID, ends: Bool, by worker: WorkerID,
    into turn: inout SchedulingTurn
  ) {
    if turn.isReplay { return }
    let cell = graphs[id.graph.number].cell(id.index)
    let outcome: Outcome =
      result.isSuccess
      ? (cell.isCancelled ? .cancelled : .succeeded)
      : outcome(of: result, isCancelled: cell.isCancelled)
    var line = AttemptHistory(
      attempt: AttemptID(operation: id, attempt: cell.attempt),
      outcome: ends ? outcome : nil, reason: graphs[id.graph.number].reasons[id.index],
      workerName: workers.contains(worker.number) ? workers[worker.number].name : "",
      result: result)
    line.run = cell.run
    line.readyAt = readyTime(id, graphs[id.graph.number].stageNumber(of: id.index))
    turn.history.append(line)
  }

  /// Notes the worker of a failed attempt that another attempt follows.
  mutating func noteAvoided(
    _ id: OperationID, _ cell: OperationCell, _ stage: Int, after cause: FailureCause,
    into turn: SchedulingTurn
  ) {
    let graph = id.graph.number
    guard graphs[graph].stages[stage].template.retry.avoidsWorker, !turn.isReplay,
      cell.worker != 0, cause != .workerStopped
    else { return }
    var avoided = graphs[graph].avoided[id.index] ?? []
    avoided.removeAll { $0 == cell.worker || !workers.contains($0) }
    if avoided.count >= Limits.workersAvoided { avoided.removeFirst() }
    avoided.append(cell.worker)
    graphs[graph].avoided[id.index] = avoided
  }
}
