// Moves unstarted operations to another queue: they leave the old queue as if they had ended there,
// and enter the other one as if they were new (S51, S77, S78).

import OpClusterModel

extension ClusterState {
  /// A step for each span.
  mutating func moveToQueue(
    _ runs: OperationRuns, _ queue: QueueID, into turn: inout SchedulingTurn
  ) {
    guard graphs.contains(runs.graph.number), queues.contains(queue.number) else { return }
    changeSpans(of: runs) { state, span in state.move(span, to: queue, into: &turn) }
  }

  private mutating func move(
    _ span: OperationSpan, to queue: QueueID, into turn: inout SchedulingTurn
  ) {
    let graph = span.graph.number
    switch graphs[graph].cell(span.first).phase {
    case .waiting, .ready: break
    case .declared, .dispatched, .executing, .finished: return
    }
    leaveQueue(span, wasExecuting: false, into: &turn)
    let place = drawPlaces(span, priority: nil)
    graphs[graph].enqueuedIn.set(Graph.Enqueueing(queue: queue, place: place), for: span)
    joinQueue(span, queue.number, place: place)
    emit(.enqueued(queue), span, into: &turn)
    stand(span, in: queue.number, place: place, into: &turn)
  }

  /// Puts operations where they belong in their new queue: in line, or behind a barrier.
  private mutating func stand(
    _ span: OperationSpan, in queue: UInt32, place: UInt64, into turn: inout SchedulingTurn
  ) {
    let graph = span.graph.number
    guard graphs[graph].cell(span.first).phase == .ready else { return settle(span, into: &turn) }
    let isBehind =
      graphs[graph].stages[span.stage].template.isBarrier
      ? queues[queue].openableBarrier != span.id : isBehindBarrier(place, in: queue)
    if isBehind {
      move(span, .obstruct)
      emit(.isReady(false), span, into: &turn)
      settle(span, into: &turn)
    } else if graphs[graph].cell(span.first).isInLine {
      enterLine(span)
    }
  }
}
