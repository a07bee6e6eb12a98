// Makes an accepted submission a living graph, and removes an ended graph.

import DequeModule
import OpClusterModel

extension ClusterState {
  mutating func applySubmission(
    _ id: GraphID, _ submission: GraphSubmission, _ fingerprint: UInt64, _ at: WallTime,
    into turn: inout SchedulingTurn
  ) {
    keys.pass(at)
    build(id, submission, fingerprint, at)
    let count = graphs[id.number].operationCount
    emit(.graphSubmitted(operations: count), about: .graph(id), into: &turn)
    takeOver(id, into: &turn)
    if graphs[id.number].unfinished == 0 { justEnded.append(id) }
    if !submission.isDeclaredOnly { joinQueues(id) }
    let impossible = submission.continued == nil ? [] : releaseReused(id)
    if !submission.externalEdges.isEmpty { skipForEndedDependencies(id, into: &turn) }
    if !impossible.isEmpty { end(impossible, into: &turn) }
    if submission.isDeclaredOnly { return }
    for stage in graphs[id.number].stages.indices
    where graphs[id.number].stages[stage].gates == 0 {
      openStage(id.number, stage, into: &turn)
    }
  }

  /// Builds everything except the queues: stages, edges, blockers, places.
  mutating func build(
    _ id: GraphID, _ submission: GraphSubmission, _ fingerprint: UInt64, _ at: WallTime
  ) {
    let lowered = LoweredEdges(submission)
    let count = UInt32(submission.operationCount)
    var graph = Graph(
      id: id, submission: submission.withoutElementEdges, fingerprint: fingerprint,
      submittedAt: at, basePlace: counters.lastPlace + 1, stages: [],
      cells: CellTable(count: count), dependents: lowered.dependents,
      dependencies: lowered.dependencies, unfinished: count,
      isSuspended: submission.isSuspended)
    if !submission.failureScopes.isEmpty {
      graph.scopeFailures = submission.failureScopes.map { _ in 0 }
      graph.stoppedScopes = submission.failureScopes.map { _ in false }
    }
    let queues = resolveQueues(of: id, submission, &graph)
    graph.stages = makeStages(submission, lowered.groupEdges, queues, at)
    graph.stageNames = StageNames(graph.stages)
    for edge in submission.externalEdges {
      graph.extraDependencies[edge.to, default: []].append(
        Graph.ExtraDependency(on: edge.from, policy: edge.policy, isOriginal: true))
    }
    counters.lastPlace += UInt64(count)
    counters.lastGraph = max(counters.lastGraph, id.number)
    graphs.insert(moving: &graph, number: id.number)
    if !submission.externalEdges.isEmpty { noteCiting(id.number) }
    keys.begin(
      submission.key,
      SubmissionKeys.Known(graph: id, fingerprint: fingerprint, operations: count))
    countBlockers(id, lowered.dependencies)
  }

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
      case .sameIndex: stages[to].pristine.blockers += 1
      }
    }
    return stages
  }

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

  /// Counts blockers on single operations, and registers dependents with other graphs.
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
  private mutating func joinQueues(_ id: GraphID) {
    let graph = id.number
    for stage in graphs[graph].stages.indices {
      let queue = graphs[graph].stages[stage].queue.number
      let count = graphs[graph].stages[stage].unfinished
      let first = graphs[graph].stages[stage].firstIndex
      if count == 0 { continue }
      if graphs[graph].stages[stage].template.isBarrier {
        queues[queue].addBarrier(
          graphs[graph].operation(first), place: graphs[graph].basePlace + UInt64(first))
      } else {
        queues[queue].members += count
        queues[queue].segments[queues[queue].segments.count - 1].unfinished += count
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
      let cell = graphs[graph].cell(edge.to)
      let cause = End(id: edge.from, ending: ending, reason: nil)
      if cell.phase != .finished,
        let skip = skip(graphs[graph].operation(edge.to), cell, because: cause)
      {
        end([skip], into: &turn)
      }
    }
  }

  // MARK: - Leaving

  /// Ends graphs whose last operation has ended: tells observers, remembers a summary, and drops
  /// the graph. Returns those graphs.
  @discardableResult
  mutating func endGraphs(into turn: inout SchedulingTurn) -> [GraphID] {
    if justEnded.isEmpty { return [] }
    // Sorted: the order must not depend on how this state arose, by replay or by restore.
    let leaving = justEnded.sorted()
    justEnded = []
    for id in leaving where graphs.contains(id.number) {
      let outcome = graphs[id.number].outcome
      emit(.graphFinished(outcome), about: .graph(id), into: &turn)
      let graph = graphs.take(id.number)
      outputAccounts.end(id, bytes: graph.outputExcess)
      let outcomes = graph.endings
      if !turn.isReplay {
        turn.endings.append(
          GraphEnding(
            structure: graphStructure(of: graph, finishedAt: turn.wall),
            outcomes: outcomes.map { $0 & 0x7F }, submittedAt: graph.submittedAt,
            finishedAt: turn.wall))
      }
      keys.end(graph.submission.key, of: id, since: turn.keysDate)
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
    }
    forgetEnded()
    return leaving
  }

  /// Empties the lines of queues without members and barriers.
  private mutating func forgetLines(of graph: Graph) {
    for stage in graph.stages {
      let queue = stage.queue.number
      guard queues.contains(queue), queues[queue].members == 0, queues[queue].barrierCount == 0,
        !queues[queue].line.isEmpty
      else { continue }
      queues[queue].line = Line()
    }
  }

  /// Whether a graph with a key is among those that end now.
  var endsKeys: Bool {
    justEnded.contains { id in
      graphs.find(id.number).map { !$0.submission.key.text.isEmpty } ?? false
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
    for index in 0..<operationCount { endings.append(cell(index).ending.rawValue) }
    return endings
  }

  fileprivate var outputEntries: [GraphState.OutputEntry] {
    if outputs.isEmpty { return [] }
    return outputs.keys.sorted().map { index in
      GraphState.OutputEntry(index: index, output: outputs[index] ?? [])
    }
  }

  /// The worst outcome of its members, except allowed failures.
  var outcome: GraphOutcome {
    if failures > 0 || sawFailedSkip { return .failed }
    return sawCancelled ? .cancelled : .succeeded
  }

  /// Whether an operation was skipped because of a failure, even an allowed one.
  private var sawFailedSkip: Bool {
    guard stages.contains(where: { $0.counts[.skipped] > 0 }), !sawCancelled else { return false }
    return (0..<operationCount).contains {
      let ending = cell($0).ending
      return ending.outcome == .skipped && !ending.isHarmless
    }
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
  mutating func addBlocks(_ bytes: [UInt8], to id: OperationID) {
    guard graphs.contains(id.graph.number) else { return }
    graphs[id.graph.number].addedBlocks[id.index, default: []] += bytes
  }

  /// Applies the fact of a removal.
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
