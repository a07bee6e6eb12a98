// Explains in sentences why an operation is where it is: the decision, not the data. Reads the
// state and changes nothing. `Obstacles` says what a single worker lacks, `UnableWorkers` why
// workers could not start it. The sentences are for people: programs read rows instead
// (`LivingRows`).

import HeapModule
import OpClusterModel
import OpClusterQueries

extension Scheduler {
  /// Each may visit every worker, so that a reply costs up to `Limits.explanationsPerReply` times
  /// the workers.
  func explain(
    _ chosen: ArraySlice<OperationID>, more: Bool, at now: Instant
  ) -> ClientReply {
    .explanations(
      chosen.map { id in
        Explanation(
          operation: id, shown: state.shown(id), state: graphs[id.graph.number].cell(id.index).word,
          lines: lines(about: id, at: now))
      }, more: more)
  }

  /// The sentences about one operation, in the order in which a reader needs them: what was decided
  /// about it (cancelled, held), where it stands, and last what hangs.
  private func lines(about id: OperationID, at now: Instant) -> [Explanation.Line] {
    let graph = id.graph.number
    let cell = graphs[graph].cell(id.index)
    let stage = graphs[graph].stageNumber(of: id.index)
    var lines: [Explanation.Line] = []
    if cell.isCancelled, let reason = graphs[graph].reasons[id.index] {
      lines.append(.init(reason.sentence(hasEnded: false) { state.shown($0) }))
    }
    if cell.isTimed, let left = timeLeft(id.graph, stage, at: now) {
      lines.append(
        .init(
          "its not_before has not come: it is held for another \(left.secondsRoundedUp) s",
          hint: .releaseEarly(state.shown(id))))
    } else if cell.isHeld {
      lines.append(.init("it is held", hint: .release(state.shown(id))))
    }
    switch cell.phase {
    case .declared:
      lines.append("it is in no queue yet; nothing starts it until somebody enqueues it")
    // Several causes may hold at once, and all are named: a user who removes one would ask again.
    case .waiting:
      lines += waitingLines(id, stage, at: now)
    case .ready:
      lines += readyLines(id, stage, at: now)
    case .dispatched:
      let name = workers.find(cell.worker)?.name ?? "a worker"
      lines.append(
        cell.flags.contains(.ahead)
          ? "worker \(name) holds it and starts it as soon as its dependencies there end"
          : "worker \(name) holds it and starts it when it has room")
      if let line = deliveryLine(id, stage) { lines.append(line) }
      if let line = inputPlacesLine(id, stage) { lines.append(line) }
    case .executing:
      lines += executingLines(id, cell, stage, at: now)
    case .finished:
      lines.append(Explanation.Line("it has ended: \(cell.word.rawValue)", meaning: .ended))
    }
    if let line = unkillableLine(id) { lines.append(line) }
    return lines
  }

  /// Names a worker with processes of this operation that KILL does not end; also of ended
  /// attempts.
  private func unkillableLine(_ id: OperationID) -> Explanation.Line? {
    let unwell = unwellWorkers.filter { number in
      conversations[number].unkillable.contains { $0.operation == id }
    }
    guard let worker = unwell.min() else { return nil }
    return .init(
      "KILL does not end its processes on worker \(workers[worker].name): they hang in the kernel "
        + "(state D), mostly in a file system or a device that does not answer; repair that, or "
        + "restart the machine: until then the worker gives what they take to nobody")
  }

  /// The causes that keep an operation unready: whole arrays, single operations, barriers,
  /// suspension. A stage edge is a count, so that a dependency on a million elements is one
  /// sentence.
  private func waitingLines(
    _ id: OperationID, _ stage: Int, at now: Instant
  ) -> [Explanation.Line] {
    let graph = id.graph.number
    var lines: [Explanation.Line] = []
    for edge in graphs[graph].stages[stage].incoming where edge.match == .all {
      let from = graphs[graph].stages[edge.stage]
      if from.unfinished > 0 {
        lines.append(
          .init(
            "it waits for \(graph)/\(from.template.name): "
              + "\(from.unfinished) of \(from.template.count) have not ended"))
      }
    }
    // A gate that nothing keeps closed opens in a later turn.
    let isLate = lines.isEmpty && graphs[graph].stages[stage].gates > 0 && hasPendingEnds
    let isTakenIn =
      graphs[graph].stages[stage].incoming.isEmpty || graphs[graph].lacksDemandClass(of: stage)
    if isLate, isTakenIn {
      lines.append(.init("its graph is very large, and is yet being taken in"))
    }
    let cell = graphs[graph].cell(id.index)
    if cell.isImpossible {
      lines.append(.init("it will be skipped: what it waits for did not end as it must"))
    }
    // `open` holds a name for each unfinished dependency; only eight are shown.
    var open: [String] = []
    graphs[graph].forEachDependency(of: id.index) { on, _ in
      if state.knownEnding(of: on) == nil { open.append(state.shown(on)) }
    }
    let isPending =
      graphs[graph].stages[stage].gates == 0
      ? cell.blockers > 0 && hasPendingEnds : isLate && !isTakenIn
    if isPending, open.isEmpty, !cell.isImpossible, !cell.isCancelled {
      lines.append(.init("all it waits for has ended, which is being told to very many others"))
    }
    if !open.isEmpty {
      let rest = open.count > 8 ? " and \(open.count - 8) more" : ""
      lines.append("it waits for \(open.prefix(8).joined(separator: ", "))\(rest)")
    }
    lines += blockedBy(id, stage)
    if graphs[graph].isHalted { lines.append(haltedLine(graph)) }
    // Placement is explained too: even with all of that resolved the operation would not run (S61).
    if isUnplaceable(id) { lines += placementLines(id, at: now) }
    return lines
  }

  /// The barrier that keeps it from being ready (S39); for a barrier the operations before it, even
  /// ones that no worker can run (S86).
  private func blockedBy(_ id: OperationID, _ stage: Int) -> [Explanation.Line] {
    let blockers = state.barriersBefore(id, stage)
    if blockers.isEmpty { return [] }
    let names = blockers.prefix(8).map { state.shown($0) }.joined(separator: ", ")
    guard graphs[id.graph.number].stages[stage].template.isBarrier else {
      return ["it waits behind the barrier \(names)"]
    }
    let rest = blockers.count > 8 ? " and \(blockers.count - 8) more" : ""
    return ["it waits for what is before it in its queue: \(names)\(rest)"]
  }

  private func haltedLine(_ graph: UInt32) -> Explanation.Line {
    if graphs[graph].isSuspended {
      return .init("its graph is suspended", hint: .resumeGraph(GraphID(graph)))
    }
    return .init("an operation has failed, and operations of its graph are being ended")
  }

  /// The causes that keep a ready operation from a worker. The checks follow those of `Assignment`,
  /// in its order, and stop at the first that holds it: the later ones would not be reached there
  /// either.
  private func readyLines(
    _ id: OperationID, _ stage: Int, at now: Instant
  ) -> [Explanation.Line] {
    let graph = id.graph.number
    // The operation cannot run anywhere, whatever else holds it back (S61).
    let lines = isUnplaceable(id) ? placementLines(id, at: now) : []
    if graphs[graph].isHalted { return lines + [haltedLine(graph)] }
    let queue = queues[graphs[graph].queue(of: id.index, stage: stage).number]
    let name = queue.settings.name
    if queue.settings.isSuspended {
      return lines + [.init("its queue is suspended", hint: .resumeQueue(name))]
    }
    // It is full with nothing running, and stays so (S65).
    if queue.settings.maximumConcurrent == 0 {
      let hint = Advice.raiseLimit(queue: name, limit: 1)
      return lines + [.init("queue \(name) starts nothing, because its limit is 0", hint: hint)]
    }
    if let limit = queue.settings.maximumConcurrent, queue.inFlight >= limit {
      return lines + ["queue \(name) runs \(queue.inFlight) at once, which is its limit"]
    }
    let bound = graphs[graph].stages[stage].template.maximumParallel
    if bound > 0, graphs[graph].stages[stage].inFlight >= bound {
      return lines + ["max_parallel: \(bound) of its elements run already"]
    }
    if lines.isEmpty, let doubt = doubtLine(id) { return [.init(doubt)] }
    if let content = contentLine(id) { return [.init(content)] }
    let rest = lines.isEmpty ? placementLines(id, at: now) : lines
    return abstentionLines(id).map { .init($0) } + rest
      + (inputPlacesLine(id, stage).map { [$0] } ?? [])
  }

  /// Whether none of the workers that stay could run it. Silent, absent or resting workers count
  /// by what they could run: they will return or be lost. Visits workers up to the first that
  /// could.
  private func isUnplaceable(_ id: OperationID) -> Bool {
    let graph = id.graph.number
    if graphs[graph].lacksDemandClass(of: graphs[graph].stageNumber(of: id.index)) { return false }
    if requirements(of: id).isInside { return false }
    let outOfReach = workersWithoutReach(of: id)
    let couldRunAt = workers.firstNumber { number in
      if workers[number].isDraining { return false }
      if !conversations[number].wasHeard { return true }
      return !outOfReach.contains(number) && couldRun(number, id)
    }
    return couldRunAt == nil && workers.firstNumber { !workers[$0].isDraining } != nil
  }

  /// The reasons why an operation in line has no worker; visits workers up to the first that takes
  /// work and could run it, or each of them.
  private func placementLines(_ id: OperationID, at now: Instant) -> [Explanation.Line] {
    let outOfReach = workersWithoutReach(of: id)
    let taker = workers.firstNumber { number in
      takesWork(number) && !outOfReach.contains(number) && couldRun(number, id)
    }
    if taker != nil { return ["every worker that could run it is busy; it is in line"] }
    let staying = workers.numbers.filter { !workers[$0].isDraining }
    if staying.isEmpty {
      let reason = workers.count == 0 ? "no worker is connected" : "every worker is leaving"
      return ["\(reason); start one with: opworker serve"]
    }
    let known = staying.filter { conversations[$0].wasHeard }
    let able = known.filter { couldRun($0, id) && !outOfReach.contains($0) }
    if !able.isEmpty {
      return listed(able) { number in
        "worker \(workers[number].name) could run it, \(absence(of: number, at: now))"
      }
    }
    if known.count < staying.count {
      return ["the coordinator was started anew, and not all workers are back yet"]
    }
    let lines: [Explanation.Line] = [
      .init("no connected worker can run it (it stands in nobody's way):", meaning: .unplaceable)
    ]
    let wanted = requirements(of: id)
    if let common = commonLack(wanted, known) { return lines + [.init(common)] }
    return lines
      + listed(known) { number in
        let lack = wanted.obstacle(at: conversations[number])
        let obstacle = lack == .none && outOfReach.contains(number) ? .store : lack
        return
          "worker \(workers[number].name): \(obstacle.sentence(wanted, at: conversations[number]))"
      }
  }

  /// The reason why a staying worker is given nothing now.
  private func absence(of number: UInt32, at now: Instant) -> String {
    let silence = max(now - conversations[number].lastHeard, .zero).secondsRoundedUp
    if conversations[number].peer == nil { return "and its connection is gone for \(silence) s" }
    if conversations[number].isSuspect { return "and has not been heard of for \(silence) s" }
    return conversations[number].trouble?.whole.map { "but " + $0.text(at: now) }
      ?? "and takes nothing"
  }

  /// One line for each of the first eight workers, and how many more there are.
  private func listed(
    _ workers: [UInt32], line: (UInt32) -> Explanation.Line
  ) -> [Explanation.Line] {
    let hidden = workers.count - 8
    return workers.prefix(8).map(line) + (hidden > 0 ? ["and \(hidden) more workers"] : [])
  }

  /// The present of an operation that has begun. It executes also between two runs (S12), so that
  /// the flags are asked before the worker.
  private func executingLines(
    _ id: OperationID, _ cell: OperationCell, _ stage: Int, at now: Instant
  ) -> [Explanation.Line] {
    let name = workers.find(cell.worker)?.name ?? "a worker"
    if cell.flags.contains(.backingOff) {
      // Searches all back-offs, for each operation that the reply explains.
      let until = backoffs.unordered.first { $0.operation == id }?.until
      let wait = until.map { max($0 - now, .zero) } ?? .zero
      return ["attempt \(cell.run) failed; the next one starts in \(wait.secondsRoundedUp) s"]
    }
    if cell.flags.contains(.retrying) {
      if cell.worker != 0 { return ["attempt \(cell.run) is with worker \(name)"] }
      let avoided = (avoidanceLine(id).map { [$0] } ?? []) + abstentionLines(id)
      return ["attempt \(cell.run) ended without success; it is in line for another"]
        + avoided.map { .init($0) } + placementLines(id, at: now)
    }
    if cell.isCancelled { return ["worker \(name) has been told to stop it"] }
    return ["worker \(name) runs attempt \(cell.run)"]
  }
}
