// Places the plan of an accepted submission as a living graph, and removes an ended graph. A graph
// lives from the fact `submitted` to the end of the turn in which its last operation ends.
// Afterwards `ended` has what later submissions may cite (S27), and the history has the rest.
// `place` is also the first half of a restore, so that it must not tell or queue anything
// (`Snapshot`).

import DequeModule
import OpClusterModel
import OpClusterQueries

extension ClusterState {
  /// Applies the fact `submitted`. The order of the steps is the order that observers see: the
  /// graph, then what it takes over, then skips, then readiness. Queues are joined before anything
  /// ends, because an end leaves its queue. Costs the stages that open, edges on other graphs, and
  /// what is taken over; making the plan, where that is left to this function, costs all of the
  /// graph.
  mutating func applySubmission(
    _ id: GraphID, _ submission: GraphSubmission, _ fingerprint: UInt64, _ at: WallTime,
    into turn: inout SchedulingTurn
  ) {
    keys.pass(at)
    var plan =
      turn.takePlan(pageBits: pageBits, demandsAtOnce: demandsAtOnce)
      ?? GraphPlan(submission, pageBits: pageBits, demandsAtOnce: demandsAtOnce)
    place(&plan, as: id, submission, fingerprint, at)
    for edge in submission.externalEdges { cite(edge.from) }
    if let id = submission.recomputes { countRecomputation(of: id) }
    emit(
      .graphSubmitted(operations: graphs[id.number].operationCount), about: .graph(id), into: &turn)
    takeOver(id, into: &turn)
    if graphs[id.number].unfinished == 0 { justEnded.append(id) }
    let isContinued = submission.continued != nil
    if !submission.isDeclaredOnly {
      let joinings = isContinued ? graphs[id.number].joinings(of: submission) : plan.joinings
      for joining in joinings { join(joining, of: id.number, into: &turn) }
    }
    // Collected and ended below, after external edges: an end releases dependents, which must have
    // all of their blockers counted by then.
    var impossible = isContinued ? releaseReused(id) : EndList()
    if !submission.externalEdges.isEmpty { skipForEndedDependencies(id, into: &turn) }
    end(&impossible, into: &turn)
    if submission.isDeclaredOnly { return }
    if !plan.laterStages.isEmpty {
      pendingEnds.append(LaterStages(graph: id, numbers: plan.laterStages, demands: plan.demands))
    }
    if isContinued {
      // What was taken over may have opened the gates of others.
      for stage in graphs[id.number].stages.indices
      where graphs[id.number].stages[stage].gates == 0 {
        openStage(id.number, stage, into: &turn)
      }
    } else {
      for opening in plan.openings { open(opening, of: id.number, into: &turn) }
    }
  }

  /// Makes a plan a graph of the cluster, apart from its members in queues and lines: gives it its
  /// number, its time, its places, its queues and demand classes, and edges to other graphs.
  /// Costs what `GraphPlan` lists beside the stages, and its queues and demand classes.
  ///
  /// - Parameter submission: That of the plan, but for secrets that it borrows.
  mutating func place(
    _ plan: inout GraphPlan, as id: GraphID, _ submission: GraphSubmission, _ fingerprint: UInt64,
    _ at: WallTime
  ) {
    let count = plan.outline.operationCount
    plan.graph.id = id
    plan.graph.submission.secrets = submission.secrets
    plan.graph.fingerprint = fingerprint
    plan.graph.submittedAt = at
    plan.graph.basePlace = basePlace(of: submission)
    resolveQueues(of: id, submission, &plan.graph)
    // A declared graph takes in all of them: none of its stages comes later.
    let isWhole = plan.laterStages.isEmpty
    for demand in isWhole ? plan.demands[...] : plan.demands.prefix(plan.demandsAtOnce) {
      plan.graph.demandClasses.append(
        use(demand.demandClass, stages: demand.stages), stages: demand.stages)
    }
    for stage in plan.outline.delayed { plan.graph.delay(stage: stage) }
    // The places are reserved in one block, operation 0 first. A declared operation does not use
    // its own: it draws another when it is enqueued (S51).
    counters.lastPlace += UInt64(count)
    livingOperations += UInt64(count)
    counters.lastGraph = max(counters.lastGraph, id.number)
    for stage in plan.graph.stagesWithContents {
      let template = plan.graph.stages[stage].template
      pins.pinAll(template.ownContents, copies: template.replicas)
    }
    graphs.insert(moving: &plan.graph, number: id.number)
    livingNumbers.insert(id)
    if !submission.externalEdges.isEmpty { noteCiting(id.number) }
    noteRecomputation(by: id)
    keys.begin(
      submission.key,
      SubmissionKeys.Known(graph: id, fingerprint: fingerprint, operations: count))
    dependOnOthers(id)
  }

  /// Finds or makes the queue of each reference of a submission. Admission has refused names that
  /// do not exist; `default` stands in for them only because a fact cannot be refused. An own queue
  /// exists already in a restore, where queues come before graphs; the graph then becomes its owner
  /// again.
  private mutating func resolveQueues(
    of id: GraphID, _ submission: GraphSubmission, _ graph: inout Graph
  ) {
    if submission.queues.isEmpty {
      graph.queues = Graph.defaultQueue
      return
    }
    graph.queues = submission.queues.map { reference in
      switch reference {
      case .named(let name): return queueByName[name] ?? .main
      case .own(var settings):
        settings.name = settings.name(in: id)
        if let known = queueByName[settings.name] {
          queues[known.number].owner = id
          graph.ownQueues.append(known)
          return known
        }
        let queue = QueueID(counters.lastQueue + 1)
        addQueue(queue, settings, owner: id)
        graph.ownQueues.append(queue)
        return queue
      }
    }
  }

  /// Counts edges on operations of other graphs, and registers the dependents there. An edge on an
  /// operation that has ended blocks nothing and is not registered.
  private mutating func dependOnOthers(_ id: GraphID) {
    let graph = id.number
    for edge in graphs[graph].submission.externalEdges where knownEnding(of: edge.from) == nil {
      let to = graphs[graph].operation(edge.to)
      graphs[graph].update(edge.to) { $0.blockers += 1 }
      graphs[edge.from.graph.number].externalDependents[edge.from.index, default: []].append(
        Graph.ExternalDependent(operation: to, policy: edge.policy))
    }
  }

  /// Counts members, or sets a barrier; called in order of addition.
  private mutating func join(
    _ joining: GraphPlan.Joining, of graph: UInt32, into turn: inout SchedulingTurn
  ) {
    let queue = graphs[graph].queues[joining.queue].number
    let place = graphs[graph].basePlace + UInt64(joining.first)
    if joining.isBarrier {
      queues[queue].addBarrier(graphs[graph].operation(joining.first), place: place)
    } else {
      queues[queue].members += joining.count
      // The last one, but for what runs again at its old place.
      let segment = queues[queue].segment(of: place)
      queues[queue].segments[segment].unfinished += joining.count
      if segment == 0 { obstructBarrier(queue, into: &turn) }
      noteCountChange(queue)
    }
  }

  /// Skips dependents of earlier operations that ended with an outcome other than required (S27).
  private mutating func skipForEndedDependencies(_ id: GraphID, into turn: inout SchedulingTurn) {
    let graph = id.number
    for edge in graphs[graph].submission.externalEdges {
      guard let ending = knownEnding(of: edge.from), let outcome = ending.outcome,
        !edge.policy.isSatisfied(by: outcome)
      else { continue }
      var ends = EndList()
      let stage = graphs[graph].stageNumber(of: edge.to)
      markImpossible(
        OperationSpan(graphs[graph].operation(edge.to), stage: stage),
        because: EndList.Cause(id: edge.from, ending: ending), &ends)
      end(&ends, into: &turn)
    }
  }

  // MARK: - Leaving

  /// Ends graphs whose last operation has ended, and none of whose operations runs again: tells
  /// observers, remembers a summary, and drops the graph. Returns those graphs. Called once at the
  /// end of each turn, live and in replay. Costs the operations of the graphs that end.
  @discardableResult
  mutating func endGraphs(into turn: inout SchedulingTurn) -> [GraphID] {
    if justEnded.isEmpty { return [] }
    var leaving: [GraphID] = []
    while !justEnded.isEmpty {
      // Sorted: the order must not depend on how this state arose, by replay or by restore.
      let ending = justEnded.sorted()
      justEnded = []
      for id in ending where graphs.contains(id.number) && graphs[id.number].recomputing == 0 {
        endGraph(id, into: &turn)
        leaving.append(id)
      }
    }
    forgetEnded()
    return leaving
  }

  private mutating func endGraph(_ id: GraphID, into turn: inout SchedulingTurn) {
    let graph = graphs.take(id.number)
    livingNumbers.remove(id)
    let outcome = graph.outcome
    emit(.graphFinished(outcome), about: .graph(id), into: &turn)
    var row = graph.row(outcome.graphState)
    row.finishedAt = turn.wall
    livingOperations -= UInt64(graph.operationCount)
    outputAccounts.end(id, bytes: graph.outputExcess)
    unciteAll(of: graph)
    for at in graph.stagesWithContents {
      let template = graph.stages[at].template
      pins.unpinAll(template.ownContents, copies: template.replicas)
    }
    letGoContents(of: graph)
    let outcomes = graph.endings
    if !turn.isReplay {
      turn.endings.append(
        GraphEnding(
          row: row, outcomes: outcomes.map { $0 & 0x7F }, submittedAt: graph.submittedAt,
          finishedAt: turn.wall))
    }
    keys.end(graph.submission.key, of: id, since: turn.keysDate)
    // One byte instead of one for each operation: most graphs that are remembered succeeded as a
    // whole, and 10,000 of them are kept.
    let isUniform = outcomes.allSatisfy { $0 == outcomes.first }
    var ending = EndedGraph(
      graph: id, key: SubmissionKey(""), fingerprint: graph.fingerprint, outcome: outcome,
      operationCount: UInt32(outcomes.count),
      outcomes: isUniform ? Array(outcomes.prefix(1)) : outcomes,
      outputs: graph.outputEntries)
    ending.outputReplicas = graph.replicas(of: ending.outputs)
    ending.secrets = graph.submission.secrets
    ending.submitter = graph.submission.submitter
    remember(ending)
    releaseClasses(of: graph)
    forgetLines(of: graph)
    for queue in graph.ownQueues { removeQueue(queue) }
    endRecomputation(by: graph, outcome)
    retired.retire(graph.stages, graph.cells, graph.reasons, graph.demandClasses)
  }

  /// Empties the lines of queues without members and barriers. Their runs are obsolete, since
  /// nobody is in the queues, and they would hold memory until the queues are used again.
  private mutating func forgetLines(of graph: Graph) {
    for queue in graph.queues.map(\.number) {
      guard queues.contains(queue), queues[queue].members == 0, queues[queue].barrierCount == 0,
        !queues[queue].line.isEmpty
      else { continue }
      queues[queue].line = Line()
    }
  }

  /// Whether a graph with a key is among those that end now, or wait for one of them alone.
  var endsKeys: Bool {
    justEnded.contains { id in
      guard graphs.contains(id.number) else { return false }
      if !graphs[id.number].submission.key.text.isEmpty { return true }
      guard let origin = graphs[id.number].submission.recomputes?.graph.number,
        graphs.contains(origin)
      else { return false }
      return graphs[origin].unfinished == 0 && !graphs[origin].submission.key.text.isEmpty
    }
  }

  /// Keeps the part of a graph that later submissions may cite, until `forgetEnded`. Snapshots of
  /// earlier releases include the graph's key here, without the time of the graph's end.
  mutating func remember(_ ending: EndedGraph) {
    keys.restore(
      KeptKey(
        key: ending.key, graph: ending.graph, fingerprint: ending.fingerprint,
        operations: ending.operationCount, since: .unknown))
    var ending = ending
    ending.key = SubmissionKey("")
    ended[ending.graph] = ending
    outputAccounts.remembered += ending.outputBytes
    endedOrder.append(ending.graph)
  }
}

extension Graph {
  /// The queues of a submission that names none; shared by all such graphs.
  fileprivate static let defaultQueue: [QueueID] = [.main]

  /// Delays the elements of a stage until the moment of its template, if that is to come and they
  /// are not held. Costs a step for each element with a cell of its own.
  fileprivate mutating func delay(stage: Int) {
    guard let moment = stages[stage].template.notBefore, !stages[stage].template.isHeld,
      moment.delay(submittedAt: submittedAt) > .zero
    else { return }
    let before = stages[stage].pristine.word
    stages[stage].pristine.flags.formUnion([.held, .timed])
    count(stages[stage].template.count, of: stage, from: before, to: stages[stage].pristine.word)
    var index = stages[stage].firstIndex
    let end = stages[stage].indices.upperBound
    while index < end {
      let next = cells.pageBoundary(after: index, before: end)
      if cells.hasPage(of: index) {
        for own in index..<next { update(own) { $0.flags.formUnion([.held, .timed]) } }
      }
      index = next
    }
  }

  /// What its queues count of a graph some of whose operations were taken over from another: one
  /// entry for each stage, but those that were taken over as a whole or have no elements.
  fileprivate func joinings(of submission: GraphSubmission) -> [GraphPlan.Joining] {
    stages.indices.filter { stages[$0].unfinished > 0 }.map { at in
      GraphPlan.Joining(
        queue: Int(stages[at].template.queue),
        first: stages[at].firstIndex, count: stages[at].unfinished,
        isBarrier: stages[at].template.isBarrier)
    }
  }

  /// The ending of each operation, with the mark of a harmless skip.
  var endings: [UInt8] {
    var endings: [UInt8] = []
    endings.reserveCapacity(Int(operationCount))
    var index: UInt32 = 0
    while index < operationCount {
      if cells.hasOwnCells(of: index) {
        // Without a span for each: there may be a million.
        index = cells.appendEndings(ofPage: index, to: &endings)
      } else {
        let span = span(from: index, before: operationCount)
        endings.append(
          contentsOf: repeatElement(cell(index).ending.rawValue, count: Int(span.count)))
        index += span.count
      }
    }
    return endings
  }

  fileprivate var outputEntries: [GraphState.OutputEntry] {
    if outputs.isEmpty { return [] }
    return outputs.keys.sorted().map { index in
      GraphState.OutputEntry(index: index, output: outputs[index] ?? [])
    }
  }

  /// Those of each output; none if all are 1.
  fileprivate func replicas(of outputs: [GraphState.OutputEntry]) -> [UInt8] {
    if outputs.isEmpty || stages.allSatisfy({ $0.template.replicas == 1 }) { return [] }
    return outputs.map { replicas(of: $0.index) }
  }

  /// The worst outcome of its members, except allowed failures. A failure outweighs a cancellation,
  /// and a cancellation outweighs a skip.
  var outcome: GraphOutcome {
    if failures > 0 || sawFailedSkip { return .failed }
    return sawCancelled ? .cancelled : .succeeded
  }

  /// Whether an operation was skipped because of a failure, even an allowed one. Visits each span,
  /// but only of an ending or ended graph that has skips and no cancellation.
  private var sawFailedSkip: Bool {
    guard !sawCancelled, counts[.skipped] > 0 else { return false }
    var index: UInt32 = 0
    while index < operationCount {
      let ending = cell(index).ending
      if ending.outcome == .skipped, !ending.isHarmless { return true }
      index += span(from: index, before: operationCount).count
    }
    return false
  }
}

extension QueueSettings {
  /// The name of a graph's own queue, which the submission names without the graph.
  func name(in graph: GraphID) -> String { "\(graph.number)/\(name)" }
}

extension GraphSubmission {
  /// The submission without what stages and edge tables hold.
  var withoutParts: GraphSubmission {
    var short = self
    short.templates = []
    short.elementEdges = ElementEdges()
    return short
  }
}

// MARK: - Later changes

extension ClusterState {
  /// Appends encoded blocks; `Blocks` has checked their size and that nobody has the operation.
  mutating func addBlocks(_ bytes: [UInt8], to id: OperationID) {
    guard graphs.contains(id.graph.number) else { return }
    graphs[id.graph.number].addedBlocks[id.index, default: []] += bytes
  }

  /// Applies the fact of a removal. Numbers that are not remembered are passed over. The order list
  /// is filtered once, whatever the number of removed graphs.
  mutating func forgetGraphs(_ removed: [GraphID]) {
    var wasThere = false
    for id in removed {
      guard let known = ended.removeValue(forKey: id) else { continue }
      outputAccounts.remembered -= known.outputBytes
      wasThere = true
    }
    if wasThere { endedOrder.removeAll { ended[$0] == nil } }
  }
}
