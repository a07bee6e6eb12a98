// Workers that cannot start operations: a folder, a program, a disk or an account is missing there.
// Other workers then try the operation, and it has not failed until several agree. A worker is to
// blame only once another worker has run an operation that it could not start. It then rests: it
// gets no operations of that stage for a while, then one as a try, and rests longer after each
// failed try. A worker blamed for several stages in a row rests as a whole. Not durable: a
// restarted coordinator learns it again. `StartTrouble` holds the state of a worker. Used by the
// reports of workers and by the choice of a worker.

import HeapModule
import OpClusterModel

// MARK: - What reports say

extension Scheduler {
  /// Lets another worker try an operation that this one could not start, without counting it as a
  /// failure; false if none is left to try it. Visits workers until it finds one that could.
  mutating func tryElsewhere(
    _ id: OperationID, _ result: AttemptResult, after worker: WorkerID, at now: Instant
  ) -> Bool {
    guard result.couldNotStart, !result.wasStopped else { return false }
    let graph = id.graph.number
    let first = firstOfStage(id)
    var unable = graphs[graph].unable[id.index] ?? []
    if !unable.contains(worker.number) { unable.append(worker.number) }
    if unable.count < Limits.workersThatAgree, isAnyAble(id, besides: unable) {
      state.setUnable(unable, for: id)
      noteUnable(worker.number, id, first, result.diagnostic, at: now)
      return true
    }
    // The workers agree: the operation is at fault, and no worker.
    state.setUnable(nil, for: id)
    for number in unable { acquit(number, of: id, first) }
    conversations[worker.number].trouble?.repeatTry(of: first)
    renewWithheld(worker.number)
    return false
  }

  /// Whether a worker may be given an operation soon. Busy workers count, and silent ones that are
  /// not lost: a short silence of the others must not make one broken worker the only witness.
  /// Visits workers until it finds one.
  func isAnyAble(_ id: OperationID, besides unable: [UInt32]) -> Bool {
    let first = firstOfStage(id)
    let outOfReach = workersWithoutReach(of: id)
    let able = workers.firstNumber { number in
      guard !workers[number].isDraining, !unable.contains(number), !outOfReach.contains(number)
      else { return false }
      // Its properties are unknown before it has said hello to this life of the coordinator.
      guard couldRun(number, id) || !conversations[number].wasHeard else { return false }
      guard let trouble = conversations[number].trouble else { return true }
      return trouble.whole?.isLasting != true && trouble.stages[first]?.isLasting != true
    }
    return able != nil
  }

  private func firstOfStage(_ id: OperationID) -> OperationID {
    let graph = id.graph.number
    let stage = graphs[graph].stageNumber(of: id.index)
    return OperationID(graph: id.graph, index: graphs[graph].stages[stage].firstIndex)
  }

  /// Notes that a worker could not start an operation that another one gets now.
  private mutating func noteUnable(
    _ worker: UInt32, _ id: OperationID, _ first: OperationID, _ reason: String, at now: Instant
  ) {
    var trouble = conversations[worker].trouble ?? StartTrouble()
    if trouble.stages[first] == nil {
      if trouble.stages.count >= Limits.troubledStagesKept { forgetEndedGraphs(&trouble) }
      // Dropped: the operation does not return to it in any case.
      guard trouble.stages.count < Limits.troubledStagesKept else { return }
      let graph = id.graph.number
      let stage = graphs[graph].stageNumber(of: id.index)
      let name = StageName(graph: id.graph, name: graphs[graph].stages[stage].template.name)
      trouble.stages[first] = Abstention(stage: name, reason: reason)
    }
    trouble.stages[first]?.reason = reason
    switch trouble.stages[first]?.phase {
    case .unsettled:
      if trouble.stages[first]!.operations.count < Limits.unableOperationsKept {
        trouble.stages[first]!.operations.insert(id)
      }
    case .tried: rest(worker, first, &trouble.stages[first]!, at: now)
    // It was under way when the rest began, so it proves nothing new.
    case .resting, .awaitsTry, nil: break
    }
    if trouble.whole?.phase == .tried {
      trouble.whole!.reason = reason
      rest(worker, nil, &trouble.whole!, at: now)
    }
    conversations[worker].trouble = trouble
    if trouble.stages[first]!.withholds { standAlone(id) }
    renewWithheld(worker)
  }

  /// Begins a rest, twice as long as the previous one.
  private mutating func rest(
    _ worker: UInt32, _ stage: OperationID?, _ abstention: inout Abstention, at now: Instant
  ) {
    abstention.rests += 1
    abstention.phase = .resting
    abstention.operations = []
    let factor: Int64 = 1 << Int64(min(abstention.rests - 1, 20))
    abstention.until = now + min(Limits.firstRest * factor, Limits.longestRest)
    abstentionEnds.insert(AbstentionEnd(until: abstention.until, worker: worker, stage: stage))
    guard abstention.rests == Limits.restsBeforeSetAside else { return }
    troubleChanges.append(
      .workerSetAside(WorkerID(worker), abstention.stage, reason: abstention.reason))
  }

  /// Notes that an attempt has begun according to its worker; the next reports show whether it
  /// really started.
  mutating func noteBegin(_ attempt: AttemptID, at worker: UInt32, _ now: Instant) {
    let id = attempt.operation
    // In the usual case it reads two fields. In a closure, as the sides of || are, the whole
    // conversation would be copied.
    var isAwaited = false
    if conversations[worker].trouble != nil {
      isAwaited =
        isTry(worker, id) || conversations[worker].trouble?.stages[firstOfStage(id)] != nil
    }
    if !isAwaited, !state.graphs[id.graph.number].unable.isEmpty {
      isAwaited = state.graphs[id.graph.number].unable[id.index] != nil
    }
    guard isAwaited else { return }
    startConfirmations.insert(
      StartConfirmation(until: now + Limits.startIsCertain, attempt: attempt, worker: worker))
  }

  /// Notes that an operation really runs, or has run: the worker can start operations of its stage,
  /// and workers that could not start this one are to blame. Visits each stage of a worker in
  /// trouble.
  mutating func noteStart(of id: OperationID, at worker: UInt32, _ now: Instant) {
    if conversations[worker].trouble != nil { endTrouble(of: worker, with: firstOfStage(id)) }
    guard !state.graphs[id.graph.number].unable.isEmpty,
      let unable = state.graphs[id.graph.number].unable[id.index]
    else { return }
    state.setUnable(nil, for: id)
    for number in unable where number != worker { blame(number, for: id, at: now) }
  }

  private mutating func blame(_ worker: UInt32, for id: OperationID, at now: Instant) {
    let first = firstOfStage(id)
    guard workers.contains(worker), var trouble = conversations[worker].trouble,
      trouble.stages[first]?.phase == .unsettled
    else { return }
    rest(worker, first, &trouble.stages[first]!, at: now)
    trouble.blamedInARow += 1
    if trouble.blamedInARow >= Limits.stagesBeforeRest, trouble.whole == nil {
      trouble.whole = Abstention(reason: trouble.stages[first]!.reason)
      rest(worker, nil, &trouble.whole!, at: now)
    }
    conversations[worker].trouble = trouble
    standAlone(id)
    renewWithheld(worker)
  }

  /// Clears a worker of an operation that cannot be started anywhere.
  private mutating func acquit(_ worker: UInt32, of id: OperationID, _ first: OperationID) {
    guard workers.contains(worker), var abstention = conversations[worker].trouble?.stages[first]
    else { return }
    guard abstention.operations.remove(id) != nil else { return }
    let isOver = abstention.phase == .unsettled && abstention.operations.isEmpty
    conversations[worker].trouble?.stages[first] = isOver ? nil : abstention
    if conversations[worker].trouble?.isOver == true { conversations[worker].trouble = nil }
    renewWithheld(worker)
  }

  /// Ends the trouble of a worker with a stage that it has run an operation of. Drops ended graphs,
  /// of which nothing more can be tried.
  private mutating func endTrouble(of worker: UInt32, with first: OperationID) {
    guard var trouble = conversations[worker].trouble else { return }
    noteResumed(worker, trouble.whole)
    noteResumed(worker, trouble.stages[first])
    trouble.stages[first] = nil
    forgetEndedGraphs(&trouble)
    trouble.blamedInARow = 0
    trouble.whole = nil
    conversations[worker].trouble = trouble.isOver ? nil : trouble
    renewWithheld(worker)
  }

  private func forgetEndedGraphs(_ trouble: inout StartTrouble) {
    trouble.stages = trouble.stages.filter { graphs.contains($0.key.graph.number) }
  }

  /// Reports that a worker is no longer set aside, if it was reported as such. The end of the
  /// graph, of the worker or of the coordinator has reports of its own.
  private mutating func noteResumed(_ worker: UInt32, _ abstention: Abstention?) {
    guard let abstention, abstention.isLasting else { return }
    troubleChanges.append(.workerResumed(WorkerID(worker), abstention.stage))
  }

  /// Forgets all failed starts of a worker.
  mutating func endTrouble(of worker: UInt32) {
    guard var trouble = conversations[worker].trouble else { return }
    forgetEndedGraphs(&trouble)
    noteResumed(worker, trouble.whole)
    for (_, abstention) in trouble.stages.sorted(by: { $0.key < $1.key }) {
      noteResumed(worker, abstention)
    }
    conversations[worker].trouble = nil
    renewWithheld(worker)
  }

  /// Takes a worker back into service at a client's request.
  mutating func resume(_ name: String, into turn: inout SchedulingTurn) throws(Refusal)
    -> ClientReply
  {
    guard let worker = workerByName[name], workers.contains(worker.number) else {
      throw Refusal(
        .unknownWorker, "there is no worker \(name)", hint: .listWorkers)
    }
    endTrouble(of: worker.number)
    if troubleChanges.isEmpty { return .done(lastCommit) }
    // Committed at once, so that the commit in the answer includes the event.
    commitTroubles(into: &turn)
    return .done(turn.commit)
  }
}

// MARK: - What is handed over

extension Scheduler {
  /// Gives the stage of an operation a class of its own, so that a worker can be excluded from it.
  /// Operations in line move when a search meets them. Visits each worker, once per stage.
  private mutating func standAlone(_ id: OperationID) {
    let (graph, first) = (id.graph.number, firstOfStage(id))
    let stage = graphs[graph].stageNumber(of: id.index)
    // Useless: only this operation is left of the stage, and it does not return.
    if graphs[graph].stages[stage].ownClass != nil || graphs[graph].stages[stage].unfinished < 2 {
      return
    }
    let common = graphs[graph].demandClass(of: stage)
    let own = state.separate(stage, of: graph, as: first)
    for number in workers.numbers
    where conversations[number].lacks[common] == classes[common].serial {
      conversations[number].lacks[own] = classes[own].serial
    }
  }

  /// The classes that a worker is not given. Visits each stage that it could not start.
  func classesWithheld(from worker: UInt32) -> [Int: UInt64] {
    var withheld: [Int: UInt64] = [:]
    for (first, abstention) in conversations[worker].trouble?.stages ?? [:]
    where abstention.withholds && graphs.contains(first.graph.number) {
      let stage = graphs[first.graph.number].stageNumber(of: first.index)
      guard let own = graphs[first.graph.number].stages[stage].ownClass else { continue }
      withheld[own] = classes[own].serial
    }
    return withheld
  }

  /// Applies the restrictions of a worker.
  private mutating func renewWithheld(_ worker: UInt32) {
    guard workers.contains(worker) else { return }
    conversations[worker].isResting = conversations[worker].trouble?.whole?.withholds == true
    let withheld = classesWithheld(from: worker)
    if conversations[worker].withheld == withheld { return }
    conversations[worker].withheld = withheld
    // Operations that fit nowhere wait for this change.
    capacityChanges &+= 1
  }

  /// The workers of a pass that may be given an operation: not those that could not start it,
  /// unless no other worker could take it any more.
  func workers(
    _ candidates: [UInt32], besides unable: [UInt32], ableToStart id: OperationID
  ) -> [UInt32] {
    if unable.isEmpty { return candidates }
    let first = firstOfStage(id)
    let able = candidates.filter { number in
      if unable.contains(number) { return false }
      let abstention = conversations[number].trouble?.stages[first]
      return abstention.map { $0.phase == .unsettled || !$0.withholds } ?? true
    }
    let stage = graphs[id.graph.number].stageNumber(of: id.index)
    let demandClass = graphs[id.graph.number].demandClass(of: stage)
    // Waiting is useless if the present workers could never take it.
    let isTaken = able.contains { fits($0, demandClass) } || isAnyAble(id, besides: unable)
    return isTaken ? able : candidates
  }

  /// Whether an operation given to a worker serves as a try.
  func isTry(_ worker: UInt32, _ id: OperationID) -> Bool {
    guard let trouble = conversations[worker].trouble else { return false }
    return trouble.whole != nil || (trouble.stages[firstOfStage(id)]?.rests ?? 0) > 0
  }

  /// Notes that a worker in trouble was given an operation.
  mutating func noteTry(_ worker: UInt32, with id: OperationID, at now: Instant) {
    guard var trouble = conversations[worker].trouble else { return }
    let first = firstOfStage(id)
    // Without any report, another try follows.
    let end = now + Limits.longestTry
    if trouble.stages[first]?.phase == .awaitsTry {
      trouble.stages[first]!.phase = .tried
      trouble.stages[first]!.until = end
      abstentionEnds.insert(AbstentionEnd(until: end, worker: worker, stage: first))
    }
    if trouble.whole?.phase == .awaitsTry {
      trouble.whole!.phase = .tried
      trouble.whole!.until = end
      abstentionEnds.insert(AbstentionEnd(until: end, worker: worker, stage: nil))
    }
    conversations[worker].trouble = trouble
    renewWithheld(worker)
  }

  /// The reasons why an operation in line is not given to some workers; visits each worker.
  func abstentionLines(_ id: OperationID) -> [String] {
    let first = firstOfStage(id)
    let unable = graphs[id.graph.number].unable[id.index] ?? []
    var lines: [String] = []
    for number in workers.numbers {
      guard let abstention = conversations[number].trouble?.stages[first] else { continue }
      guard unable.contains(number) || abstention.rests > 0 else { continue }
      lines.append("worker \(workers[number].name) could not start it: \(abstention.reason)")
    }
    let hidden = lines.count - 8
    return lines.prefix(8) + (hidden > 0 ? ["and \(hidden) more workers could not"] : [])
  }
}

// MARK: - Time

extension Scheduler {
  /// Ends expired rests and tries, and confirms starts that are certain.
  mutating func endRests(at now: Instant) {
    while let first = abstentionEnds.min, first.until <= now {
      abstentionEnds.removeMin()
      guard workers.contains(first.worker), var trouble = conversations[first.worker].trouble else {
        continue
      }
      if let stage = first.stage {
        guard trouble.stages[stage]?.isOver(at: now) == true else { continue }
        trouble.stages[stage]!.phase = .awaitsTry
      } else {
        guard trouble.whole?.isOver(at: now) == true else { continue }
        trouble.whole!.phase = .awaitsTry
      }
      conversations[first.worker].trouble = trouble
      renewWithheld(first.worker)
    }
    while let first = startConfirmations.min, first.until <= now {
      startConfirmations.removeMin()
      let id = first.attempt.operation
      guard graphs.contains(id.graph.number) else { continue }
      let cell = graphs[id.graph.number].cell(id.index)
      guard cell.worker == first.worker, cell.attempt == first.attempt.attempt,
        !cell.isAssigned
      else { continue }
      noteStart(of: id, at: first.worker, now)
    }
  }

  /// The moment of the next end or confirmation; nil if there is none.
  var nextRestEnd: Instant? {
    guard let rest = abstentionEnds.min?.until else { return startConfirmations.min?.until }
    return startConfirmations.min.map { min($0.until, rest) } ?? rest
  }
}

extension Abstention {
  fileprivate func isOver(at now: Instant) -> Bool {
    (phase == .resting || phase == .tried) && until <= now
  }
}

// MARK: - What is told

extension Scheduler {
  /// Commits the changes of this turn; at most as many as the turn's reports.
  mutating func commitTroubles(into turn: inout SchedulingTurn) {
    if troubleChanges.isEmpty { return }
    let changes = troubleChanges
    troubleChanges.removeAll()
    for change in changes {
      switch change {
      // Skipped for a worker that this turn lost or let go: that ended its restrictions.
      case .workerSetAside(let worker, _, _), .workerResumed(let worker, _):
        if workers.contains(worker.number) { commit(change, into: &turn) }
      default: preconditionFailure("not about what a worker is given: \(change)")
      }
    }
  }
}
