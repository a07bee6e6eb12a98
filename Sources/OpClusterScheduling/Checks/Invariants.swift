// The invariants after every turn; checked by tests and by the simulation, not in production: a
// check visits every operation, edge and worker. Each compares something that is counted along with
// the same thing counted anew. A new counter of the state gets its line here. `ShadowLedger` in
// OpClusterSimulation judges what observers see, without knowing any state.

import DequeModule
import OpClusterModel
import OpClusterQueries

extension Scheduler {
  /// The first broken invariant, in words; nil if all hold. Valid between turns only: inside of
  /// one, counts may be ahead of what follows from them.
  public func brokenInvariant() -> String? {
    var workerTotals: [UInt32: WorkerTotals] = [:]
    var queueTotals: [UInt32: QueueTotals] = [:]
    for number in graphs.numbers {
      if let broken = check(graph: number, &workerTotals, &queueTotals) { return broken }
    }
    if let broken = checkLiving() ?? checkDraining() { return broken }
    if let broken = checkRunning() { return broken }
    if let broken = checkTold() { return broken }
    if let broken = brokenIndex() ?? brokenKind() { return broken }
    if let broken = brokenLines() { return broken }
    if let broken = checkOutputs() { return broken }
    if let broken = checkKeys() { return broken }
    if let broken = checkRecomputations() { return broken }
    for number in queues.numbers {
      let queue = queues[number]
      let found = queueTotals[number] ?? QueueTotals()
      let counted = QueueTotals(
        members: queue.members, inFlight: queue.inFlight, assigned: queue.assigned,
        executing: queue.executing,
        barriers: queue.barrierCount, segments: queue.segments.reduce(0) { $0 + $1.unfinished })
      if found != counted { return "queue \(queue.settings.name): \(counted), found \(found)" }
      // The turn has told the counts, so that none may be left (S105).
      if queue.toldMembers != queue.members || queue.isCountDirty {
        return "queue \(queue.settings.name): told \(queue.toldMembers) of \(queue.members)"
      }
    }
    // `why` looks for such workers in this set alone.
    if unwellWorkers
      != Set(
        workers.numbers.filter { conversations[$0].isUnwell && conversations[$0].increment != 0 })
    {
      return "workers with what KILL does not end: listed \(unwellWorkers.sorted())"
    }
    if conversations.numbers != workers.numbers {
      return "conversations \(conversations.numbers), workers \(workers.numbers)"
    }
    for (peer, worker) in workerByPeer
    where conversations.contains(worker.number) && conversations[worker.number].peer != peer {
      return "peer \(peer) is not that of worker \(worker.number)"
    }
    for number in workers.numbers {
      let (worker, conversation) = (workers[number], conversations[number])
      let found = workerTotals[number] ?? WorkerTotals()
      if found.assigned != worker.assigned || found.executing != worker.executing {
        return "worker \(worker.name): \(worker.assigned)+\(worker.executing), found \(found)"
      }
      if worker.assignedByRank != found.assignedByRank {
        return "worker \(worker.name): \(worker.assignedByRank), found \(found.assignedByRank)"
      }
      if worker.assigned == 0, conversation.assignedBytes != 0 {
        return "worker \(worker.name): \(conversation.assignedBytes) bytes assigned in nothing"
      }
      // Withheld classes are set by events and cleared by others; a class left behind would starve
      // silently.
      if conversation.withheld.filter({ isInUse($0) }) != classesWithheld(from: number) {
        return "worker \(worker.name): withheld \(conversation.withheld), wanted "
          + "\(classesWithheld(from: number))"
      }
      // Cpus stand for all resources: they are added and taken by the same calls.
      if found.cpus != worker.taken.cpus.tenThousandths {
        return "worker \(worker.name): \(worker.taken.cpus.units) cpus taken, found \(found.cpus)"
      }
    }
    return nil
  }

  /// Whether workers stay for what somebody needs, and something is going to end that.
  private func checkDraining() -> String? {
    for number in workers.numbers where conversations[number].increment > 0 {
      if workers[number].isDraining && !drainingStores.isAnyDraining {
        return "worker \(number) drains, and nobody knows"
      }
    }
    let problem = holders.problem { !workers.contains($0) || workers[$0].isDraining }
    if let problem { return problem }
    if !largeContentReaders.isConsistent { return "readers of large contents are miscounted" }
    for (digest, staying) in drainingStores.all {
      if !staying.allSatisfy({ holders.has($0, digest) }) {
        return "workers \(staying) stay for \(digest), and some do not have it"
      }
      if !isNeeded(digest) { return "workers stay for \(digest), which nobody needs" }
      if !staying.allSatisfy({ workers.contains($0) && workers[$0].isDraining }) {
        return "workers \(staying) stay for \(digest), and some do not drain"
      }
      if !contentCopies.isFollowed(digest) { return "nobody looks after \(digest)" }
    }
    for digest in drainingStores.waitingForSilent where !drainingStores.isAwaited(digest) {
      return "silent stores are waited for, and nobody stays for \(digest)"
    }
    return nil
  }

  private func checkLiving() -> String? {
    let operations = graphs.numbers.reduce(0) { $0 + UInt64(graphs[$1].operationCount) }
    if state.livingOperations != operations {
      return "\(state.livingOperations) living operations, found \(operations)"
    }
    if state.livingNumbers.ranges.flatMap({ Array($0) }) != graphs.numbers {
      return "the graphs \(state.livingNumbers.ranges) live, found \(graphs.numbers)"
    }
    return nil
  }

  /// Whether a withheld class still exists: a worker may remember the class of an ended graph.
  private func isInUse(_ withheld: (key: Int, value: UInt64)) -> Bool {
    withheld.key < classes.slots && classes[withheld.key].serial == withheld.value
      && classes[withheld.key].users > 0
  }

  /// The counted bytes of outputs equal their sum, and what has to stay in stores is what they
  /// name.
  private func checkOutputs() -> String? {
    var named = ContentPins()
    for number in graphs.numbers {
      for (index, output) in graphs[number].outputs {
        named.pinAll(
          OperationOutput.contents(of: output), copies: graphs[number].replicas(of: index))
      }
    }
    for number in graphs.numbers {
      for template in graphs[number].stages.map(\.template) {
        named.pinAll(template.ownContents, copies: template.replicas)
      }
    }
    var cited = Citations()
    for number in graphs.numbers {
      for extra in graphs[number].extraDependencies.values.joined()
      where cited.noteEdge(from: extra.on) {
        guard let output = state.endedContents(of: extra.on) else { continue }
        named.pinAll(output.contents, copies: output.replicas)
      }
    }
    if cited.counts != state.citations.counts { return "edges between graphs are miscounted" }
    if !named.isSame(as: state.pins) {
      return "contents: \(state.pins.count) are needed, found \(named.count), or other copies"
    }
    let living = graphs.numbers.reduce(0) { $0 + graphs[$1].outputExcess }
    let remembered = state.endedOrder.reduce(0) { $0 + (ended[$1]?.outputBytes ?? 0) }
    if living == state.outputAccounts.living, remembered == state.outputAccounts.remembered {
      return nil
    }
    return
      "outputs: \(state.outputAccounts.living) and \(state.outputAccounts.remembered) bytes, found "
      + "\(living) and \(remembered)"
  }

  /// Every key of a living graph leads to that graph (G19).
  private func checkKeys() -> String? {
    var living = 0
    for number in graphs.numbers {
      let key = graphs[number].submission.key
      if key.text.isEmpty { continue }
      living += 1
      if keys.known(key, at: .unknown)?.graph.number != number {
        return "graph \(number) lives, and its key is not known"
      }
    }
    return living == keys.livingCount
      ? nil : "\(keys.livingCount) keys of graphs that live, found \(living)"
  }

  /// What runs again, runs for a graph that lives and knows of it; a graph without anything else
  /// left lives for that alone.
  private func checkRecomputations() -> String? {
    var counts: [UInt32: UInt32] = [:]
    for number in graphs.numbers {
      guard let origin = graphs[number].submission.recomputes else { continue }
      if state.recomputations[origin]?.number != number {
        return "graph \(number) runs \(origin) again, and is not known for it"
      }
      counts[origin.graph.number, default: 0] += 1
    }
    if counts.values.reduce(0, +) != UInt32(state.recomputations.count) {
      return "\(state.recomputations.count) operations run again, found \(counts)"
    }
    for number in graphs.numbers {
      let found = counts.removeValue(forKey: number) ?? 0
      if graphs[number].recomputing != found {
        return "graph \(number): \(graphs[number].recomputing) run again, found \(found)"
      }
      if graphs[number].unfinished == 0, found == 0 { return "graph \(number) does not end" }
    }
    return counts.isEmpty ? nil : "what runs again is of graphs that have ended: \(counts)"
  }

  /// Workers and living graphs agree about what was told. Templates are told once for each
  /// conversation. An ended graph that stays here would be a leak, and a worker would never be told
  /// to forget it.
  private func checkTold() -> String? {
    var count = 0
    for number in workers.numbers {
      for graph in conversations[number].toldTemplates.keys.sorted() {
        count += 1
        if !graphs.contains(graph.number) {
          return "worker \(workers[number].name) remembers graph \(graph.number), which has ended"
        }
        if !toldWorkers.contains(number, of: graph) {
          return "graph \(graph.number) does not know that it was told to \(workers[number].name)"
        }
      }
    }
    return count == toldWorkers.count
      ? nil : "graphs know of \(toldWorkers.count) workers that were told, found \(count)"
  }

  /// Progress and waits are kept only for attempts that a worker has. A wait that outlives its
  /// attempt may refuse later waits as dead-locks.
  private func checkRunning() -> String? {
    for id in waits.keys.sorted() + progress.keys.sorted() {
      let isAtWorker =
        graphs.contains(id.graph.number) && graphs[id.graph.number].cell(id.index).worker != 0
      if !isAtWorker { return "\(id) waits or makes progress, but no worker has it" }
    }
    return nil
  }

  private struct WorkerTotals: Equatable {
    var assigned: UInt32 = 0
    var assignedByRank = RankCounts()
    var executing: UInt32 = 0
    var cpus: Int64 = 0
  }
  private struct QueueTotals: Equatable {
    var members: UInt32 = 0
    var inFlight: UInt32 = 0
    var assigned = RankCounts()
    var executing: UInt32 = 0
    var barriers: UInt32 = 0
    var segments: UInt32 = 0
  }

  private func check(
    graph number: UInt32, _ workerTotals: inout [UInt32: WorkerTotals],
    _ queueTotals: inout [UInt32: QueueTotals]
  ) -> String? {
    let graph = graphs[number]
    var (unfinished, inFlight, impossible): (UInt32, UInt32, UInt32) = (0, 0, 0)
    var all = StateCounts()
    for (at, stage) in graph.stages.enumerated() {
      var counts = StateCounts()
      var atWorkers: UInt32 = 0
      for index in stage.indices {
        let cell = graph.cell(index)
        counts[cell.word] += 1
        if cell.phase != .finished { unfinished += 1 }
        if cell.worker != 0 { atWorkers += 1 }
        if cell.isImpossible { impossible += 1 }
        if let broken = check(cell, graph, at, index) { return broken }
        addToTotals(cell, graph, at, index, &workerTotals, &queueTotals)
      }
      if counts != stage.counts {
        return "\(number)/\(stage.template.name): counts \(stage.counts), found \(counts)"
      }
      all.add(counts)
      if atWorkers != stage.inFlight {
        return "\(number)/\(stage.template.name): \(stage.inFlight) at workers, found \(atWorkers)"
      }
      inFlight += atWorkers
      // An edge that cannot be met any more leaves its gate closed: nobody is left to wait there.
      let closed = stage.incoming.count {
        $0.match == .all && graph.stages[$0.stage].unfinished > 0
      }
      if Int(stage.gates) < closed {
        return "\(number)/\(stage.template.name): \(stage.gates) gates, found \(closed)"
      }
    }
    if inFlight != graph.inFlight {
      return "graph \(number): \(graph.inFlight) at workers, found \(inFlight)"
    }
    if all != graph.counts { return "graph \(number): counts \(graph.counts), found \(all)" }
    if impossible != graph.impossible {
      return "graph \(number): \(graph.impossible) to be skipped, found \(impossible)"
    }
    return unfinished == graph.unfinished
      ? nil : "graph \(number): \(graph.unfinished) unfinished, found \(unfinished)"
  }

  /// One operation against its own edges and its queue. Costs its dependencies.
  private func check(
    _ cell: OperationCell, _ graph: Graph, _ stage: Int, _ index: UInt32
  ) -> String? {
    // Lazy, because this check visits every operation of every graph: made only if something is
    // broken.
    var name: String { graph.shown(index) }
    if cell.phase == .finished {
      if cell.worker != 0 { return "\(name) has ended but worker \(cell.worker) has it" }
      return cell.ending.outcome == nil ? "\(name) has ended without an outcome" : nil
    }
    var open: UInt32 = 0
    graph.forEachDependency(of: index) { on, _ in if state.knownEnding(of: on) == nil { open += 1 }
    }
    let isClear = open == 0 && cell.blockers == 0 && graph.stages[stage].gates == 0
    // A late edge on a running operation is not stored, and a cancelled one ignores its edges
    // (S36). An end of which not all has followed may still block others.
    let isCounted = hasPendingEnds ? cell.blockers >= open : cell.blockers == open
    if !isCounted, cell.phase != .executing, !cell.isCancelled {
      return "\(name): \(cell.blockers) blockers, found \(open)"
    }
    if cell.isImpossible, !hasPendingEnds {
      return "\(name) is to be skipped, and in no list of ends"
    }
    if cell.isHeld, cell.isCancelled || (cell.phase != .declared && cell.phase != .waiting) {
      return "\(name) is held and \(cell.phase)"
    }
    switch cell.phase {
    // The invariant that matters most: nothing waits for nothing, or it would wait for ever.
    case .waiting where isClear && !cell.isHeld && !cell.isCancelled && !cell.isImpossible:
      if standsFree(graph, stage, index) { return "\(name) waits for nothing" }
      return cell.worker == 0 ? nil : "\(name) waits but worker \(cell.worker) has it"
    case .ready where cell.isImpossible: return "\(name) is ready and to be skipped"
    case .ready where !isClear && !cell.isCancelled: return "\(name) is ready but blocked"
    case .dispatched where cell.worker == 0: return "\(name) is dispatched to nobody"
    case .dispatched where !isClear && !cell.flags.contains(.ahead) && !cell.isCancelled:
      return "\(name) is dispatched but blocked"
    case .waiting where cell.worker != 0, .ready where cell.worker != 0:
      return "\(name) is \(cell.phase) but worker \(cell.worker) has it"
    default: return nil
    }
  }

  /// Whether nothing before it in its queue holds it back: for a barrier any member, else a
  /// barrier.
  private func standsFree(_ graph: Graph, _ stage: Int, _ index: UInt32) -> Bool {
    let queue = graph.queue(of: index, stage: stage).number
    if graph.stages[stage].template.isBarrier {
      return queues[queue].openableBarrier == graph.operation(index)
    }
    return !state.isBehindBarrier(graph.enqueuePlace(of: index), in: queue)
  }

  private func addToTotals(
    _ cell: OperationCell, _ graph: Graph, _ stage: Int, _ index: UInt32,
    _ workerTotals: inout [UInt32: WorkerTotals], _ queueTotals: inout [UInt32: QueueTotals]
  ) {
    let queue = graph.queue(of: index, stage: stage).number
    if cell.phase != .finished && cell.phase != .declared {
      if graph.stages[stage].template.isBarrier {
        queueTotals[queue, default: QueueTotals()].barriers += 1
      } else {
        queueTotals[queue, default: QueueTotals()].members += 1
        queueTotals[queue, default: QueueTotals()].segments += 1
      }
    }
    if cell.phase == .executing { queueTotals[queue, default: QueueTotals()].executing += 1 }
    if cell.worker == 0 { return }
    queueTotals[queue, default: QueueTotals()].inFlight += 1
    let demandClass = classes[graph.demandClass(of: stage)].demandClass
    let demand = demandClass.demand.cpus.tenThousandths
    workerTotals[cell.worker, default: WorkerTotals()].cpus += demand
    if cell.isAssigned {
      workerTotals[cell.worker, default: WorkerTotals()].assigned += 1
      let id = OperationID(graph: graph.id, index: index)
      workerTotals[cell.worker, default: WorkerTotals()].assignedByRank.add(
        state.rank(of: id, stage))
      queueTotals[queue, default: QueueTotals()].assigned.add(state.rank(of: id, stage))
    } else {
      workerTotals[cell.worker, default: WorkerTotals()].executing += 1
    }
  }
}
