// The oracle's checks of durable facts: the holder of each attempt, and that each accepted end is
// that of the present attempt (I3, I6). It follows the facts with a model of its own, simpler than
// the coordinator's: a list of operations, no lines, no counts. That model must not call the code
// it judges. Costs little for a fact, and a walk over all operations for a lost worker.

import OpClusterModel
import OpClusterScheduling

extension ShadowLedger {
  /// Takes one durable turn. Called once for each durable turn, in order. The order of handing over
  /// is judged only in turns of which the ledger knows everything: while a client's change is on
  /// its way, operations may be pinned.
  mutating func take(
    _ records: [Record], _ events: [EventRun], _ submissions: [AcceptedSubmission],
    _ graphEndings: [GraphEnding], commit: CommitIndex
  ) {
    if commit.number != self.commit.number + 1 {
      complain("G1", "commit \(commit.number) follows \(self.commit.number)")
    }
    self.commit = commit
    // Workers lost in this turn: their attempts may count as started without a launch.
    presumed = Set(
      records.compactMap { if case .workerLost(let worker) = $0 { worker.number } else { nil } })
    departed = Set(
      records.compactMap { if case .workerLeft(let worker) = $0 { worker.number } else { nil } })
    let hasDispatches = records.contains { if case .dispatched = $0 { true } else { false } }
    // What pending ends unblock stands in no line yet.
    let hasPendingEnds = records.contains(.endsContinued)
    let isOrdered = hasDispatches && !isSteered && !hasUnableWorkers && !hasPendingEnds
    let eligible = isOrdered ? eligibleOperations() : []
    for record in records { take(record) }
    for run in events { run.forEach { take($0) } }
    if !eligible.isEmpty { expectOrder(of: records, among: eligible) }
    for ending in graphEndings { take(ending) }
    if submissions.count
      != records.count(where: { if case .submitted = $0 { true } else { false } })
    {
      complain("G2", "commit \(commit.number) has another count of submissions in its history")
    }
  }

  /// Every fact is listed, so that a new one is thought of here.
  private mutating func take(_ record: Record) {
    switch record {
    case .submitted(let graph, let submission, _, _): add(graph, submission)
    case .enqueued(let operations, let queue):
      for id in operations {
        if self[id].isQueued { complain("S11", "\(shown(id)) is enqueued twice") }
        enter(id, queue.number)
        self[id].isQueued = true
      }
    case .moved(let runs, let queue):
      eachOf(runs) { ledger, id in
        ledger.expectUnstarted(id, "is moved")
        ledger.enter(id, queue.number)
      }
    case .held(let runs):
      eachOf(runs) { ledger, id in
        ledger.expectUnstarted(id, "is held")
        ledger[id].isHeld = true
      }
    case .released(let runs): eachOf(runs) { $0[$1].isHeld = false }
    case .blocksAdded(let id, let bytes):
      expectUnstarted(id, "takes further blocks")
      self[id].blocks += bytes
    case .queueCreated(let id, let settings):
      lastQueue = max(lastQueue, id.number)
      addQueue(id.number, settings)
    case .queueChanged(let id, let settings): changeQueue(id.number, settings)
    case .queueRemoved(let id):
      if let name = queues[id.number]?.settings.name { queueByName[name] = nil }
    case .workerJoined(let worker, let name, let session):
      workers[worker.number] = WorkerEntry(session: session, labels: labelsByName[name] ?? [])
    case .workerLost(let worker): lose(worker, .lost)
    case .workerLeft(let worker): lose(worker, .recalled)
    case .graphSuspended(let graph, let isSuspended):
      graphs[Int(graph.number)]?.isSuspended = isSuspended
      if !isSuspended {
        graphs[Int(graph.number)]?.isSealed = false
        graphs[Int(graph.number)]?.resumes += 1
      }
    case .dependencyAdded(let from, let to, let policy):
      self[to].needs.append((from, policy))
    case .dependencyRemoved(let from, let to): self[to].needs.removeAll { $0.on == from }
    case .dispatched(let worker, let runs): eachOf(runs) { $0.handOver($1, to: worker) }
    case .recalled(let runs): eachOf(runs) { $0.close($1, .recalled) }
    case .executing(let runs): eachOf(runs) { $0.expectLaunched($1) }
    case .succeeded(let runs): eachOf(runs) { $0.acceptEnd($1, .success) }
    case .finished(let id, let result): acceptEnd(id, result)
    case .attemptFailed(let id, let result, _): acceptEnd(id, result)
    case .cancelled(let runs, let reason):
      for runs in runs {
        if reason == .failurePolicy { notePolicy(of: Int(runs.graph.number)) }
        eachOf(runs) { ledger, id in
          ledger[id].isCancelled = true
          ledger[id].isHeld = false
        }
      }
    case .prioritySet(let runs, let priority):
      eachOf(runs) { ledger, id in
        ledger.expectUnstarted(id, "changes its priority")
        ledger.lastPlace += 1
        ledger[id].priority = priority
        ledger[id].place = ledger.lastPlace
      }
    case .started, .workerDraining, .workerSetAside, .workerResumed, .restoredGraph,
      .restoredEnding, .restoredCounters, .restoredKeys, .keysDated, .graphsRemoved,
      .endStepsLimited, .endsContinued, .madeReusable, .restoredReusable, .recomputed:
      break
    }
  }

  /// Adds an operation at the end of a queue (S51). Draws the next place, as the coordinator must
  /// have drawn it.
  private mutating func enter(_ id: OperationID, _ queue: UInt32) {
    lastPlace += 1
    self[id].queue = queue
    self[id].place = lastPlace
    self[id].enqueuePlace = lastPlace
    if template(of: id)?.isBarrier ?? false { queues[queue]?.barriers.append(id) }
  }

  /// Calls `body` for each operation of the runs, ascending. An operation that no submission made
  /// is a broken invariant.
  private mutating func eachOf(
    _ runs: OperationRuns, _ body: (inout ShadowLedger, OperationID) -> Void
  ) {
    for at in 0..<runs.runCount {
      for index in runs.run(at) {
        let id = OperationID(graph: runs.graph, index: index)
        if contains(id) { body(&self, id) } else { complain("G2", "unknown \(id) in a record") }
      }
    }
  }

  /// Checks that a change of unstarted operations never affects one that a worker has.
  private mutating func expectUnstarted(_ id: OperationID, _ what: String) {
    guard contains(id) else { return complain("G2", "unknown \(id) in a record") }
    if self[id].worker != 0 || self[id].outcome != nil {
      complain("S97", "\(shown(id)) \(what), but worker \(self[id].worker) has it")
    }
  }

  // MARK: - Queues

  private mutating func addQueue(_ number: UInt32, _ settings: QueueSettings) {
    queues[number] = QueueEntry(settings)
    queueByName[settings.name] = number
  }

  /// Every limit is kept with its commit: a launch is judged by the limits that held since its
  /// hand-over.
  private mutating func changeQueue(_ number: UInt32, _ settings: QueueSettings) {
    guard let old = queues[number] else {
      return complain("G2", "unknown queue \(number) in a record")
    }
    queueByName[old.settings.name] = nil
    queueByName[settings.name] = number
    queues[number]?.settings = settings
    queues[number]?.limits.append((commit, settings.maximumConcurrent ?? .max))
    if !settings.isSuspended {
      queues[number]?.isSealed = false
      queues[number]?.resumes += 1
    }
  }

  // MARK: - Graphs

  /// Numbers have no gap, so that the graphs are an array.
  private mutating func add(_ graph: GraphID, _ submission: GraphSubmission) {
    if Int(graph.number) != graphs.count {
      complain("S2", "graph \(graph.number) follows \(graphs.count - 1)")
    }
    if !submission.key.text.isEmpty,
      let other = graphByKey.updateValue(graph, forKey: submission.key)
    {
      complain("I6", "key \(submission.key.text) has graphs \(other.number) and \(graph.number)")
    }
    if let origin = submission.recomputes { expectLineage(of: origin, graph) }
    let queues = resolveQueues(submission, graph)
    var entry = GraphEntry(
      submission: submission, operations: [], templates: [],
      isSuspended: submission.isSuspended)
    if let origin = submission.recomputes, contains(origin) {
      entry.originUnfinished = unfinishedCount(of: origin.graph)
    }
    for (at, template) in submission.templates.enumerated() {
      for _ in 0..<template.count {
        entry.templates.append(at)
        var operation = OperationEntry()
        operation.queue = queues[Int(template.queue)]
        operation.isQueued = !submission.isDeclaredOnly
        operation.isHeld = template.isHeld
        lastPlace += 1
        operation.place = lastPlace
        operation.enqueuePlace = lastPlace
        if let origin = submission.recomputes, contains(origin) {
          operation.place = self[origin].enqueuePlace
          operation.enqueuePlace = operation.place
          operation.returned = commit
        }
        operation.priority = template.priority
        if template.isBarrier, operation.isQueued {
          let index = UInt32(entry.operations.count)
          self.queues[operation.queue]?.barriers.append(OperationID(graph: graph, index: index))
        }
        entry.operations.append(operation)
      }
    }
    operationCount += entry.operations.count
    while graphs.count <= Int(graph.number) { graphs.append(nil) }
    graphs[Int(graph.number)] = entry
    addEdges(graph, submission)
  }

  /// Checks that an operation that runs again has succeeded and may, for a graph that lives, and
  /// not without end (S153).
  private mutating func expectLineage(of origin: OperationID, _ graph: GraphID) {
    guard contains(origin), let template = template(of: origin) else {
      return complain("S153", "graph \(graph.number) runs unknown \(origin) again")
    }
    let name = shown(origin)
    if self[origin].outcome != .succeeded { complain("S153", "\(name) runs again for nothing") }
    if template.isExclusive || template.maximumLosses == 0 || !template.isReproducible
      || template.isBarrier
    {
      complain("S153", "\(name) must not run again")
    }
    if graphs[Int(origin.graph.number)]?.hasEnded ?? true {
      complain("S153", "\(name) runs again, and its graph has ended")
    }
    let others = graphs.compactMap { $0 }.filter { $0.submission.recomputes == origin }
    if others.contains(where: { !$0.hasEnded }) { complain("S153", "\(name) runs again twice") }
    // Ends of the same turn are told after it; so it may be twice as often.
    let unfinished = unfinishedCount(of: origin.graph)
    let since = others.filter { $0.originUnfinished == unfinished }.count
    if since >= 2 * Int(Limits.recomputationsInAll) {
      complain("S153", "\(name) runs again for the time \(since + 1)")
    }
  }

  private func unfinishedCount(of graph: GraphID) -> Int {
    graphs[Int(graph.number)]?.operations.count { $0.outcome == nil } ?? 0
  }

  /// Numbers of own queues follow each other in the order of the submission.
  private mutating func resolveQueues(
    _ submission: GraphSubmission, _ graph: GraphID
  ) -> [UInt32] {
    if submission.queues.isEmpty { return [0] }
    return submission.queues.map { reference in
      switch reference {
      case .named(let name): return queueByName[name] ?? 0
      case .own(var settings):
        lastQueue += 1
        settings.name = "\(graph.number)/\(settings.name)"
        addQueue(lastQueue, settings)
        return lastQueue
      }
    }
  }

  /// Every edge as single edges, element by element: slow and plainly right.
  private mutating func addEdges(_ graph: GraphID, _ submission: GraphSubmission) {
    var firsts: [UInt32] = []
    var next: UInt32 = 0
    for template in submission.templates {
      firsts.append(next)
      next += template.count
    }
    func count(_ template: UInt32) -> UInt32 { submission.templates[Int(template)].count }
    func id(_ index: UInt32) -> OperationID { OperationID(graph: graph, index: index) }
    for edge in submission.groupEdges {
      let from = firsts[Int(edge.from)]..<(firsts[Int(edge.from)] + count(edge.from))
      for (offset, to) in (firsts[Int(edge.to)]..<(firsts[Int(edge.to)] + count(edge.to)))
        .enumerated()
      {
        for on in from where edge.match == .all || on == from.lowerBound + UInt32(offset) {
          self[id(to)].needs.append((id(on), edge.policy))
        }
      }
    }
    let edges = submission.elementEdges
    for at in 0..<edges.count {
      self[id(edges.to[at])].needs.append((id(edges.from[at]), edges.policy(at)))
    }
    for edge in submission.externalEdges {
      self[id(edge.to)].needs.append((edge.from, edge.policy))
    }
  }

  // MARK: - Attempts

  /// One attempt more, with its holder and the commit that gave it (G14).
  private mutating func handOver(_ id: OperationID, to worker: WorkerID) {
    if self[id].worker != 0 { complain("I7", "\(shown(id)) is handed over twice") }
    if self[id].outcome != nil { complain("I2", "\(shown(id)) has ended and is handed over") }
    if self[id].isHeld { complain("S44", "\(shown(id)) is held and is handed over") }
    if !self[id].isQueued { complain("S15", "\(shown(id)) is in no queue and is handed over") }
    if workers[worker.number].map({ $0.isLost }) ?? true {
      complain("I7", "\(shown(id)) is handed to worker \(worker.number), which is not there")
    }
    checkLabels(id, worker)
    if self[id].attempt == 0, graphs[Int(id.graph.number)]?.isStopping ?? false,
      template(of: id)?.isFinal == false
    {
      complain("S23", "\(shown(id)) is handed over, and its graph has failed")
    }
    self[id].attempt += 1
    self[id].worker = worker.number
    self[id].handedOver = commit
  }

  /// Notes that a failure policy takes effect. That of a part of the graph is not told apart, so
  /// that graphs with such policies are left out.
  private mutating func notePolicy(of graph: Int) {
    guard graphs.indices.contains(graph), graphs[graph]?.submission.failureScopes.isEmpty == true
    else { return }
    graphs[graph]?.isStopping = true
  }

  /// Checks that a worker has the labels that an operation and its queue's pool require (S146).
  private mutating func checkLabels(_ id: OperationID, _ worker: WorkerID) {
    let own = template(of: id)?.requirements ?? []
    let pool = queues[self[id].queue]?.settings.pool ?? []
    let labels = workers[worker.number]?.labels ?? []
    if (own + pool).allSatisfy({ $0.isMet(by: labels) }) { return }
    complain("S146", "\(shown(id)) is handed to worker \(worker.number), which lacks a label")
  }

  /// Notes that no worker holds an attempt any more.
  mutating func close(_ id: OperationID, _ reason: Closing.Reason) {
    guard self[id].worker != 0 else { return }
    let attempt = AttemptID(operation: id, attempt: self[id].attempt)
    closed[attempt] = Closing(commit: commit, reason: reason)
    self[id].worker = 0
  }

  /// Closes every attempt that the worker had. The reason says whether a later launch is a broken
  /// lease or a broken goodbye.
  private mutating func lose(_ worker: WorkerID, _ reason: Closing.Reason) {
    workers[worker.number]?.isLost = true
    for number in graphs.indices {
      guard let graph = graphs[number], !graph.hasEnded else { continue }
      for index in graph.operations.indices where graph.operations[index].worker == worker.number {
        close(OperationID(graph: GraphID(UInt32(number)), index: UInt32(index)), reason)
      }
    }
  }

  /// A start that the coordinator takes as a fact must have been seen by the world, but for those
  /// that it presumes at a loss (G17).
  private mutating func expectLaunched(_ id: OperationID) {
    if presumed.contains(self[id].worker) { return }
    if isPresumed(id) { return }
    let attempt = AttemptID(operation: id, attempt: self[id].attempt)
    let session = workers[self[id].worker]?.session
    // Its input did not come: its end implies a start.
    if let ended = endings[attempt], ended.result == .neverStarted, ended.session == session {
      return
    }
    if launched[attempt] == nil || launched[attempt] != session {
      complain("I3", "\(shown(id)) attempt \(attempt.attempt) is executing but was not launched")
    }
  }

  /// Whether an operation counts as started without a word of its worker, which leaves in this turn
  /// in good order: it must not run twice, and a report may be missing (S12).
  private func isPresumed(_ id: OperationID) -> Bool {
    departed.contains(self[id].worker) && template(of: id)?.maximumLosses == 0
  }

  /// Checks that an accepted end is that of the attempt which its worker has ended, with the same
  /// result (G13).
  private mutating func acceptEnd(_ id: OperationID, _ result: AttemptResult) {
    guard contains(id) else { return complain("G2", "unknown \(id) in a record") }
    defer { close(id, .ended) }
    if let template = template(of: id), template.work == .nothing { return }
    let attempt = AttemptID(operation: id, attempt: self[id].attempt)
    if result.couldNotStart { return }
    switch result.cause {
    // No process has ended by these.
    case .lost, .missingInput, .inputUnavailable, .cannotStart, .unknownType: return
    default: break
    }
    guard let ended = endings[attempt] else {
      if result.cause == .workerStopped, launched[attempt] == nil, isPresumed(id) { return }
      return complain("I3", "\(shown(id)) attempt \(attempt.attempt) has not ended: \(result)")
    }
    if self[id].worker == 0 || workers[self[id].worker]?.session != ended.session {
      complain("I3", "\(shown(id)) attempt \(attempt.attempt) ended with another worker")
    }
    if result.isSuccess, !ended.result.isSuccess || ended.result.output != result.output {
      complain("I3", "\(shown(id)) attempt \(attempt.attempt) came to \(ended.result)")
    }
  }
}
