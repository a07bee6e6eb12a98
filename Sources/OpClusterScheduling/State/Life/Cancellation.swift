// Cancellation: sets a flag on every member in one commit, whatever graph it is of, then lets each
// member proceed as far as it can (S87 to S103).

import HeapModule
import OpClusterModel

extension ClusterState {
  /// Marks the members of all graphs first, then ends those that may end (S96): else the end of one
  /// would skip another that depends on it. A step for each span of members, and what its end
  /// costs.
  mutating func cancel(
    _ members: [OperationRuns], _ reason: CancelReason, into turn: inout SchedulingTurn
  ) {
    var ends = EndList()
    for runs in members where graphs.contains(runs.graph.number) {
      // Not for a part of the graph: it may have stopped while the graph goes on.
      if reason == .failurePolicy, graphs[runs.graph.number].failsAsAWhole {
        graphs[runs.graph.number].failurePolicyTookEffect = true
      }
      changeSpans(of: runs) { state, span in
        guard state.markCancelled(span, reason, into: &turn) else { return }
        if state.mayEnd(span) { ends.append(cancelled: span) }
      }
    }
    end(&ends, into: &turn)
  }

  /// Sets isCancelled; false if it is already set or the operation has ended (S88, S89).
  private mutating func markCancelled(
    _ span: OperationSpan, _ reason: CancelReason, into turn: inout SchedulingTurn
  ) -> Bool {
    let graph = span.graph.number
    let cell = graphs[graph].cell(span.first)
    if cell.phase == .finished || cell.isCancelled { return false }
    setCancelled(span, reason, into: &turn)
    return true
  }

  /// Sets isCancelled for operations that are unfinished and have not been cancelled.
  mutating func setCancelled(
    _ span: OperationSpan, _ reason: CancelReason, into turn: inout SchedulingTurn
  ) {
    let graph = span.graph.number
    // Cancelled before its turn came to be skipped: then it is not skipped (S23).
    if graphs[graph].cell(span.first).isImpossible { noLongerImpossible(span) }
    let wasReady = isReady(span.id, span.stage)
    let (before, after) = graphs[graph].update(span) { cell in
      let before = cell.word
      cell.flags.insert(.cancelled)
      return (before, cell.word)
    }
    count(span, from: before, to: after)
    graphs[graph].reasons.set(reason, for: span.range)
    if graphs[graph].cell(span.first).isHeld {
      emit(.isCancelled(reason), span, into: &turn)
      openGateOfCancelled(span, into: &turn)
      if !wasReady { emit(.isReady(true), span, into: &turn) }
    } else {
      emitCancelled(reason, span, tellsReady: !wasReady, into: &turn)
    }
  }

  /// The isReady flag that observers see (S42, S43, S45).
  func isReady(_ id: OperationID, _ stage: Int) -> Bool {
    let graph = id.graph.number
    let cell = graphs[graph].cell(id.index)
    if cell.isCancelled { return true }
    return switch cell.phase {
    case .declared: cell.blockers == 0 && graphs[graph].stages[stage].gates == 0 && !cell.isHeld
    case .waiting: false
    case .dispatched: !cell.flags.contains(.ahead)
    case .ready, .executing, .finished: true
    }
  }

  /// Finishes a cancelled operation if no worker has it, unless its queue is suspended (S69, S75).
  mutating func endCancelled(_ span: OperationSpan, into turn: inout SchedulingTurn) {
    var ends = EndList()
    if mayEnd(span) { ends.append(cancelled: span) }
    end(&ends, into: &turn)
  }

  /// Whether cancelled operations end at once: if no worker has them. Those of a suspended queue
  /// are noted there.
  mutating func mayEnd(_ span: OperationSpan) -> Bool {
    let graph = span.graph.number
    let cell = graphs[graph].cell(span.first)
    switch cell.phase {
    case .finished, .dispatched: return false
    case .executing: return cell.worker == 0
    case .declared: return true
    case .waiting, .ready:
      let queue = graphs[graph].queue(of: span.first, stage: span.stage).number
      if !queues[queue].isRunning { queues[queue].cancelledMembers.insert(span) }
      return queues[queue].isRunning
    }
  }

  /// Finishes the operations that were cancelled while the queue was suspended.
  mutating func endCancelledMembers(_ queue: UInt32, into turn: inout SchedulingTurn) {
    if queues[queue].cancelledMembers.isEmpty { return }
    var ends = EndList()
    ends.append(membersOf: queue)
    end(&ends, into: &turn)
  }
}
