// What a failure means for the rest of its graph: `on_failure` and `max_failures`.

import OpClusterModel

extension Scheduler {
  /// Looks at every graph that has failures and has not drawn its conclusion yet.
  mutating func applyFailurePolicies(into turn: inout Turn) {
    if failedGraphs.isEmpty { return }
    let affected = failedGraphs
    failedGraphs = []
    for id in affected where graphs.contains(id.number) {
      guard !graphs[id.number].failurePolicyTookEffect, graphs[id.number].failsAsAWhole else {
        continue
      }
      let cancelsRunning = graphs[id.number].submission.failurePolicy == .cancel
      let (runs, held) = doomed(id, cancelsRunning: cancelsRunning)
      if runs.isEmpty { continue }
      commit(.cancelled(runs, .failurePolicy), into: &turn)
      tellHolders(held, into: &turn)
    }
  }

  /// The members that end with it, `finally` apart, and which of them a worker holds.
  private func doomed(
    _ id: GraphID, cancelsRunning: Bool
  ) -> (OperationRuns, held: [OperationID]) {
    var runs = OperationRuns(graph: id)
    var held: [OperationID] = []
    for stage in graphs[id.number].stages where !stage.template.isFinal {
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
  fileprivate var failsAsAWhole: Bool {
    if let bound = submission.maximumFailures { return failures > bound }
    return submission.failurePolicy != .continue && failures > 0
  }
}
