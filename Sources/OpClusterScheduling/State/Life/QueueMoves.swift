// Moves an unstarted operation to another queue: it leaves the old queue as if it had ended there,
// and enters the other one as if it were new (S51, S77, S78).

import OpClusterModel

extension ClusterState {
  mutating func moveToQueue(_ id: OperationID, _ queue: QueueID, into turn: inout SchedulingTurn) {
    let graph = id.graph.number
    guard graphs.contains(graph), queues.contains(queue.number) else { return }
    let stage = graphs[graph].stageNumber(of: id.index)
    switch graphs[graph].cell(id.index).phase {
    case .waiting, .ready: break
    case .declared, .dispatched, .executing, .finished: return
    }
    leaveQueue(id, stage, wasExecuting: false, into: &turn)
    counters.lastPlace += 1
    let place = counters.lastPlace
    graphs[graph].changes[id.index] = Graph.PlaceChange(
      priority: graphs[graph].priority(of: id.index, stage: stage), place: place)
    graphs[graph].enqueuedIn[id.index] = Graph.Enqueueing(queue: queue, place: place)
    graphs[graph].update(id.index) { $0.flags.insert(.changed) }
    joinQueue(id, stage, queue.number, place: place)
    emit(.enqueued(queue), id, into: &turn)
    stand(id, stage, in: queue.number, place: place, into: &turn)
  }

  /// Places the operation in its new queue: in line, or behind a barrier.
  private mutating func stand(
    _ id: OperationID, _ stage: Int, in queue: UInt32, place: UInt64,
    into turn: inout SchedulingTurn
  ) {
    guard graphs[id.graph.number].cell(id.index).phase == .ready else {
      return settle(id, into: &turn)
    }
    let isBehind =
      graphs[id.graph.number].stages[stage].template.isBarrier
      ? queues[queue].openableBarrier != id : queues[queue].segment(of: place) > 0
    if isBehind {
      move(id, stage, .obstruct)
      emit(.isReady(false), id, into: &turn)
      settle(id, into: &turn)
    } else if graphs[id.graph.number].cell(id.index).isInLine {
      enterLine(id, stage)
    }
  }
}
