// Requests to cancel. One of many graphs is carried out in parts, a part a turn.

import OpClusterModel
import OpClusterQueries

extension Scheduler {
  /// Cancels a selection, a set, or dependents.
  mutating func cancel(
    _ asker: Asker, _ request: ClientRequest, _ target: OperationTarget, _ reason: String,
    _ grace: Span?, into turn: inout SchedulingTurn
  ) throws(Refusal) -> Answer {
    guard case .selection(let selection) = target else {
      let members = try resolve(target, by: asker)
      return try cancel(asker, request, members, reason, grace, into: &turn)
    }
    if selection.meansAllGraphs, graphs.count > share.graphsSought,
      asker.mayChange == .allGraphs
    {
      let progress = CancellationProgress(
        of: .upTo(counters.lastGraph), by: .selection(OperationFilter(selection)), gone: [],
        reason: .request(reason), grace: grace)
      return try cancelInParts(asker, progress)
    }
    let chosen = try resolveGraphs(selection, by: asker)
    if chosen.count > share.graphsSought {
      let progress = CancellationProgress(
        of: .listed(chosen.map { OperationRuns(graph: $0) }),
        by: .selection(OperationFilter(selection)), gone: [], reason: .request(reason),
        grace: grace)
      return try cancelInParts(asker, progress)
    }
    let members = TargetMembers(runs: try resolve(selection, in: chosen))
    return try cancel(asker, request, members, reason, grace, into: &turn)
  }

  /// Cancels what is in a queue (S95).
  mutating func cancelQueued(
    _ asker: Asker, _ request: ClientRequest, _ name: String, _ reason: String,
    into turn: inout SchedulingTurn
  ) throws(Refusal) -> Answer {
    let queue = try queue(named: name)
    if graphs.count > share.graphsSought, asker.mayChange == .allGraphs {
      let progress = CancellationProgress(
        of: .upTo(counters.lastGraph), by: .queue(queue), gone: [], reason: .request(reason),
        grace: nil)
      return try cancelInParts(asker, progress)
    }
    let members = TargetMembers(runs: state.members(of: queue))
    try checkOwn(members.runs.lazy.map(\.graph), of: asker)
    return try cancel(asker, request, members, reason, nil, into: &turn)
  }

  /// Whether a cancellation goes in parts.
  private func isMany(_ members: [OperationRuns]) -> Bool {
    if members.count > share.graphsCancelled { return true }
    return members.reduce(0) { $0 + singles(in: $1) } > share.operationsCancelled
  }

  /// How many of these change one by one, at most: not the elements of arrays without edges of
  /// their own.
  private func singles(in runs: OperationRuns) -> Int {
    guard graphs.contains(runs.graph.number) else { return 0 }
    let graph = runs.graph.number
    let most =
      graphs[graph].dependencies.isEmpty
      ? graphs[graph].stages.count : Int(graphs[graph].operationCount)
    return min(runs.operationCount, most)
  }

  /// Cancels the members: those of few graphs in one fact (S96, S97). The reply names at most
  /// `Limits.rowsPerReply` verdicts and counts all.
  private mutating func cancel(
    _ asker: Asker, _ request: ClientRequest, _ members: TargetMembers, _ reason: String,
    _ grace: Span?, into turn: inout SchedulingTurn
  ) throws(Refusal) -> Answer {
    var progress = CancellationProgress(
      of: .listed(members.runs), by: .none, gone: members.gone, reason: .request(reason),
      grace: grace)
    if isMany(members.runs) { return try cancelInParts(asker, progress) }
    try check(progress.reason)
    let ahead = members.runs.flatMap { runs in aheadOfRunning(runs) }
    if !ahead.isEmpty {
      // Recalled first: a dependent sent ahead for a member must not start on its cancelled end.
      aheadPauses += 1
      let pinned = ahead.map { OperationRuns($0) }
      deferRequest(
        asker, awaiting: ahead, pinning: pinned,
        .decideAgain(request, pinned: pinned, pausesAhead: true), into: &turn)
      return .later
    }
    let part = addDependents(to: takePart(&progress), &progress)
    let recalled = cancel(part, &progress, into: &turn)
    // Not before those that end at once have ended: the queue may be removed then, for example.
    if recalled.isEmpty, !hasPendingEnds {
      return .now(.cancelled(progress.verdicts, progress.counts))
    }
    deferred.append(
      DeferredRequest(asker: asker, awaiting: recalled, action: .finishCancelling(progress)))
    return .later
  }

  private func check(_ reason: CancelReason) throws(Refusal) {
    if case .request(let text) = reason, text.utf8.count > Limits.reasonBytes {
      throw Refusal(.limitExceeded, "the reason has more than \(Limits.reasonBytes) bytes")
    }
  }

  // MARK: - Parts

  /// Begins a cancellation of many graphs; `continueParts` does the first part in this turn.
  private mutating func cancelInParts(
    _ asker: Asker, _ progress: CancellationProgress
  ) throws(Refusal) -> Answer {
    try check(progress.reason)
    try deferInParts(asker, .finishCancelling(progress))
    // What a part waits for must not go ahead again behind the next one.
    aheadPauses += 1
    return .later
  }

  /// Cancels the next part, or recalls what may not start on its end. Returns the members that
  /// workers must return before the answer.
  mutating func continueCancellation(
    _ progress: inout CancellationProgress, into turn: inout SchedulingTurn
  ) -> [OperationID] {
    var part: [OperationRuns]
    if let waiting = progress.waiting {
      progress.waiting = nil
      state.unpin(waiting.recalled.map { OperationRuns($0) })
      // Decided anew: what was a member may have changed meanwhile.
      part = waiting.part.map { members($0, progress.search) }
    } else {
      part = takePart(&progress)
    }
    part = addDependents(to: part, &progress)
    let ahead = part.flatMap { runs in aheadOfRunning(runs) }
    if ahead.isEmpty { return cancel(part, &progress, into: &turn) }
    state.pin(ahead.map { OperationRuns($0) })
    for id in ahead { state.askRecall(id, into: &turn) }
    progress.waiting = (part, ahead)
    return []
  }

  /// Takes the newest graphs that are left. Of a graph with more operations than one part cancels
  /// it takes the last ones: what waits for them is behind them. Costs the graphs it looks at, and
  /// their members.
  private func takePart(_ progress: inout CancellationProgress) -> [OperationRuns] {
    var part: [OperationRuns] = []
    var (sought, cancelled) = (0, 0)
    while part.count < share.graphsCancelled, sought < share.graphsSought,
      cancelled < share.operationsCancelled, let next = progress.takeNewest(of: graphs)
    {
      sought += 1
      var runs = members(next, progress.search)
      if runs.isEmpty { continue }
      if singles(in: runs) > share.operationsCancelled - cancelled,
        graphs[runs.graph.number].edgesAscend,
        let rest = runs.splitOffAllBut(last: share.operationsCancelled - cancelled)
      {
        progress.putBack(rest)
      }
      cancelled += singles(in: runs)
      part.append(runs)
    }
    return part
  }

  /// Takes with a part whatever is left of the graphs that wait for it, so that an end skips nobody
  /// who is to be cancelled too (S96). Whoever waits for a graph is mostly newer; only late edges
  /// lead back. Costs the edges that lead out of graphs that were not gone through before.
  private func addDependents(
    to part: [OperationRuns], _ progress: inout CancellationProgress
  ) -> [OperationRuns] {
    var part = part
    var work = part.map(\.graph)
    while !progress.isComplete, let graph = work.popLast() {
      guard graphs.contains(graph.number), !graphs[graph.number].externalDependents.isEmpty,
        progress.passed.insert(graph).inserted
      else { continue }
      for dependents in graphs[graph.number].externalDependents.values {
        for dependent in dependents {
          work.append(dependent.operation.graph)
          if let runs = progress.takeEarly(dependent.operation.graph) {
            part.append(members(runs, progress.search))
          }
        }
      }
    }
    // The edges came from a table without an order; facts must have one.
    return part.filter { !$0.isEmpty }.sorted { $0.graph < $1.graph }
  }

  /// A new edge: what led nowhere before may lead to what is left.
  mutating func noteEdgeInParts() {
    guard requestsInParts > 0 else { return }
    for at in deferred.indices { deferred[at].action.forgetPassed() }
  }

  /// What of a graph, or of some of its operations, is to be cancelled by now.
  private func members(
    _ runs: OperationRuns, _ search: CancellationProgress.Search
  ) -> OperationRuns {
    guard graphs.contains(runs.graph.number) else { return runs }
    let range = runs.range ?? 0..<graphs[runs.graph.number].operationCount
    return switch search {
    case .none: runs
    case .selection(let filter): members(of: runs.graph, filter, in: range)
    case .queue(let queue): state.members(of: queue, in: runs.graph.number, range)
    }
  }

  /// Cancels these in one fact. Returns the ones that workers must return first. A step for each
  /// span of members, ended ones included, and for each verdict.
  private mutating func cancel(
    _ part: [OperationRuns], _ progress: inout CancellationProgress,
    into turn: inout SchedulingTurn
  ) -> [OperationID] {
    // Those at a worker, or between two runs. Only the first are told, in `tellWorkers`.
    var awaited: [OperationID] = []
    // Cancelled before and still running: a further request may give them a new grace period.
    var hurried: [OperationID] = []
    var marked: [OperationRuns] = []
    for runs in part {
      guard graphs.contains(runs.graph.number) else {
        // It has ended since the request.
        for at in 0..<runs.runCount {
          progress.noteVerdict(.alreadyFinished, of: runs.graph, runs.run(at))
        }
        continue
      }
      var chosen = OperationRuns(graph: runs.graph)
      graphs.forEachSpan(of: runs) { span in
        let verdict = cancelVerdict(before: span.id)
        progress.noteVerdict(verdict, of: span.graph, span.range)
        // What runs, or waits for its worker, is alone.
        if verdict == .executing { awaited.append(span.id) }
        if verdict == .alreadyCancelled, progress.grace != nil, span.isSingle {
          hurried.append(span.id)
        }
        if verdict == .executing || verdict == .cancelled { chosen.append(span) }
      }
      if !chosen.isEmpty { marked.append(chosen) }
    }
    if !marked.isEmpty { commit(.cancelled(marked, progress.reason), into: &turn) }
    tellWorkers(awaited, progress.grace, into: &turn)
    // The commit has ended none of these: a worker has them. Those without a worker are
    // passed over. An assigned one is being recalled and needs no grace.
    for id in hurried where !graphs[id.graph.number].cell(id.index).isAssigned {
      sendCancel(id, grace: progress.grace, into: &turn)
    }
    return awaited.filter { state.isRecalling($0) }
  }

  /// The verdict, read before the fact is committed: afterwards all members look cancelled.
  /// `executing` is provisional for an assigned operation; its recall turns it into `cancelled` if
  /// it never started (S91).
  private func cancelVerdict(before id: OperationID) -> CancelVerdict.Verdict {
    let cell = graphs[id.graph.number].cell(id.index)
    if cell.phase == .finished { return .alreadyFinished }
    if cell.isCancelled { return .alreadyCancelled }
    // Between two runs no worker has it, and it has started all the same (S12).
    return cell.worker == 0 && cell.phase != .executing ? .cancelled : .executing
  }

  /// The operations that workers hold ahead of time behind these members (S151). Looks at each
  /// span of members and its edges. Graphs without edges between single operations are left out at
  /// once, since nothing of them goes ahead, and those of which no worker has anything.
  private func aheadOfRunning(_ runs: OperationRuns) -> [OperationID] {
    guard graphs.contains(runs.graph.number), graphs[runs.graph.number].inFlight > 0,
      !graphs[runs.graph.number].dependents.isEmpty
    else { return [] }
    var found: [OperationID] = []
    graphs.forEachSpan(of: runs) { span in
      let cell = graphs[span.graph.number].cell(span.first)
      if cell.worker != 0, !cell.isCancelled { found += state.aheadDependents(of: span.id) }
    }
    return found
  }
}
