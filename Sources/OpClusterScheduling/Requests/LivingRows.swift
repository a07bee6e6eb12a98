// Answers queries with rows of the living state. The body adds rows of the history, to which it
// turns for graphs that have ended. Rows show what is decided, which may not be durable yet: the
// body holds them back until it is (G3). Pages are bounded by `Limits.rowsPerReply`.

public import OpClusterModel

extension Scheduler {
  /// The submitter of a living graph, as the coordinator knows it; empty if it is unknown.
  package func submitter(of graph: GraphID) -> String? {
    graphs.contains(graph.number) ? graphs[graph.number].submission.submitter : nil
  }

  /// Answers requests that change nothing. The body answers those about logs, events,
  /// configuration. The cases are listed without a default, so that a new request is sorted into
  /// one of the two lists when it is written.
  func read(_ request: ClientRequest, at now: Instant) throws(Refusal) -> ClientReply {
    switch request {
    case .graphs, .operations, .explain:
      guard let search = LivingSearch(request) else { break }
      return try answerAtOnce(search, at: now)
    case .structure(let selection):
      guard let graph = try resolveGraphs(selection).first else {
        throw Refusal(.unknownGraph, "no living graph matches")
      }
      var structure = state.graphStructure(of: graphs[graph.number])
      structure.lastEvent = counters.lastEvent
      return .structure(structure)
    case .submission(let graph):
      return try submission(of: graph)
    case .queues(let name, let after, let limit):
      return queueRows(name, after, Limits.rowsPerReply(asked: limit))
    case .workers:
      return .workers(workers(at: now) + downWorkers.rows(at: now))
    case .ping:
      return .pong(commit: lastCommit, epoch: counters.epoch, lastEvent: counters.lastEvent)
    case .configuration, .log, .subscribe, .grantCredit, .unsubscribe, .enrol, .submit, .reusable,
      .enqueue, .cancel, .cancelQueue, .suspendGraphs, .createQueue, .changeQueue, .removeQueue,
      .addDependency, .removeDependency, .setPriority, .hold, .setQueue, .addBlocks, .beginWait,
      .endWait, .drainWorker, .resumeWorker, .forgetWorker, .removeGraphs, .locate, .place,
      .bring:
      break
    }
    throw Refusal(.badRequest, "this request is not for the scheduler")
  }

  /// The answer to a question whose search has ended.
  ///
  /// - Throws: A refusal if nothing that lives matches.
  package func answer(
    _ search: LivingSearch, at now: Instant
  ) throws(Refusal) -> ClientReply {
    let chosen = search.found.prefix(search.limit)
    if search.wanted == .graphs {
      return .graphs(chosen.map { row(of: $0.graph) }, more: search.hasMore)
    }
    if chosen.isEmpty, search.after == nil {
      throw search.isAnyGraphSelected ? Self.noOperation : noMatch(search.selection)
    }
    return search.wanted == .explanations
      ? explain(chosen, more: search.hasMore, at: now)
      : operationRows(chosen, search.limit, more: search.hasMore)
  }

  /// The answer in one part.
  func answerAtOnce(
    _ search: LivingSearch, at now: Instant
  ) throws(Refusal) -> ClientReply {
    var search = search
    _ = goOn(with: &search, atMost: .max)
    return try answer(search, at: now)
  }

  /// The states of a living graph whose structure is too large for the loop to answer with: the
  /// first of a selection, if it has more stages than `most`.
  package func largeGraph(_ selection: Selection, stagesAbove most: Int) -> LargeGraph? {
    guard let graph = try? resolveGraphs(selection).first,
      graphs[graph.number].stages.count > most
    else { return nil }
    let stages = graphs[graph.number].stages
    return LargeGraph(
      row: state.row(of: graphs[graph.number]), counts: stages.map(\.counts))
  }

  /// The outcomes of a living graph's operations, one raw `Outcome` each; nil if it does not live.
  package func outcomes(of graph: GraphID) -> [UInt8]? {
    guard graphs.contains(graph.number) else { return nil }
    return graphs[graph.number].endings.map { $0 & 0x7F }
  }

  /// The connected or absent workers, without those that were lost or have left.
  public func workers(at now: Instant) -> [WorkerRow] {
    workers.numbers.map { row(ofWorker: $0, at: now) }
  }

  /// Costs one page, however many queues there are.
  private func queueRows(_ name: String, _ after: QueueID?, _ limit: Int) -> ClientReply {
    if !name.isEmpty { return .queues(queueByName[name].map { [row(ofQueue: $0.number)] } ?? []) }
    let found = queues.numbers(after: after?.number, limit: limit + 1)
    return .queues(found.prefix(limit).map { row(ofQueue: $0) }, more: found.count > limit)
  }

  /// One page. Commands and blockers are only in the row of a single operation, since they would
  /// make a page of a thousand rows as large as a thousand commands.
  func operationRows(_ chosen: ArraySlice<OperationID>, _ limit: Int, more: Bool) -> ClientReply {
    var rows = chosen.map { row(of: $0) }
    // A page of one row is also a request for a single operation.
    if rows.count == 1, !more || limit == 1 {
      addCommand(to: &rows[0])
      addBlockers(to: &rows[0])
    }
    return .operations(rows, more: more)
  }

  /// Adds the command of a command operation, for a request of a single operation.
  private func addCommand(to row: inout OperationRow) {
    let graph = graphs[row.id.graph.number]
    let stage = graph.stages[graph.stageNumber(of: row.id.index)]
    guard stage.template.work == .command else { return }
    row.command = stage.template.payload
    let arguments = stage.template.elementArguments
    if !arguments.isEmpty { row.commandArgument = arguments[Int(stage.element(row.id.index))] }
  }

  /// Adds blockers other than dependencies, for a request of a single operation (S39, S86).
  private func addBlockers(to row: inout OperationRow) {
    let graph = graphs[row.id.graph.number]
    guard graph.cell(row.id.index).phase == .waiting else { return }
    let blockers = state.barriersBefore(row.id, graph.stageNumber(of: row.id.index))
    // A barrier may have a whole queue before it.
    row.blockedBy = Array(blockers.prefix(100))
  }

  func row(of id: GraphID) -> GraphRow { state.row(of: graphs[id.number]) }

  /// One row, from cell, template and queue. Costs all of its dependencies, although it names a
  /// hundred at most.
  func row(of id: OperationID) -> OperationRow {
    let graph = graphs[id.graph.number]
    let number = graph.stageNumber(of: id.index)
    let stage = graph.stages[number]
    let cell = graph.cell(id.index)
    let shown =
      stage.template.isArray
      ? stage.template.shownIndex(ofElement: stage.element(id.index)) : nil
    var row = OperationRow(
      id: id, name: stage.template.name, index: shown, state: cell.word)
    row.isReady = state.isReady(id, number)
    row.isExecuting = cell.phase == .executing
    row.isFinished = cell.phase == .finished
    row.isCancelled = cell.isCancelled
    row.outcome = cell.ending.outcome
    row.reason = graph.reasons[id.index]
    let queue = graph.queue(of: id.index, stage: number).number
    // A queue may be removed before the graph whose operations ended in it.
    row.queue = queues.contains(queue) ? queues[queue].settings.name : ""
    row.priority = graph.priority(of: id.index, stage: number)
    row.qos = stage.template.qos ?? (queues.contains(queue) ? queues[queue].settings.qos : .default)
    row.workerName = workers.contains(cell.worker) ? workers[cell.worker].name : ""
    row.attempt = UInt32(cell.runs)
    row.progress = progress[id]
    row.needs = needs(of: id, stage)
    row.submittedAt = graph.submittedAt
    row.startedAt = timestamps[id]?.started ?? .unknown
    if row.isReady, !cell.isCancelled, cell.phase != .finished {
      row.readyAt = state.readyTime(id, number)
    }
    if cell.isTimed {
      row.notBefore = stage.template.notBefore?.moment(submittedAt: graph.submittedAt)
    }
    return row
  }

  /// At most a hundred dependencies; a dependency on a whole stage is named once.
  private func needs(of id: OperationID, _ stage: Stage) -> [OperationRow.Need] {
    let graph = graphs[id.graph.number]
    var needs: [OperationRow.Need] = []
    for edge in stage.incoming where edge.match == .all && needs.count < 100 {
      let from = graph.stages[edge.stage]
      needs.append(
        OperationRow.Need(
          id: graph.operation(from.firstIndex),
          shown: StageName(graph: id.graph, name: from.template.name).text, policy: edge.policy))
    }
    graph.forEachDependency(of: id.index) { on, policy in
      if needs.count < 100 {
        needs.append(OperationRow.Need(id: on, shown: state.shown(on), policy: policy))
      }
    }
    return needs
  }

  /// Slots in use are shown as executing and dispatched. The subtraction is bounded: an operation
  /// between two runs executes and takes no slot (S67).
  func row(ofQueue number: UInt32) -> QueueRow {
    let queue = queues[number]
    return QueueRow(
      queue: queue.id, settings: queue.settings, operationCount: queue.members,
      executing: queue.executing, dispatched: queue.inFlight - min(queue.inFlight, queue.executing),
      barriers: queue.barrierCount)
  }

  /// A worker that has not been heard of since the coordinator's start has no silence to show.
  private func row(ofWorker number: UInt32, at now: Instant) -> WorkerRow {
    let (worker, heard) = (workers[number], conversations[number])
    let state: WorkerRow.State =
      worker.isDraining
      ? .draining : heard.peer == nil ? .away : heard.isSuspect ? .suspect : .connected
    let silence = now - heard.lastHeard
    var row = WorkerRow(
      worker: worker.id, name: worker.name, state: state, capacity: heard.offered,
      free: free(number), executing: worker.executing, held: worker.assigned, labels: heard.labels,
      types: heard.types, lastHeard: heard.wasHeard ? max(silence, .zero) : nil)
    row.unkillable = UInt32(clamping: heard.unkillable.count)
    row.trouble = heard.trouble?.worst?.text(at: now) ?? ""
    row.isSetAside = heard.trouble?.whole != nil
    return row
  }
}

/// A living graph without what the history knows of it.
package struct LargeGraph: Sendable {
  package var row: GraphRow
  /// By stage.
  package var counts: [StateCounts]
  /// An estimate: the counts of a stage are a list of its own.
  package static let bytesPerStage = 40 + 4 * StateWord.allCases.count
}
