// Hold gates (S44): while its gate is closed, an unstarted operation is not ready, regardless of
// all other conditions, and others overtake it (S46). Cancelling opens the gate permanently.

import OpClusterModel

extension ClusterState {
  /// Closes or opens the gates of operations that no worker has. A step for each span.
  mutating func setHeld(_ runs: OperationRuns, _ isHeld: Bool, into turn: inout SchedulingTurn) {
    guard graphs.contains(runs.graph.number) else { return }
    changeSpans(of: runs) { state, span in state.setHeld(span, isHeld, into: &turn) }
  }

  private mutating func setHeld(
    _ span: OperationSpan, _ isHeld: Bool, into turn: inout SchedulingTurn
  ) {
    let cell = graphs[span.graph.number].cell(span.first)
    if cell.isCancelled { return }
    if cell.isHeld == isHeld {
      // A manual hold of a delayed operation replaces its delay by a manual release.
      if cell.isTimed { graphs[span.graph.number].update(span) { $0.flags.remove(.timed) } }
      return
    }
    switch cell.phase {
    case .declared:
      setGate(span, isHeld, into: &turn)
    case .waiting, .ready:
      if cell.phase == .ready { move(span, .obstruct) }
      setGate(span, isHeld, into: &turn)
      if cell.phase == .ready { emit(.isReady(false), span, into: &turn) }
      settle(span, into: &turn)
    case .dispatched, .executing, .finished:
      // Assigned operations are recalled before this is decided; started ones stay as they are.
      return
    }
  }

  /// Opens the gates of cancelled operations.
  mutating func openGateOfCancelled(_ span: OperationSpan, into turn: inout SchedulingTurn) {
    guard graphs[span.graph.number].cell(span.first).isHeld else { return }
    setGate(span, false, into: &turn)
  }

  private mutating func setGate(
    _ span: OperationSpan, _ isHeld: Bool, into turn: inout SchedulingTurn
  ) {
    let (before, after) = graphs[span.graph.number].update(span) { cell in
      let before = cell.word
      if isHeld { cell.flags.insert(.held) } else { cell.flags.subtract([.held, .timed]) }
      return (before, cell.word)
    }
    count(span, from: before, to: after)
    emit(.isHeld(isHeld), span, into: &turn)
  }
}
