// Hold gates (S44): while its gate is closed, an unstarted operation is not ready, regardless of
// all other conditions, and others overtake it (S46). Cancelling opens the gate permanently.

import OpClusterModel

extension ClusterState {
  /// Closes or opens the gates of operations that no worker has.
  mutating func setHeld(_ runs: OperationRuns, _ isHeld: Bool, into turn: inout SchedulingTurn) {
    guard graphs.contains(runs.graph.number) else { return }
    runs.forEachOperation { id in
      let cell = graphs[id.graph.number].cell(id.index)
      if cell.isCancelled { return }
      if cell.isHeld == isHeld {
        // A manual hold of a delayed operation replaces its delay by a manual release.
        if cell.isTimed { graphs[id.graph.number].update(id.index) { $0.flags.remove(.timed) } }
        return
      }
      let stage = graphs[id.graph.number].stageNumber(of: id.index)
      switch cell.phase {
      case .declared:
        setGate(id, stage, isHeld, into: &turn)
      case .waiting, .ready:
        if cell.phase == .ready { move(id, stage, .obstruct) }
        setGate(id, stage, isHeld, into: &turn)
        if cell.phase == .ready { emit(.isReady(false), id, into: &turn) }
        settle(id, into: &turn)
      case .dispatched, .executing, .finished:
        // Assigned operations are recalled before this is decided; started ones stay as they are.
        return
      }
    }
  }

  /// Opens the gate of a cancelled operation.
  mutating func openGateOfCancelled(
    _ id: OperationID, _ stage: Int, into turn: inout SchedulingTurn
  ) {
    guard graphs[id.graph.number].cell(id.index).isHeld else { return }
    setGate(id, stage, false, into: &turn)
  }

  private mutating func setGate(
    _ id: OperationID, _ stage: Int, _ isHeld: Bool, into turn: inout SchedulingTurn
  ) {
    let (before, after) = graphs[id.graph.number].update(id.index) { cell in
      let before = cell.word
      if isHeld { cell.flags.insert(.held) } else { cell.flags.subtract([.held, .timed]) }
      return (before, cell.word)
    }
    count(id, stage, from: before, to: after)
    emit(.isHeld(isHeld), id, into: &turn)
  }
}
