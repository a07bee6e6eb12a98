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

  /// Follows them as long as an operation that was sent ahead waits for one of them alone: its
  /// worker saw them end and went on, and nobody is to see it start before they ended (G10). What
  /// is pending elsewhere is left. The newest ends come first, so that this is mostly one step.
  mutating func followEnds(before id: OperationID, into turn: inout SchedulingTurn) {
    while hasPendingEnds, waitsForPendingEnds(id) { commit(.endsContinued, into: &turn) }
  }

  /// The same for all that a worker may have started.
  mutating func followEnds(atWorker worker: WorkerID, into turn: inout SchedulingTurn) {
    guard hasPendingEnds else { return }
    for id in state.unstarted(at: worker) { followEnds(before: id, into: &turn) }
  }

  /// Whether a dependency of an operation that was sent ahead has ended and its edge is not
  /// resolved, or will be skipped; or this holds for a dependency that was sent ahead itself. Costs
  /// the edges of what was sent ahead before it.
  private func waitsForPendingEnds(_ id: OperationID) -> Bool {
    var seen: Set<OperationID> = [id]
    var work = [id]
    while let next = work.popLast() {
      guard graphs.contains(next.graph.number) else { continue }
      let cell = graphs[next.graph.number].cell(next.index)
      if cell.isImpossible { return true }
      guard cell.flags.contains(.ahead) else { continue }
      var open: UInt32 = 0
      graphs[next.graph.number].forEachDependency(of: next.index) { on, _ in
        if state.knownEnding(of: on) != nil { return }
        open += 1
        if seen.insert(on).inserted { work.append(on) }
      }
      if cell.blockers > open { return true }
    }
    return false
  }
}
