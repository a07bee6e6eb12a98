// Applies facts: only they change state. The live path decides a fact and applies it; replay
// applies it and drops the effects (G4). There is no second state machine. A new fact needs a case
// here, a case of `Record`, and its columns in OpClusterWire. A function that applies one must not
// read a clock, an iteration order or anything else that a replay would see differently; the times
// it needs are in the fact.

import OpClusterModel

extension ClusterState {
  /// Applies a committed turn of the journal. Follows the records by the same steps that close a
  /// live turn, in the same order: queue counts and the ends of graphs draw event numbers, and they
  /// must draw the same ones. Called for one turn after the other, from the first or from behind a
  /// snapshot.
  mutating func replay(_ records: [Record], commit: CommitIndex) {
    var turn = SchedulingTurn()
    turn.isReplay = true
    turn.commit = commit
    for record in records { apply(record, into: &turn) }
    tellQueueCounts(into: &turn)
    endGraphs(into: &turn)
    sweepLines()
    lastCommit = commit
  }

  /// Changes the durable state; nothing else does.
  mutating func apply(_ record: Record, into turn: inout SchedulingTurn) {
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
    // Only told: whether a worker rests is decided anew by each life (`UnableWorkers`).
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
    // Before the ends of graphs with keys in this turn: a replay has no wall clock of its own.
    case .keysDated(let at):
      keys.pass(at)
      turn.keysDate = at
    case .endStepsLimited(let steps):
      counters.endStepsPerTurn = steps
    case .endsContinued:
      continueEnds(into: &turn)
    case .graphsRemoved(let graphs):
      forgetGraphs(graphs)
    case .restoredReusable(let outcomes):
      for outcome in outcomes { reusable.note(outcome) }
    case .dispatched, .recalled, .executing, .succeeded, .finished, .attemptFailed, .cancelled,
      .dependencyAdded, .dependencyRemoved, .prioritySet, .held, .released, .moved, .blocksAdded,
      .madeReusable, .recomputed:
      applyToOperations(record, into: &turn)
    }
  }

  /// Applies a fact about operations. `apply` sends the facts of its last case here, and no others.
  private mutating func applyToOperations(_ record: Record, into turn: inout SchedulingTurn) {
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
    case .attemptFailed(let id, let result, let at):
      failAttempt(id, result, at: at, into: &turn)
    case .cancelled(let runs, let reason):
      cancel(runs, reason, into: &turn)
    case .dependencyAdded(let from, let to, let policy):
      addDependency(from, to, policy, into: &turn)
    case .dependencyRemoved(let from, let to):
      removeDependency(from, to, into: &turn)
    case .prioritySet(let runs, let priority):
      setPriority(runs, priority, into: &turn)
    case .held(let runs):
      setHeld(runs, true, into: &turn)
    case .released(let runs):
      setHeld(runs, false, into: &turn)
    case .moved(let runs, let queue):
      moveToQueue(runs, queue, into: &turn)
    case .blocksAdded(let id, let bytes):
      addBlocks(bytes, to: id)
    case .madeReusable(let id, let key):
      makeReusable(id, key)
    case .recomputed(let id, let output):
      replaceOutput(of: id, output)
    case .started, .submitted, .enqueued, .queueCreated, .queueChanged, .queueRemoved,
      .workerJoined, .workerLost, .workerLeft, .workerDraining, .workerSetAside, .workerResumed,
      .graphSuspended, .restoredGraph, .restoredEnding, .restoredCounters, .restoredKeys,
      .keysDated, .restoredReusable, .endStepsLimited, .endsContinued, .graphsRemoved:
      // Spelt out rather than a default, so that a new fact is sorted in by whoever writes it.
      preconditionFailure("not a fact about operations: \(record)")
    }
  }

  /// Applies a fact that comes in runs to one operation.
  @inline(__always)
  mutating func apply(_ fact: RunFact, to id: OperationID, into turn: inout SchedulingTurn) {
    switch fact {
    case .dispatched(let worker): handOver(id, to: worker, into: &turn)
    case .recalled: giveBack(id, into: &turn)
    case .executing: begin(id, into: &turn)
    case .succeeded: succeed(id, output: nil, into: &turn)
    }
  }
}
