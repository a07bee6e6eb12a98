// What a failure means for the rest of its graph, or of a part of it: `on_failure` and
// `max_failures`.

import OpClusterModel

extension Scheduler {
  /// Looks at every graph that has failures and has not drawn its conclusion yet.
  mutating func applyFailurePolicies(into turn: inout Turn) {
    if failedGraphs.isEmpty { return }
    let affected = failedGraphs
    failedGraphs = []
    for id in affected where graphs.contains(id.number) {
      if !graphs[id.number].failurePolicyTookEffect, graphs[id.number].failsAsAWhole {
        let stages = graphs[id.number].stages.filter { !$0.template.isFinal }
        let cancelsRunning = graphs[id.number].submission.failurePolicy == .cancel
        stop(id, stages, cancelsRunning: cancelsRunning, into: &turn)
      }
      stopScopes(of: id, into: &turn)
    }
  }

  /// Parts of the graph with more failures than they may have.
  private mutating func stopScopes(of id: GraphID, into turn: inout Turn) {
    for (at, scope) in graphs[id.number].submission.failureScopes.enumerated()
    where graphs[id.number].scopeFailures[at] > scope.maximumFailures
      && !graphs[id.number].stoppedScopes[at]
    {
      graphs[id.number].stoppedScopes[at] = true
      let first = Int(scope.first)
      let stages = Array(graphs[id.number].stages[first..<(first + Int(scope.count))])
      stop(id, stages, cancelsRunning: scope.cancelsRunning, into: &turn)
    }
  }

  private mutating func stop(
    _ id: GraphID, _ stages: [Stage], cancelsRunning: Bool, into turn: inout Turn
  ) {
    let (runs, held) = doomed(id, stages, cancelsRunning: cancelsRunning)
    if runs.isEmpty { return }
    commit(.cancelled(runs, .failurePolicy), into: &turn)
    tellHolders(held, into: &turn)
  }

  /// The members that end with it, and which of them a worker holds.
  private func doomed(
    _ id: GraphID, _ stages: [Stage], cancelsRunning: Bool
  ) -> (OperationRuns, held: [OperationID]) {
    var runs = OperationRuns(graph: id)
    var held: [OperationID] = []
    for stage in stages {
      for index in stage.indices {
        let cell = graphs[id.number].cell(index)
        if cell.phase == .finished || cell.isCancelled { continue }
        let runsNow = cell.phase == .executing && !cell.flags.contains(.retrying)
        if runsNow, !cancelsRunning { continue }
        runs.append(index)
        if cell.worker != 0 { held.append(OperationID(graph: id, index: index)) }
      }
    }
    return (runs, held)
  }
}

extension Graph {
  /// Whether there are more failures than the graph may have.
  var failsAsAWhole: Bool {
    if let bound = submission.maximumFailures { return failures > bound }
    return submission.failurePolicy != .continue && failures > 0
  }

  /// An operation of a stage failed, and was not allowed to.
  mutating func countFailure(_ stage: Int) {
    failures += 1
    for at in submission.failureScopes.indices where submission.failureScopes[at].holds(stage) {
      scopeFailures[at] += 1
    }
  }
}
