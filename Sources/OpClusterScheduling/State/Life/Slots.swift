// Slots: the resources of a queue and a worker that are in use (S63, S67), changed by the facts
// that hand an attempt over, begin it, or return it.

import DequeModule
import HeapModule
import OpClusterModel

extension ClusterState {
  /// Hands an attempt to a worker.
  mutating func handOver(_ id: OperationID, to worker: WorkerID, into turn: inout SchedulingTurn) {
    let graph = id.graph.number
    let stage = graphs[graph].stageNumber(of: id.index)
    let before = graphs[graph].cell(id.index)
    if before.phase != .executing {
      move(id, stage, .handOver)
    }
    graphs[graph].endPause(of: id.index)
    graphs[graph].update(id.index) { cell in
      cell.attempt += 1
      cell.worker = worker.number
      // A replay does not see the pause end.
      cell.flags.remove(.backingOff)
      if before.phase == .waiting { cell.flags.insert(.ahead) }
    }
    graphs[graph].inFlight += 1
    graphs[graph].stages[stage].inFlight += 1
    queues[graphs[graph].queue(of: id.index, stage: stage).number].inFlight += 1
    let demandClass = graphs[graph].demandClass(of: stage)
    workers[worker.number].taken.count(classes[demandClass].demandClass.demand)
    assign(id, stage, at: worker.number)
    workers[worker.number].operations.append(id)
    if workers[worker.number].operations.count > 64 { sweepOperations(worker) }
  }

  /// Removes entries that are no longer at the worker, if there are many.
  private mutating func sweepOperations(_ worker: WorkerID) {
    let live = Int(workers[worker.number].assigned + workers[worker.number].executing)
    guard workers[worker.number].operations.count > live * 2 + 64 else { return }
    let kept = operations(at: worker)
    workers[worker.number].operations.removeAll(keepingCapacity: true)
    workers[worker.number].operations.append(contentsOf: kept)
  }

  /// The operations at a worker, unstarted or running, in the order of handing over; each once.
  func operations(at worker: WorkerID) -> [OperationID] {
    var seen: Set<OperationID> = []
    return workers[worker.number].operations.filter { id in
      graphs.contains(id.graph.number)
        && graphs[id.graph.number].cell(id.index).worker == worker.number
        && seen.insert(id).inserted
    }
  }

  /// The unstarted operations at a worker, in the order of handing over; each once. Looks back as
  /// far as the oldest of them, past few that run.
  func unstarted(at worker: WorkerID) -> [OperationID] {
    var left = workers[worker.number].assigned
    var (found, seen): ([OperationID], Set<OperationID>) = ([], [])
    var at = workers[worker.number].operations.count
    while left > 0, at > 0 {
      at -= 1
      let id = workers[worker.number].operations[at]
      guard graphs.contains(id.graph.number) else { continue }
      let cell = graphs[id.graph.number].cell(id.index)
      guard cell.worker == worker.number, cell.isAssigned, seen.insert(id).inserted else {
        continue
      }
      found.append(id)
      left -= 1
    }
    return found.reversed()
  }

  /// Begins the running attempt; the operation's isExecuting becomes true with the first (S12).
  mutating func begin(_ id: OperationID, into turn: inout SchedulingTurn) {
    let graph = id.graph.number
    let stage = graphs[graph].stageNumber(of: id.index)
    let cell = graphs[graph].cell(id.index)
    if cell.worker != 0 {
      unassign(id, stage, at: cell.worker)
      workers[cell.worker].executing += 1
      if !turn.isReplay { turn.consequences.letGo.append((cell.worker, id, hasLeft: false)) }
      emit(.attemptStarted(UInt32(cell.runs) + 1, WorkerID(cell.worker)), id, into: &turn)
    }
    graphs[graph].update(id.index) { cell in
      if cell.worker != 0 { cell.runs = min(cell.runs, .max - 1) + 1 }
      cell.flags.subtract([.recalling, .retrying])
    }
    // What has begun is not skipped any more.
    if cell.isImpossible { noLongerImpossible(OperationSpan(id, stage: stage)) }
    if cell.phase == .executing { return }
    move(id, stage, .begin)
    queues[graphs[graph].queue(of: id.index, stage: stage).number].executing += 1
    if !turn.isReplay { timestamps[id, default: Timestamps()].started = turn.wall }
    emit(.isExecuting(true), id, into: &turn)
  }

  /// Releases the worker and the slot of an operation.
  mutating func leaveWorker(_ id: OperationID, _ stage: Int, into turn: inout SchedulingTurn) {
    let graph = id.graph.number
    let cell = graphs[graph].cell(id.index)
    if cell.worker == 0 { return }
    if workers.contains(cell.worker) {
      let demandClass = graphs[graph].demandClass(of: stage)
      workers[cell.worker].taken.take(classes[demandClass].demandClass.demand)
      if cell.isAssigned {
        unassign(id, stage, at: cell.worker)
      } else {
        workers[cell.worker].executing -= 1
      }
    }
    graphs[graph].update(id.index) { cell in
      cell.worker = 0
      cell.flags.remove(.recalling)
    }
    if !turn.isReplay { turn.consequences.letGo.append((cell.worker, id, hasLeft: true)) }
    graphs[graph].inFlight -= 1
    graphs[graph].stages[stage].inFlight -= 1
    queues[graphs[graph].queue(of: id.index, stage: stage).number].inFlight -= 1
    if !graphs[graph].stages[stage].parked.isEmpty { unparkStage(graph, stage) }
  }

  /// Releases parked runs, since the stage is below its own limit again (`max_parallel`).
  private mutating func unparkStage(_ graph: UInt32, _ stage: Int) {
    let parked = graphs[graph].stages[stage].parked
    graphs[graph].stages[stage].parked = []
    for place in parked { returnToLine(place) }
  }

  /// Returns a run to its line. What was moved or got another priority meanwhile has entered
  /// another line by itself, and no longer stands in this one.
  mutating func returnToLine(_ place: LinePlace) {
    let graph = place.run.graph.number
    // All may have ended meanwhile, and their queue may have been removed.
    guard queues.contains(place.queue) else { return }
    let stage = graphs[graph].stageNumber(of: place.run.first)
    enterLine(
      place.run, place.queue, demandClass: classInLine(graph, stage, place.run.first),
      level: place.level)
  }

  /// Returns an attempt that its worker will never start (S148).
  mutating func giveBack(_ id: OperationID, into turn: inout SchedulingTurn) {
    let graph = id.graph.number
    let stage = graphs[graph].stageNumber(of: id.index)
    guard graphs[graph].cell(id.index).isAssigned else { return }
    leaveWorker(id, stage, into: &turn)
    // Recalled: dependents sent ahead for it use room there, perhaps the room that it needs itself.
    if !turn.isReplay { recallAhead(of: id, into: &turn) }
    let cell = graphs[graph].cell(id.index)
    if cell.phase == .dispatched {
      move(id, stage, cell.flags.contains(.ahead) ? .giveBackWaiting : .giveBackReady)
      graphs[graph].update(id.index) { $0.flags.remove(.ahead) }
    }
    if cell.isCancelled {
      return endCancelled(OperationSpan(id, stage: stage), into: &turn)
    }
    yieldBarrier(id, stage, into: &turn)
    if graphs[graph].cell(id.index).isInLine { enterLine(id, stage) }
  }

  /// Returns an operation to the line after its running attempt ended: in its old place, perhaps
  /// after a pause (S67).
  mutating func tryAgain(
    _ id: OperationID, cause: FailureCause, delay: Span, into turn: inout SchedulingTurn
  ) {
    let graph = id.graph.number
    let stage = graphs[graph].stageNumber(of: id.index)
    let cell = graphs[graph].cell(id.index)
    leaveWorker(id, stage, into: &turn)
    graphs[graph].update(id.index) { cell in
      cell.flags.insert(.retrying)
      if delay > .zero { cell.flags.insert(.backingOff) }
    }
    emit(.attemptEnded(UInt32(cell.runs), cause), id, into: &turn)
    yieldBarrier(id, stage, into: &turn)
    if delay > .zero {
      // After a replay the rest of the pause counts from the start (`setBackoffs`).
      if turn.isReplay { return }
      turn.consequences.backoffs.append(
        Backoff(until: turn.now + delay, operation: id, attempt: cell.attempt))
    } else if graphs[graph].cell(id.index).isInLine {
      enterLine(id, stage)
    }
  }
}

extension Resources {
  /// Adds `demand`: `WorkerRecord.taken` counts upwards.
  mutating func count(_ demand: Resources) {
    cpus = cpus + demand.cpus
    memoryBytes &+= demand.memoryBytes
    gpus = gpus + demand.gpus
    for wanted in demand.custom { add(wanted) }
  }

  private mutating func add(_ wanted: NamedAmount) {
    if let at = custom.firstIndex(where: { $0.name == wanted.name }) {
      custom[at].amount = custom[at].amount + wanted.amount
    } else {
      custom.append(wanted)
      custom.sort { $0.name < $1.name }
    }
  }
}
