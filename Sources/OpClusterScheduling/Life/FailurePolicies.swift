// The effect of a failure on the rest of its graph, or of a part of it: `on_failure` and
// `max_failures`.

import OpClusterModel

extension Scheduler {
  /// Applies the policies of every graph in which an operation failed since the last call. Not
  /// before all has followed from the failures in that graph: what they make impossible is skipped
  /// and not cancelled (S23).
  mutating func applyFailurePolicies(into turn: inout SchedulingTurn) {
    if state.failedGraphs.isEmpty, lingering.isEmpty { return }
    endLingering(into: &turn)
    for id in state.takeFailedGraphs() where graphs.contains(id.number) {
      if !graphs[id.number].failurePolicyTookEffect, graphs[id.number].failsAsAWhole {
        stopGraph(id, isAgain: false, into: &turn)
      }
      stopScopes(of: id, isAgain: false, into: &turn)
    }
  }

  /// Applies the policies again in a new life, which does not know the lingering members.
  ///
  /// - Parameter hadPendingEnds: Whether the former life left ends. Else each policy already took
  ///   effect in the turn of the decisive failure.
  mutating func resumeFailurePolicies(
    hadPendingEnds: Bool, into turn: inout SchedulingTurn
  ) {
    lingering = []
    _ = state.takeFailedGraphs()
    for number in graphs.numbers where graphs[number].sawFailures {
      let id = GraphID(number)
      if graphs[number].failurePolicyTookEffect || graphs[number].failsAsAWhole {
        let isAgain = graphs[number].failurePolicyTookEffect || !hadPendingEnds
        stopGraph(id, isAgain: isAgain, into: &turn)
      }
      stopScopes(of: id, isAgain: !hadPendingEnds, into: &turn)
    }
  }

  private mutating func stopGraph(_ id: GraphID, isAgain: Bool, into turn: inout SchedulingTurn) {
    let stages = graphs[id.number].stages.filter { !$0.template.isFinal }
    let cancelsRunning = graphs[id.number].submission.failurePolicy == .cancel
    let members = doomed(id, stages, cancelsRunning: cancelsRunning, isAgain: isAgain)
    stop(members, of: id, cancelsRunning: cancelsRunning, into: &turn)
  }

  /// Stops the parts of the graph that exceed their failure limits.
  private mutating func stopScopes(of id: GraphID, isAgain: Bool, into turn: inout SchedulingTurn) {
    for (at, scope) in graphs[id.number].submission.failureScopes.enumerated()
    where graphs[id.number].scopeFailures[at] > scope.maximumFailures
      && !graphs[id.number].stoppedScopes[at]
    {
      state.markStopped(scope: at, of: id.number)
      let first = Int(scope.first)
      let stages = Array(graphs[id.number].stages[first..<(first + Int(scope.count))])
      let members = doomed(id, stages, cancelsRunning: scope.cancelsRunning, isAgain: isAgain)
      stop(members, of: id, cancelsRunning: scope.cancelsRunning, into: &turn)
    }
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

  /// The members that end with the graph or part. A step for each span.
  ///
  /// - Parameter isAgain: The members, except the lingering ones, were marked in an earlier life. A
  ///   member that was left to run then and is retried now does not end.
  private func doomed(
    _ id: GraphID, _ stages: [Stage], cancelsRunning: Bool, isAgain: Bool
  ) -> [OperationSpan] {
    var found: [OperationSpan] = []
    for stage in stages {
      graphs[id.number].forEachSpan(in: stage.indices) { span in
        let cell = graphs[id.number].cell(span.first)
        if cell.phase == .finished || cell.isCancelled { return }
        if !cancelsRunning, cell.isRunning || (isAgain && cell.runs > 0) { return }
        found.append(span)
      }
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
