// Hold gates (S44): while its gate is closed, an operation that has not started is not ready,
// whatever else is true of it, and others pass by (S46). Cancelling opens it for good.

import OpClusterModel

extension ClusterState {
  /// Closes or opens the gates of operations that no worker holds.
  mutating func setHeld(_ runs: OperationRuns, _ isHeld: Bool, into turn: inout Turn) {
    guard graphs.contains(runs.graph.number) else { return }
    runs.forEachOperation { id in
      let cell = graphs[id.graph.number].cell(id.index)
      if cell.isCancelled { return }
      if cell.isHeld == isHeld {
        // Who holds what waits for its moment wants to release it himself.
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
        // It is recalled before this is decided; what has started stays as it is.
        return
      }
    }
  }

  /// A cancelled operation is held back by nothing any more.
  mutating func openGateOfCancelled(_ id: OperationID, _ stage: Int, into turn: inout Turn) {
    guard graphs[id.graph.number].cell(id.index).isHeld else { return }
    setGate(id, stage, false, into: &turn)
  }

  private mutating func setGate(
    _ id: OperationID, _ stage: Int, _ isHeld: Bool, into turn: inout Turn
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
