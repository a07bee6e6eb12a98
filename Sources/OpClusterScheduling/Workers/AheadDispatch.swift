// Local unblocking (S151): a waiting operation whose unfinished dependencies are all at one worker
// is sent there ahead of time, with those edges, and starts without a round trip. Not if a limit, a
// barrier, a suspension, resources or a ready operation of a higher level forbid it.

import OpClusterModel

extension Scheduler {
  /// Goes on where it stopped at workers that have reported ends. What is in line was handed over
  /// before, or stands there still, and then nothing of its level passes it (S59). Costs the
  /// workers that have reported, and for those with room the edges of the operations where it
  /// stopped and of what it sends.
  mutating func continueAhead(into turn: inout SchedulingTurn) {
    let due = aheadStops.takeDue()
    // The stops stay for a later report.
    guard aheadPauses == 0, lingering.isEmpty else { return }
    for worker in due {
      guard workers.contains(worker), conversations.contains(worker), hasRoomAhead(worker, turn.now)
      else { continue }
      let operations = aheadStops.takeStops(at: worker)
      for (at, id) in operations.enumerated() {
        guard assignmentPass.room > 0, hasRoomAhead(worker, turn.now) else {
          aheadStops.remember(operations[at...], at: worker)
          break
        }
        guard graphs.contains(id.graph.number) else { continue }
        let cell = graphs[id.graph.number].cell(id.index)
        // One that has ended here has made its dependents ready.
        guard cell.worker == worker, cell.phase == .dispatched || cell.phase == .executing else {
          continue
        }
        assignmentPass.noteHandedOver(
          dispatchAhead(after: id, to: WorkerID(worker), isContinued: true, into: &turn))
      }
    }
  }

  /// Whether a worker may be given more than it can start at once.
  private func hasRoomAhead(_ worker: UInt32, _ now: Instant) -> Bool {
    workers[worker].assigned < conversations[worker].prefetch(at: now)
  }

  /// Sends dependents of a just dispatched operation ahead of time, and in turn their dependents;
  /// returns how many.
  /// Not while a request waits for what went ahead to come back (`aheadPauses`), and not while a
  /// failure policy has yet to end members (`lingering`, or of its graph). Costs the edges of what
  /// it sends, each operation with at most 64 on either side.
  ///
  /// - Parameter isContinued: Whether the operation was dispatched in an earlier turn.
  mutating func dispatchAhead(
    after id: OperationID, to worker: WorkerID, isContinued: Bool = false,
    into turn: inout SchedulingTurn
  ) -> UInt32 {
    guard aheadPauses == 0, lingering.isEmpty, !graphs[id.graph.number].isStopping,
      !graphs[id.graph.number].dependents.isEmpty
    else { return 0 }
    var work = [id]
    var next = 0
    while next < work.count {
      let graph = work[next].graph.number
      let range = graphs[graph].dependents.range(of: work[next].index)
      next += 1
      if range.count > Limits.dependenciesForLocalUnblocking { continue }
      for position in range {
        // The room of the worker is asked for each: what goes ahead fills it as well.
        guard hasRoomAhead(worker.number, turn.now) else {
          aheadStops.remember(work[(next - 1)...], at: worker.number)
          return UInt32(work.count - 1)
        }
        let index = graphs[graph].dependents[position].index
        let dependent = graphs[graph].operation(index)
        guard let awaits = localDependencies(of: dependent, at: worker, isContinued, turn.now)
        else { continue }
        let bytes = mostBytes(graph: graph, graphs[graph].stageNumber(of: index))
        guard conversations[worker.number].hasRoom(for: bytes) else {
          aheadStops.remember(work[(next - 1)...], at: worker.number)
          return UInt32(work.count - 1)
        }
        if dispatch(dependent, to: worker, awaits: awaits, into: &turn) { work.append(dependent) }
      }
    }
    return UInt32(work.count - 1)
  }

  /// The unfinished dependencies if the operation may go to that worker ahead of time. Only
  /// dependencies that `aheadDependents` knows: not on other graphs, added later, or from array to
  /// array.
  private mutating func localDependencies(
    of id: OperationID, at worker: WorkerID, _ isContinued: Bool, _ now: Instant
  ) -> [LocalDependency]? {
    let graph = id.graph.number
    let stage = graphs[graph].stageNumber(of: id.index)
    let cell = graphs[graph].cell(id.index)
    guard cell.phase == .waiting, cell.losses == 0,
      // What is to be skipped may wait for this end alone, and its gates are open.
      cell.flags.isDisjoint(with: [.cancelled, .impossible, .pinned, .held]),
      cell.blockers > 0, hasFewDependencies(id, stage),
      mayGoAhead(graph, stage, id.index, worker, isContinued, now), isNear(id, stage, worker)
    else { return nil }
    var awaits: [LocalDependency] = []
    let removed = graphs[graph].removedDependencies[id.index]
    for position in graphs[graph].dependencies.range(of: id.index) {
      let edge = graphs[graph].dependencies[position]
      let on = graphs[graph].operation(edge.index)
      if state.knownEnding(of: on) != nil || removed?.contains(on) == true { continue }
      guard isThere(on, worker, edge.policy) else { return nil }
      awaits.append(LocalDependency(operation: on, policy: edge.policy))
    }
    // Blockers beyond those found are edges that no local end meets: external, late, or by element.
    guard awaits.count == Int(cell.blockers), hasInputsInOrder(id, stage) else { return nil }
    return awaits
  }

  /// Whether an operation has no more dependencies, ended ones too, than may be looked at for each
  /// of them that is dispatched; one on a stage counts once. Costs nothing that grows with them.
  private func hasFewDependencies(_ id: OperationID, _ stage: Int) -> Bool {
    let graph = id.graph.number
    let single =
      graphs[graph].dependencies.range(of: id.index).count
      + (graphs[graph].extraDependencies[id.index]?.count ?? 0)
    return single + graphs[graph].stages[stage].incoming.count
      <= Limits.dependenciesForLocalUnblocking
  }

  /// Whether what an operation reads of its dependencies would have the order of addition if it
  /// went ahead now: a worker puts what it unblocks by itself behind what it is given (S135). Costs
  /// the dependencies of one that reads them.
  private func hasInputsInOrder(_ id: OperationID, _ stage: Int) -> Bool {
    let graph = id.graph.number
    guard graphs[graph].stages[stage].template.wantsInputs else { return true }
    var (isAnyAwaited, isInOrder) = (false, true)
    graphs[graph].forEachDependency(of: id.index) { on, _ in
      if state.knownEnding(of: on) == nil {
        isAnyAwaited = true
      } else if isAnyAwaited {
        isInOrder = false
      }
    }
    return isInOrder
  }

  /// The conditions besides dependencies. Limit, `max_parallel` and barriers are counted by the
  /// coordinator alone; a worker that starts by itself could not keep them (S59). An operation
  /// without losses to spare must not depend on an end that is lost along with it.
  private mutating func mayGoAhead(
    _ graph: UInt32, _ stage: Int, _ index: UInt32, _ worker: WorkerID, _ isContinued: Bool,
    _ now: Instant
  ) -> Bool {
    guard graphs[graph].stages[stage].gates == 0, !graphs[graph].isSuspended,
      graphs[graph].stages[stage].template.maximumParallel == 0,
      graphs[graph].stages[stage].template.maximumLosses > 0,
      !graphs[graph].stages[stage].template.isBarrier,
      // Whether it has to run shows when its inputs are known.
      !graphs[graph].stages[stage].template.isReusable,
      exclusivesFrom == nil || !graphs[graph].stages[stage].template.isExclusive,
      fits(worker.number, state.classInLine(graph, stage, index)),
      takesWork(worker.number)
    else { return false }
    let queue = graphs[graph].queue(of: index, stage: stage).number
    guard queues[queue].settings.maximumConcurrent == nil, !queues[queue].settings.isSuspended,
      !queues[queue].hasBarriers, isInPool(worker.number, of: queue)
    else { return false }
    // Ready operations of a higher level go first. Those of its own are passed only by what goes
    // along with one of them: a chain that went on and on would keep them waiting.
    let level = Line.level(of: graphs[graph].priority(of: index, stage: stage))
    return !hasWaiting(queue, above: isContinued ? level - 1 : level, at: now)
  }

  /// Whether the worker has a dependency whose end it can judge itself: with `succeeded` always,
  /// with other policies only if no further attempt may follow a failure.
  private func isThere(_ id: OperationID, _ worker: WorkerID, _ policy: EdgePolicy) -> Bool {
    guard graphs.contains(id.graph.number) else { return false }
    let cell = graphs[id.graph.number].cell(id.index)
    guard cell.worker == worker.number,
      cell.flags.isDisjoint(with: [.cancelled, .impossible, .recalling])
    else { return false }
    let stage = graphs[id.graph.number].stageNumber(of: id.index)
    let template = graphs[id.graph.number].stages[stage].template
    return policy == .succeeded || template.retry.maximum == 0
  }
}
