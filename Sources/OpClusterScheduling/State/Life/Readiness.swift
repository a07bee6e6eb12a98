// Makes operations ready: edges met, gates of the stage open, no barrier ahead. A ready operation
// enters its queue's line.

import OpClusterModel

extension ClusterState {
  /// Makes a waiting operation ready if nothing blocks it any more.
  mutating func settle(_ id: OperationID, into turn: inout SchedulingTurn) {
    let graph = id.graph.number
    let stage = graphs[graph].stageNumber(of: id.index)
    let cell = graphs[graph].cell(id.index)
    guard cell.blockers == 0, graphs[graph].stages[stage].gates == 0 else { return }
    if cell.phase == .dispatched, cell.flags.contains(.ahead) {
      graphs[graph].update(id.index) { $0.flags.remove(.ahead) }
      // Cancellation already told its readiness; no later event may precede the end of its
      // dependency (S114).
      if cell.isCancelled { turn.openRuns.closeAll() } else { becomeReady(id, into: &turn) }
      return
    }
    guard cell.phase == .waiting, !cell.isCancelled, !cell.isHeld else { return }
    let queue = graphs[graph].queue(of: id.index, stage: stage).number
    let place = graphs[graph].enqueuePlace(of: id.index)
    if graphs[graph].stages[stage].template.isBarrier {
      guard queues[queue].openableBarrier == id else { return }
    } else if queues[queue].hasBarriers, queues[queue].segment(of: place) > 0 {
      return park(id, count: 1, stage: stage, queue: queue, place: place)
    }
    move(id, stage, .clear)
    becomeReady(id, into: &turn)
    enterLine(id, stage)
  }

  /// Opens a stage whose last gate has opened: elements without own blockers become ready, as runs
  /// where the elements have no cells of their own.
  mutating func openStage(_ graph: UInt32, _ stage: Int, into turn: inout SchedulingTurn) {
    let own = graphs[graph].stages[stage].bearing
    // If all have ended, their queue may have been removed.
    if own.unfinished == 0 { return }
    if own.pristine.phase == .declared {
      // Only enqueued elements have a place; the queue of the stage may have been removed.
      for index in own.indices where graphs[graph].cell(index).phase == .waiting {
        settle(graphs[graph].operation(index), into: &turn)
      }
      return
    }
    if own.isBarrier {
      let id = graphs[graph].operation(own.firstIndex)
      return settle(id, into: &turn)
    }
    let place = graphs[graph].basePlace + UInt64(own.firstIndex)
    let queue = own.queue.number
    if queues.contains(queue), queues[queue].hasBarriers, queues[queue].segment(of: place) > 0 {
      settleMoved(graph, stage, into: &turn)
      let first = graphs[graph].operation(own.firstIndex)
      return park(first, count: own.count, stage: stage, queue: queue, place: place)
    }
    let opens =
      own.pristine.phase == .waiting && own.pristine.blockers == 0 && !own.pristine.isHeld
    var index = own.firstIndex
    while index < own.indices.upperBound {
      if graphs[graph].cells.hasPage(of: index) {
        settle(graphs[graph].operation(index), into: &turn)
        index += 1
        continue
      }
      let end = pristineEnd(graph, from: index, before: own.indices.upperBound)
      if opens { openPristine(graph, stage, index..<end, into: &turn) }
      index = end
    }
    if opens {
      graphs[graph].stages[stage].pristine.phase = .ready
      if !turn.isReplay { graphs[graph].stages[stage].readyAt = turn.wall }
      graphs[graph].stages[stage].pristine.eventSequence += 1
    }
  }

  /// Settles moved elements individually, regardless of the conditions of the others.
  private mutating func settleMoved(_ graph: UInt32, _ stage: Int, into turn: inout SchedulingTurn)
  {
    if graphs[graph].enqueuedIn.isEmpty { return }
    let indices = graphs[graph].stages[stage].indices
    for index in graphs[graph].enqueuedIn.keys.sorted() where indices.contains(index) {
      settle(graphs[graph].operation(index), into: &turn)
    }
  }

  private func pristineEnd(_ graph: UInt32, from index: UInt32, before end: UInt32) -> UInt32 {
    var at = index
    while at < end, !graphs[graph].cells.hasPage(of: at) {
      at = graphs[graph].cells.pageBoundary(after: at, before: end)
    }
    return at
  }

  private mutating func openPristine(
    _ graph: UInt32, _ stage: Int, _ range: Range<UInt32>, into turn: inout SchedulingTurn
  ) {
    let own = graphs[graph].stages[stage].bearing
    let count = UInt32(range.count)
    graphs[graph].stages[stage].counts[.waiting] -= count
    graphs[graph].stages[stage].counts[.ready] += count
    let first = graphs[graph].operation(range.lowerBound)
    emitRun(
      .isReady(true), first: first, count: count, own: own.pristine.eventSequence + 1,
      into: &turn)
    let run = ReadyRun(
      place: graphs[graph].basePlace + UInt64(range.lowerBound), graph: first.graph,
      first: range.lowerBound, count: count)
    enterLine(
      run, own.queue.number, demandClass: classInLine(graph, stage, range.lowerBound),
      level: Line.level(of: own.priority))
  }

  private mutating func becomeReady(_ id: OperationID, into turn: inout SchedulingTurn) {
    if !turn.isReplay { timestamps[id, default: Timestamps()].ready = turn.wall }
    emit(.isReady(true), id, into: &turn)
  }

  /// The time since when nothing blocks an unfinished operation, for display; unknown if that was
  /// before the coordinator's start.
  func readyTime(_ id: OperationID, _ stage: Int) -> WallTime {
    let own = timestamps[id]?.ready ?? .unknown
    return own == .unknown ? graphs[id.graph.number].stages[stage].readyAt : own
  }

  /// Parks operations that only a barrier ahead blocks (S78); their isReady stays false (S39).
  private mutating func park(
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
        settle(OperationID(graph: entry.run.graph, index: entry.run.first), into: &turn)
      }
    }
  }

  /// Settles the barrier at the head of a queue if nothing before it is left (S77).
  mutating func settleBarrier(_ queue: UInt32, into turn: inout SchedulingTurn) {
    if let barrier = queues[queue].openableBarrier { settle(barrier, into: &turn) }
  }

  /// Puts one operation into its queue's line, at its priority and place.
  mutating func enterLine(_ id: OperationID, _ stage: Int) {
    let graph = id.graph.number
    let run = ReadyRun(
      place: graphs[graph].place(of: id.index), graph: id.graph, first: id.index, count: 1)
    enterLine(
      run, graphs[graph].queue(of: id.index, stage: stage).number,
      demandClass: classInLine(graph, stage, id.index), level: level(of: id, stage))
  }

  /// Changes the phase and its counts; nothing else does.
  mutating func move(_ id: OperationID, _ stage: Int, _ step: Step) {
    let (before, after) = graphs[id.graph.number].update(id.index) { cell in
      let before = cell.word
      guard let next = LifeCycle.next(cell.phase, step) else {
        preconditionFailure("\(id): no step \(step) from \(cell.phase)")
      }
      cell.phase = next
      return (before, cell.word)
    }
    count(id, stage, from: before, to: after)
  }

  mutating func count(_ id: OperationID, _ stage: Int, from: StateWord, to: StateWord) {
    if from == to { return }
    graphs[id.graph.number].stages[stage].counts[from] -= 1
    graphs[id.graph.number].stages[stage].counts[to] += 1
  }
}

extension Stage {
  /// The placement of a stage without its template: cheap to copy while the stage changes.
  fileprivate struct Bearing {
    var firstIndex: UInt32
    var count: UInt32
    var unfinished: UInt32
    var pristine: OperationCell
    var queue: QueueID
    var priority: Priority
    var isBarrier: Bool
    var indices: Range<UInt32> { firstIndex..<(firstIndex + count) }
  }

  fileprivate var bearing: Bearing {
    Bearing(
      firstIndex: firstIndex, count: template.count, unfinished: unfinished, pristine: pristine,
      queue: queue, priority: template.priority,
      isBarrier: template.isBarrier)
  }
}
