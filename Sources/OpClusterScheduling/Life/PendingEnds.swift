// Ends for which earlier turns had no room (`EndSteps`): when they must be followed before anything
// else.

import OpClusterModel

extension Scheduler {
  /// Whether ends are yet to be followed. Then another turn is due at once.
  public var hasPendingEnds: Bool { !state.pendingEnds.isEmpty }

  /// Follows all of them: at the start of a life nobody waits.
  mutating func followEnds(into turn: inout SchedulingTurn) {
    while hasPendingEnds { commit(.endsContinued, into: &turn) }
  }

  /// Follows them until the edges of an operation are met that was sent ahead of its dependencies:
  /// its worker saw them end and went on, and nobody is to see it start before they ended (G10).
  /// The newest ends come first, so that this is mostly one step.
  mutating func followEnds(before id: OperationID, into turn: inout SchedulingTurn) {
    while hasPendingEnds, graphs.contains(id.graph.number),
      id.index < graphs[id.graph.number].operationCount,
      graphs[id.graph.number].cell(id.index).flags.contains(.ahead)
    {
      commit(.endsContinued, into: &turn)
    }
  }

  /// The same for all that a worker may have started.
  mutating func followEnds(atWorker worker: WorkerID, into turn: inout SchedulingTurn) {
    guard hasPendingEnds else { return }
    for id in state.unstarted(at: worker) { followEnds(before: id, into: &turn) }
  }
}
