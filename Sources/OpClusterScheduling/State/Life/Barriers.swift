// What barriers hold back, and what holds them back: everything before a barrier in its queue has
// ended when it begins (S77), and what comes after it waits for its end (S78). What runs again
// takes its old place, which may be before a barrier that was ready already (S153).

import DequeModule
import OpClusterModel

extension ClusterState {
  /// Whether a barrier keeps what stands at a place of a queue from being ready: one before it; or
  /// the first one, if a worker has it already and this came before it only now.
  func isBehindBarrier(_ place: UInt64, in queue: UInt32) -> Bool {
    queues[queue].hasBarriers
      && (queues[queue].segment(of: place) > 0 || isFirstBarrierAtWorker(of: queue))
  }

  private func isFirstBarrierAtWorker(of queue: UInt32) -> Bool {
    guard let first = queues[queue].segments[0].barrier?.operation else { return false }
    return graphs[first.graph.number].cell(first.index).worker != 0
  }

  /// Whether nothing before a barrier is left in its queue.
  func isOpenable(barrier id: OperationID) -> Bool {
    let stage = graphs[id.graph.number].stageNumber(of: id.index)
    let queue = graphs[id.graph.number].queue(of: id.index, stage: stage).number
    return queues[queue].openableBarrier == id
  }

  /// Settles the barrier at the head of a queue if nothing before it is left (S77). One that has
  /// begun before, and begins another attempt, takes its place in line again.
  mutating func settleBarrier(_ queue: UInt32, into turn: inout SchedulingTurn) {
    guard let id = queues[queue].openableBarrier else { return }
    let cell = graphs[id.graph.number].cell(id.index)
    if cell.phase == .executing, cell.isInLine {
      return enterLine(id, graphs[id.graph.number].stageNumber(of: id.index))
    }
    settle(id, into: &turn)
  }

  /// Makes the first barrier of a queue unready, since something came before it.
  mutating func obstructBarrier(_ queue: UInt32, into turn: inout SchedulingTurn) {
    guard let id = queues[queue].segments[0].barrier?.operation,
      graphs[id.graph.number].cell(id.index).phase == .ready
    else { return }
    move(id, graphs[id.graph.number].stageNumber(of: id.index), .obstruct)
    if !graphs[id.graph.number].cell(id.index).isCancelled {
      emit(.isReady(false), id, into: &turn)
    }
  }

  /// Lets what came before a barrier while a worker had it run, since no worker has it any more; it
  /// is unready until that has ended.
  mutating func yieldBarrier(_ id: OperationID, _ stage: Int, into turn: inout SchedulingTurn) {
    guard graphs[id.graph.number].stages[stage].template.isBarrier else { return }
    let queue = graphs[id.graph.number].queue(of: id.index, stage: stage).number
    if queues[queue].segments[0].unfinished == 0 { return }
    obstructBarrier(queue, into: &turn)
    let parked = queues[queue].segments[0].parked
    queues[queue].segments[0].parked = []
    unpark(parked, into: &turn)
  }

  /// Parks operations that only a barrier blocks (S78); their isReady stays false (S39).
  mutating func park(
    _ id: OperationID, count: UInt32, stage: Int, queue: UInt32, place: UInt64
  ) {
    let segment = queues[queue].segment(of: place)
    let run = ReadyRun(place: place, graph: id.graph, first: id.index, count: count)
    queues[queue].segments[segment].parked.append(Queue.ParkedRun(run: run, stage: stage))
  }

  /// Settles operations that no barrier blocks any more.
  mutating func unpark(_ parked: [Queue.ParkedRun], into turn: inout SchedulingTurn) {
    for entry in parked {
      guard graphs.contains(entry.run.graph.number) else { continue }
      let graph = entry.run.graph.number
      if entry.run.count == graphs[graph].stages[entry.stage].template.count,
        graphs[graph].stages[entry.stage].gates == 0, entry.run.count > 1
      {
        openStage(graph, entry.stage, into: &turn)
      } else {
        let first = entry.run.first
        changeSpans(graph, first..<(first + entry.run.count)) { $0.settle($1, into: &turn) }
      }
    }
  }
}
