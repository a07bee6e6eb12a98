// What follows from the end of an operation that ran again (S153), and when it need not run any
// more.

import OpClusterModel

extension Scheduler {
  /// Notes what an operation has left that ran again, in the turn of its end: it is the output of
  /// the one that it stands for. Whoever waits for that looks again.
  mutating func noteRecomputed(_ id: OperationID, into turn: inout SchedulingTurn) {
    guard graphs.contains(id.graph.number),
      let origin = graphs[id.graph.number].submission.recomputes,
      graphs[id.graph.number].cell(id.index).ending.outcome == .succeeded,
      let output = graphs[id.graph.number].outputs[id.index], !output.isEmpty,
      graphs.contains(origin.graph.number),
      graphs[origin.graph.number].outputs[origin.index] != output
    else { return }
    commit(.recomputed(origin, output: output), into: &turn)
    reuseDigests.forget([origin.graph])
  }

  /// Lets those look again that waited for operations which have run again, or will not.
  mutating func endRecomputations(into turn: inout SchedulingTurn) {
    for origin in state.takeEndedRecomputations() {
      contentWaits.hasten(after: origin, at: turn.now)
    }
  }

  /// Cancels what runs again for graphs of which nothing else is left. Costs that.
  mutating func cancelNeedlessRecomputations(into turn: inout SchedulingTurn) {
    if state.recomputations.isEmpty { return }
    for id in state.justEnded
    where graphs.contains(id.number) && graphs[id.number].recomputing > 0 {
      for index in graphs[id.number].recomputations.keys.sorted() {
        let origin = OperationID(graph: id, index: index)
        guard let graph = state.recomputations[origin] else { continue }
        let member = OperationID(graph: graph, index: 0)
        // It may have ended in this very turn, which is what ended the other graph.
        if graphs[graph.number].cell(0).phase == .finished { continue }
        commit(
          .cancelled([OperationRuns(member)], .request("nobody needs it any more")), into: &turn)
        tellWorkers([member], into: &turn)
      }
    }
  }
}
