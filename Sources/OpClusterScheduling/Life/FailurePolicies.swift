// The effect of a failure on the rest of its graph, or of a part of it: `on_failure` and
// `max_failures`. What has many operations is ended in parts, a part a turn: everybody else waits
// for a turn. Until its part has come, nothing of the graph is handed over.

import DequeModule
import OpClusterModel

extension Scheduler {
  /// Applies the policies of every graph in which an operation failed since the last call. Not
  /// before all has followed from the failures in that graph: what they make impossible is skipped
  /// and not cancelled (S23).
  mutating func applyFailurePolicies(into turn: inout SchedulingTurn) {
    if state.failedGraphs.isEmpty, lingering.isEmpty, policies.isEmpty { return }
    endLingering(into: &turn)
    for id in state.takeFailedGraphs() where graphs.contains(id.number) {
      stopGraph(id, isNewLife: false, hadPendingEnds: false)
      stopScopes(of: id, isNewLife: false, hadPendingEnds: false)
    }
    continuePolicies(into: &turn)
  }

  /// Applies the policies again in a new life, which does not know the lingering members, nor what
  /// the former life had left for later turns.
  ///
  /// - Parameter hadPendingEnds: Whether the former life left ends. Else each policy had begun to
  ///   take effect in the turn of the decisive failure.
  mutating func resumeFailurePolicies(
    hadPendingEnds: Bool, into turn: inout SchedulingTurn
  ) {
    lingering = []
    for policy in policies where graphs.contains(policy.graph.number) {
      state.noteStopping(policy.graph.number, -1)
    }
    policies = []
    _ = state.takeFailedGraphs()
    for number in graphs.numbers where graphs[number].sawFailures {
      stopGraph(GraphID(number), isNewLife: true, hadPendingEnds: hadPendingEnds)
      stopScopes(of: GraphID(number), isNewLife: true, hadPendingEnds: hadPendingEnds)
    }
    continuePolicies(into: &turn)
  }

  private mutating func stopGraph(_ id: GraphID, isNewLife: Bool, hadPendingEnds: Bool) {
    let number = id.number
    guard !graphs[number].isStoppedAsAWhole,
      graphs[number].failurePolicyTookEffect || graphs[number].failsAsAWhole
    else { return }
    state.markStopped(scope: nil, of: number)
    let isAgain = isNewLife && (graphs[number].failurePolicyTookEffect || !hadPendingEnds)
    enforce(
      PolicyProgress(
        graph: id, cancelsRunning: graphs[number].submission.failurePolicy == .cancel,
        markedFrom: isAgain ? reached(id, 0..<graphs[number].operationCount) : .max,
        sparesFinal: true, rest: 0..<graphs[number].operationCount))
  }

  /// Stops the parts of the graph that exceed their failure limits.
  private mutating func stopScopes(of id: GraphID, isNewLife: Bool, hadPendingEnds: Bool) {
    for (at, scope) in graphs[id.number].submission.failureScopes.enumerated()
    where graphs[id.number].scopeFailures[at] > scope.maximumFailures
      && !graphs[id.number].stoppedScopes[at]
    {
      state.markStopped(scope: at, of: id.number)
      let stages = Int(scope.first)..<(Int(scope.first) + Int(scope.count))
      let first = graphs[id.number].stages[stages.lowerBound].firstIndex
      let end = graphs[id.number].stages[stages.upperBound - 1].indices.upperBound
      enforce(
        PolicyProgress(
          graph: id, cancelsRunning: scope.cancelsRunning,
          markedFrom: isNewLife && !hadPendingEnds ? reached(id, first..<end) : .max,
          sparesFinal: false, rest: first..<end))
    }
  }

  private mutating func enforce(_ policy: PolicyProgress) {
    // Equal scopes fail together, one inside the other.
    if let last = policies.last, last.graph == policy.graph, last.sparesFinal == policy.sparesFinal,
      last.cancelsRunning == policy.cancelsRunning, last.markedFrom == policy.markedFrom,
      last.rest.clamped(to: policy.rest) == policy.rest
    {
      return
    }
    policies.append(policy)
    state.noteStopping(policy.graph.number, 1)
  }

  /// How far a former life had come with members: what has not begun and is not cancelled it had
  /// not reached, and it went from the last operation on. Costs the spans.
  private func reached(_ id: GraphID, _ members: Range<UInt32>) -> UInt32 {
    var first = members.lowerBound
    graphs[id.number].forEachSpan(in: members) { span in
      let cell = graphs[id.number].cell(span.first)
      let isLeft = cell.phase != .finished && !cell.isCancelled && cell.runs == 0
      if isLeft, !graphs[id.number].stages[span.stage].template.isFinal {
        first = span.range.upperBound
      }
    }
    return first
  }

  // MARK: - Parts

  /// Ends as much of what policies have left as one turn does; they take turns. One waits while
  /// something of its graph is yet to be skipped: that is not cancelled instead (S23). Costs the
  /// policies besides.
  private mutating func continuePolicies(into turn: inout SchedulingTurn) {
    var room = share.operationsCancelled
    var looks = policies.count
    while room > 0, looks > 0, var policy = policies.popFirst() {
      looks -= 1
      let graph = policy.graph.number
      guard graphs.contains(graph) else { continue }
      if graphs[graph].impossible == 0 {
        let part = takePart(of: &policy, &room)
        let members = doomed(policy, part)
        stop(members, of: policy.graph, cancelsRunning: policy.cancelsRunning, into: &turn)
      }
      if policy.rest.isEmpty {
        state.noteStopping(graph, -1)
      } else {
        policies.append(policy)
      }
    }
  }

  /// Takes the last operations that are left: what waits for them is behind them, and is cancelled
  /// before it could be skipped. All of them, if they are few or an edge leads back.
  private func takePart(of policy: inout PolicyProgress, _ room: inout Int) -> Range<UInt32> {
    let graph = policy.graph.number
    let isByStage = graphs[graph].dependencies.isEmpty && graphs[graph].stages.count <= room
    let count = isByStage ? graphs[graph].stages.count : policy.rest.count
    var part = policy.rest
    if count > room, graphs[graph].edgesAscend {
      part = (part.upperBound - UInt32(room))..<part.upperBound
    }
    room -= min(room, max(1, count))
    policy.rest = policy.rest.lowerBound..<part.lowerBound
    return part
  }

  /// Cancels members in one commit. A worker may hold a member together with a dependent that
  /// awaits its end there (S151); the member may have succeeded already, and the dependent may run.
  /// If it were cancelled now, the dependent would have started behind a cancelled end. So it is
  /// recalled together with its dependents and cancelled once nothing awaits it; every dependent
  /// that really started then started behind a real success.
  private mutating func stop(
    _ members: [OperationSpan], of graph: GraphID, cancelsRunning: Bool,
    into turn: inout SchedulingTurn
  ) {
    var runs = OperationRuns(graph: graph)
    var atWorkers: [OperationID] = []
    var later: [OperationID] = []
    for span in members {
      let isAtWorker = graphs[graph.number].cell(span.first).worker != 0
      if isAtWorker, state.isAwaitedAhead(span.id) {
        later.append(span.id)
      } else {
        runs.append(span)
        if isAtWorker { atWorkers.append(span.id) }
      }
    }
    if !runs.isEmpty { commit(.cancelled([runs], .failurePolicy), into: &turn) }
    tellWorkers(atWorkers, into: &turn)
    for id in later {
      lingering.append(Lingering(id: id, cancelsRunning: cancelsRunning))
      state.recallAhead(of: id, into: &turn)
      state.askRecall(id, into: &turn)
    }
  }

  /// Ends lingering members that no dependent given ahead of time awaits any more.
  private mutating func endLingering(into turn: inout SchedulingTurn) {
    let members = lingering
    lingering = []
    for member in members where graphs.contains(member.id.graph.number) {
      let cell = graphs[member.id.graph.number].cell(member.id.index)
      if cell.phase == .finished || cell.isCancelled { continue }
      if cell.worker != 0, state.isAwaitedAhead(member.id) {
        lingering.append(member)
      } else if member.cancelsRunning || !cell.isRunning {
        commit(.cancelled([OperationRuns(member.id)], .failurePolicy), into: &turn)
        tellWorkers([member.id], into: &turn)
      }
    }
  }

  /// The members among these operations that end with the graph or part. A step for each span.
  private func doomed(_ policy: PolicyProgress, _ part: Range<UInt32>) -> [OperationSpan] {
    let graph = policy.graph.number
    var found: [OperationSpan] = []
    graphs[graph].forEachSpan(in: part) { span in
      if policy.sparesFinal, graphs[graph].stages[span.stage].template.isFinal { return }
      let cell = graphs[graph].cell(span.first)
      if cell.phase == .finished || cell.isCancelled { return }
      let isSpared = cell.runs > 0 && span.first >= policy.markedFrom
      if !policy.cancelsRunning, cell.isRunning || isSpared { return }
      found.append(span)
    }
    return found
  }
}

extension OperationCell {
  /// Whether an attempt of it runs, as far as the coordinator knows.
  fileprivate var isRunning: Bool { phase == .executing && !flags.contains(.retrying) }
}

extension Graph {
  fileprivate var sawFailures: Bool { failures > 0 || scopeFailures.contains { $0 > 0 } }
}
