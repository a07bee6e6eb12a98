// Makes an accepted submission a living graph, and removes an ended graph. A graph lives from the
// fact `submitted` to the end of the turn in which its last operation ends. Afterwards `ended` has
// what later submissions may cite (S27), and the history has the rest. `build` is also the first
// half of a restore, so that it must not tell or queue anything (`Snapshot`).

import DequeModule
import OpClusterModel

extension ClusterState {
  /// Applies the fact `submitted`. The order of the steps is the order that observers see: the
  /// graph, then what it takes over, then skips, then readiness. Queues are joined before anything
  /// ends, because an end leaves its queue. Costs templates, edges and operations with own edges,
  /// not plain array elements.
  mutating func applySubmission(
    _ id: GraphID, _ submission: GraphSubmission, _ fingerprint: UInt64, _ at: WallTime,
    into turn: inout SchedulingTurn
  ) {
    keys.pass(at)
    build(id, submission, fingerprint, at)
    for edge in submission.externalEdges { cite(edge.from) }
    if let id = submission.recomputes { countRecomputation(of: id) }
    let count = graphs[id.number].operationCount
    emit(.graphSubmitted(operations: count), about: .graph(id), into: &turn)
    takeOver(id, into: &turn)
    if graphs[id.number].unfinished == 0 { justEnded.append(id) }
    if !submission.isDeclaredOnly { joinQueues(id, into: &turn) }
    // Collected and ended below, after external edges: an end releases dependents, which must have
    // all of their blockers counted by then.
    var impossible = submission.continued == nil ? EndList() : releaseReused(id)
    if !submission.externalEdges.isEmpty { skipForEndedDependencies(id, into: &turn) }
    end(&impossible, into: &turn)
    if submission.isDeclaredOnly { return }
    for stage in graphs[id.number].stages.indices
    where graphs[id.number].stages[stage].gates == 0 {
      openStage(id.number, stage, into: &turn)
    }
  }

  /// Builds everything except the queues: stages, edges, blockers, places. Expects an admitted
  /// submission; every index in it is within bounds.
  mutating func build(
    _ id: GraphID, _ submission: GraphSubmission, _ fingerprint: UInt64, _ at: WallTime
  ) {
    let lowered = LoweredEdges(submission)
    let count = UInt32(submission.operationCount)
    var graph = Graph(
      id: id, submission: submission.withoutElementEdges, fingerprint: fingerprint,
      submittedAt: at, basePlace: basePlace(of: submission), stages: [],
      cells: CellTable(count: count, pageBits: pageBits), dependents: lowered.dependents,
      dependencies: lowered.dependencies, changes: PlaceTable(pageBits: pageBits),
      enqueuedIn: PlaceTable(pageBits: pageBits), unfinished: count,
      isSuspended: submission.isSuspended)
    if !submission.failureScopes.isEmpty {
      graph.scopeFailures = submission.failureScopes.map { _ in 0 }
      graph.stoppedScopes = submission.failureScopes.map { _ in false }
    }
    let queues = resolveQueues(of: id, submission, &graph)
    graph.edgesAscend = lowered.ascend
    graph.stages = makeStages(submission, lowered.groupEdges, queues, at)
    graph.stageNames = StageNames(graph.stages)
    for edge in submission.externalEdges {
      graph.extraDependencies[edge.to, default: []].append(
        Graph.ExtraDependency(on: edge.from, policy: edge.policy, isOriginal: true))
    }
    // The places are reserved in one block, operation 0 first. A declared operation does not use
    // its own: it draws another when it is enqueued (S51).
    counters.lastPlace += UInt64(count)
    livingOperations += UInt64(count)
    counters.lastGraph = max(counters.lastGraph, id.number)
    for template in submission.templates {
      pins.pinAll(template.ownContents, copies: template.replicas)
    }
    graphs.insert(moving: &graph, number: id.number)
    if !submission.externalEdges.isEmpty { noteCiting(id.number) }
    noteRecomputation(by: id)
    keys.begin(
      submission.key,
      SubmissionKeys.Known(graph: id, fingerprint: fingerprint, operations: count))
    countBlockers(id, lowered.dependencies)
  }

  /// Makes one stage for each template, with first indices that add up. An edge on an array without
  /// elements opens no gate, so it closes none (S32).
  private mutating func makeStages(
    _ submission: GraphSubmission, _ edges: [GroupEdge], _ queues: [QueueID], _ at: WallTime
  ) -> [Stage] {
    var first: UInt32 = 0
    var stages: [Stage] = []
    stages.reserveCapacity(submission.templates.count)
    for position in submission.templates.indices {
      stages.append(makeStage(submission, position, firstIndex: first, queues, at))
      first += submission.templates[position].count
    }
    for edge in edges {
      let from = Int(edge.from)
      let to = Int(edge.to)
      stages[from].outgoing.append(
        StageEdge(stage: to, policy: edge.policy, match: edge.match))
      stages[to].incoming.append(
        StageEdge(stage: from, policy: edge.policy, match: edge.match))
      switch edge.match {
      case .all: if stages[from].template.count > 0 { stages[to].gates += 1 }
      // Counted once for all elements, which have equal cells until one of them changes.
      case .sameIndex: stages[to].pristine.blockers += 1
      }
    }
    return stages
  }

  /// Makes one stage. Its elements share the cell `pristine` until something happens to one of
  /// them, so that an array of a million costs one cell here.
  private mutating func makeStage(
    _ submission: GraphSubmission, _ position: Int, firstIndex: UInt32, _ queues: [QueueID],
    _ submitted: WallTime
  ) -> Stage {
    let template = submission.templates[position]
    var pristine = OperationCell()
    pristine.phase = submission.isDeclaredOnly ? .declared : .waiting
    if template.isHeld {
      pristine.flags.insert(.held)
    } else if let moment = template.notBefore, moment.delay(submittedAt: submitted) > .zero {
      pristine.flags.formUnion([.held, .timed])
    }
    let count = template.count
    var stage = Stage(
      template: template, firstIndex: firstIndex, queue: queues[Int(template.queue)],
      demandClass: useClass(of: template), pristine: pristine, unfinished: count)
    stage.counts[pristine.word] = count
    return stage
  }

  /// The queue of each reference of a submission. Admission has refused names that do not exist;
  /// `default` stands in for them only because a fact cannot be refused. An own queue exists
  /// already in a restore, where queues come before graphs; the graph then becomes its owner again.
  private mutating func resolveQueues(
    of id: GraphID, _ submission: GraphSubmission, _ graph: inout Graph
  ) -> [QueueID] {
    if submission.queues.isEmpty { return [.main] }
    return submission.queues.map { reference in
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

  /// Counts blockers on single operations, and registers dependents with other graphs. An edge on
  /// an operation that has ended blocks nothing and is not registered.
  private mutating func countBlockers(_ id: GraphID, _ dependencies: EdgeTable) {
    let graph = id.number
    if !dependencies.isEmpty {
      for index in 0..<graphs[graph].operationCount {
        let own = dependencies.range(of: index).count
        if own > 0 { graphs[graph].update(index) { $0.blockers += UInt32(own) } }
      }
    }
    for edge in graphs[graph].submission.externalEdges where knownEnding(of: edge.from) == nil {
      let to = graphs[graph].operation(edge.to)
      graphs[graph].update(edge.to) { $0.blockers += 1 }
      graphs[edge.from.graph.number].externalDependents[edge.from.index, default: []].append(
        Graph.ExternalDependent(operation: to, policy: edge.policy))
    }
  }

  /// Counts members and sets barriers, in order of addition.
  private mutating func joinQueues(_ id: GraphID, into turn: inout SchedulingTurn) {
    let graph = id.number
    for stage in graphs[graph].stages.indices {
      let queue = graphs[graph].stages[stage].queue.number
      let count = graphs[graph].stages[stage].unfinished
      let first = graphs[graph].stages[stage].firstIndex
      // An array without elements, or a stage that was taken over as a whole, is in no queue.
      if count == 0 { continue }
      if graphs[graph].stages[stage].template.isBarrier {
        queues[queue].addBarrier(
          graphs[graph].operation(first), place: graphs[graph].basePlace + UInt64(first))
      } else {
        queues[queue].members += count
        // The last one, but for what runs again at its old place.
        let place = graphs[graph].basePlace + UInt64(first)
        let segment = queues[queue].segment(of: place)
        queues[queue].segments[segment].unfinished += count
        if segment == 0 { obstructBarrier(queue, into: &turn) }
        noteCountChange(queue)
      }
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
    let outcome = graphs[id.number].outcome
    emit(.graphFinished(outcome), about: .graph(id), into: &turn)
    let graph = graphs.take(id.number)
    livingOperations -= UInt64(graph.operationCount)
    outputAccounts.end(id, bytes: graph.outputExcess)
    unciteAll(of: graph)
    for at in graph.stages.indices { pins.unpinAll(graph.stages[at].template.ownContents) }
    letGoContents(of: graph)
    let outcomes = graph.endings
    if !turn.isReplay {
      turn.endings.append(
        GraphEnding(
          structure: graphStructure(of: graph, finishedAt: turn.wall),
          outcomes: outcomes.map { $0 & 0x7F }, submittedAt: graph.submittedAt,
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
    ending.secrets = graph.submission.secrets
    ending.submitter = graph.submission.submitter
    remember(ending)
    releaseClasses(of: graph)
    forgetLines(of: graph)
    for queue in graph.ownQueues { removeQueue(queue) }
    endRecomputation(by: graph, outcome)
    retiredStages.retire(graph.stages)
  }

  /// Empties the lines of queues without members and barriers. Their runs are obsolete, since
  /// nobody is in the queues, and they would hold memory until the queues are used again.
  private mutating func forgetLines(of graph: Graph) {
    var former: QueueID?
    for at in graph.stages.indices where graph.stages[at].queue != former {
      former = graph.stages[at].queue
      let queue = graph.stages[at].queue.number
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
  /// The ending of each operation, with the mark of a harmless skip.
  fileprivate var endings: [UInt8] {
    var endings: [UInt8] = []
    endings.reserveCapacity(Int(operationCount))
    var index: UInt32 = 0
    while index < operationCount {
      if cells.hasOwnCells(of: index) {
        // Without a span for each: there may be a million.
        let end = cells.pageBoundary(after: index, before: operationCount)
        for own in index..<end { endings.append(cell(own).ending.rawValue) }
        index = end
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

  /// The worst outcome of its members, except allowed failures. A failure outweighs a cancellation,
  /// and a cancellation outweighs a skip.
  var outcome: GraphOutcome {
    if failures > 0 || sawFailedSkip { return .failed }
    return sawCancelled ? .cancelled : .succeeded
  }

  /// Whether an operation was skipped because of a failure, even an allowed one. Visits each span,
  /// but only of an ending or ended graph that has skips and no cancellation.
  private var sawFailedSkip: Bool {
    guard stages.contains(where: { $0.counts[.skipped] > 0 }), !sawCancelled else { return false }
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
  /// The submission without the columns that the edge tables hold more compactly.
  var withoutElementEdges: GraphSubmission {
    var short = self
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
