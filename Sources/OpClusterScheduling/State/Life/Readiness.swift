// Makes operations ready: edges met, gates of the stage open, no barrier ahead. A ready operation
// enters its queue's line.

import OpClusterModel

extension ClusterState {
  /// Makes a waiting operation ready if nothing blocks it any more.
  @inline(__always)
  mutating func settle(_ id: OperationID, into turn: inout SchedulingTurn) {
    let stage = graphs[id.graph.number].stageNumber(of: id.index)
    settle(OperationSpan(id, stage: stage), into: &turn)
  }

  /// Makes waiting operations ready if nothing blocks them any more.
  mutating func settle(_ span: OperationSpan, into turn: inout SchedulingTurn) {
    let (graph, stage) = (span.graph.number, span.stage)
    let cell = graphs[graph].cell(span.first)
    guard cell.blockers == 0, graphs[graph].stages[stage].gates == 0, !cell.isImpossible else {
      return
    }
    if cell.phase == .dispatched, cell.flags.contains(.ahead) {
      graphs[graph].update(span) { $0.flags.remove(.ahead) }
      // Cancellation already told its readiness; no later event may precede the end of its
      // dependency (S114).
      if cell.isCancelled { turn.openRuns.closeAll() } else { becomeReady(span, into: &turn) }
      return
    }
    guard cell.phase == .waiting, !cell.isCancelled, !cell.isHeld else { return }
    let queue = graphs[graph].queue(of: span.first, stage: stage).number
    let place = graphs[graph].enqueuePlace(of: span.first)
    if graphs[graph].stages[stage].template.isBarrier {
      guard queues[queue].openableBarrier == span.id else { return }
    } else if isBehindBarrier(place, in: queue) {
      return park(span.id, count: span.count, stage: stage, queue: queue, place: place)
    }
    move(span, .clear)
    becomeReady(span, into: &turn)
    enterLine(span)
  }

  /// Opens a stage whose last gate has opened: elements without own blockers become ready, as runs
  /// where the elements have no cells of their own.
  mutating func openStage(_ graph: UInt32, _ stage: Int, into turn: inout SchedulingTurn) {
    let own = graphs[graph].stages[stage].bearing
    // If all have ended, their queue may have been removed.
    if own.unfinished == 0 { return }
    if own.pristine.phase == .declared {
      // Only enqueued elements have a place; the queue of the stage may have been removed.
      return changeSpans(graph, own.indices) { state, span in
        let phase = state.graphs[graph].cell(span.first).phase
        if phase == .waiting { state.settle(span, into: &turn) }
      }
    }
    if own.isBarrier {
      let id = graphs[graph].operation(own.firstIndex)
      return settle(id, into: &turn)
    }
    let place = graphs[graph].basePlace + UInt64(own.firstIndex)
    let queue = graphs[graph].queue(ofStage: stage).number
    if queues.contains(queue), isBehindBarrier(place, in: queue) {
      settleMoved(graph, stage, into: &turn)
      let first = graphs[graph].operation(own.firstIndex)
      return park(first, count: own.count, stage: stage, queue: queue, place: place)
    }
    let opens =
      own.pristine.phase == .waiting && own.pristine.blockers == 0 && !own.pristine.isHeld
    var index = own.firstIndex
    while index < own.indices.upperBound {
      if graphs[graph].cells.hasPage(of: index) {
        let end = own.indices.upperBound
        let open = graphs[graph].cells.firstUnblocked(from: index, before: end)
        if open > index {
          index = open
          continue
        }
        let span = graphs[graph].span(from: index, before: own.indices.upperBound)
        settle(span, into: &turn)
        index += span.count
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

  /// Opens neighbouring stages that wait for no other.
  mutating func open(
    _ opening: GraphPlan.Opening, of graph: UInt32, into turn: inout SchedulingTurn
  ) {
    let own = graphs[graph].stages[opening.stages.lowerBound].bearing
    let end = graphs[graph].stages[opening.stages.upperBound - 1].indices.upperBound
    let queue = graphs[graph].queue(ofStage: opening.stages.lowerBound).number
    let place = graphs[graph].basePlace + UInt64(own.firstIndex)
    // An edge on another graph, or an end in it, has given some a cell of their own since.
    guard opening.isPlain, !graphs[graph].cells.hasPages(in: own.firstIndex..<end),
      queues.contains(queue), !isBehindBarrier(place, in: queue)
    else {
      for stage in opening.stages { openStage(graph, stage, into: &turn) }
      return
    }
    emitRun(
      .isReady(true), first: graphs[graph].operation(own.firstIndex), count: end - own.firstIndex,
      own: own.pristine.eventSequence + 1, into: &turn)
    let runs = graphs[graph].open(opening.stages, at: turn.isReplay ? nil : turn.wall)
    enterLine(
      runs, queue, demandClass: classInLine(graph, opening.stages.lowerBound, own.firstIndex),
      level: Line.level(of: own.priority))
  }

  /// Settles moved elements individually, regardless of the conditions of the others.
  private mutating func settleMoved(_ graph: UInt32, _ stage: Int, into turn: inout SchedulingTurn)
  {
    if graphs[graph].enqueuedIn.isEmpty { return }
    var rest = graphs[graph].stages[stage].indices
    // Some overlap: an operation was moved again, alone.
    for range in graphs[graph].enqueuedIn.ranges(below: graphs[graph].operationCount)
    where rest.overlaps(range) {
      let next = range.clamped(to: rest)
      changeSpans(graph, next) { $0.settle($1, into: &turn) }
      rest = next.upperBound..<rest.upperBound
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
    graphs[graph].count(count, of: stage, from: .waiting, to: .ready)
    let first = graphs[graph].operation(range.lowerBound)
    emitRun(
      .isReady(true), first: first, count: count, own: own.pristine.eventSequence + 1,
      into: &turn)
    let run = ReadyRun(
      place: graphs[graph].basePlace + UInt64(range.lowerBound), graph: first.graph,
      first: range.lowerBound, count: count)
    enterLine(
      run, graphs[graph].queue(ofStage: stage).number,
      demandClass: classInLine(graph, stage, range.lowerBound), level: Line.level(of: own.priority))
  }

  @inline(__always)
  private mutating func becomeReady(_ span: OperationSpan, into turn: inout SchedulingTurn) {
    if !turn.isReplay {
      if span.isSingle {
        timestamps[span.id, default: Timestamps()].ready = turn.wall
      } else {
        graphs[span.graph.number].noteReady(span, at: turn.wall)
        timestamps[span.last] = nil
      }
    }
    emit(.isReady(true), span, into: &turn)
  }

  /// The time since when nothing blocks an unfinished operation, for display; unknown if that was
  /// before the coordinator's start.
  func readyTime(_ id: OperationID, _ stage: Int) -> WallTime {
    let own = timestamps[id]?.ready ?? .unknown
    return own == .unknown
      ? graphs[id.graph.number].commonReadyTime(of: id.index, stage: stage) : own
  }

  /// Puts one operation into its queue's line, at its priority and place.
  @inline(__always)
  mutating func enterLine(_ id: OperationID, _ stage: Int) {
    enterLine(OperationSpan(id, stage: stage))
  }

  /// Puts operations into their queue's line, at their priority and places.
  mutating func enterLine(_ span: OperationSpan) {
    let graph = span.graph.number
    let run = ReadyRun(
      place: graphs[graph].place(of: span.first), graph: span.graph, first: span.first,
      count: span.count)
    enterLine(
      run, graphs[graph].queue(of: span.first, stage: span.stage).number,
      demandClass: classInLine(graph, span.stage, span.first),
      level: level(of: span.id, span.stage))
  }

  /// Changes the phase and its counts; nothing else does.
  @inline(__always)
  mutating func move(_ id: OperationID, _ stage: Int, _ step: Step) {
    move(OperationSpan(id, stage: stage), step)
  }

  /// Changes the phase of a span and its counts.
  mutating func move(_ span: OperationSpan, _ step: Step) {
    let (before, after) = graphs[span.graph.number].update(span) { cell in
      let before = cell.word
      guard let next = LifeCycle.next(cell.phase, step) else {
        preconditionFailure("\(span.id): no step \(step) from \(cell.phase)")
      }
      cell.phase = next
      return (before, cell.word)
    }
    count(span, from: before, to: after)
  }

  mutating func count(_ span: OperationSpan, from: StateWord, to: StateWord) {
    if from == to { return }
    graphs[span.graph.number].count(span.count, of: span.stage, from: from, to: to)
  }
}

extension Graph {
  /// Counts operations of a stage in another state, in the stage and in the whole graph.
  @inline(__always)
  mutating func count(_ operations: UInt32, of stage: Int, from: StateWord, to: StateWord) {
    stages[stage].counts[from] -= operations
    stages[stage].counts[to] += operations
    counts[from] -= operations
    counts[to] += operations
  }

  /// Makes all elements of stages ready that have no cells of their own; returns their runs.
  ///
  /// - Parameter moment: The time; nil in a replay.
  fileprivate mutating func open(_ range: Range<Int>, at moment: WallTime?) -> [ReadyRun] {
    var runs: [ReadyRun] = []
    runs.reserveCapacity(range.count)
    for stage in range {
      let (first, count) = (stages[stage].firstIndex, stages[stage].template.count)
      self.count(count, of: stage, from: .waiting, to: .ready)
      stages[stage].pristine.phase = .ready
      stages[stage].pristine.eventSequence += 1
      if let moment { stages[stage].readyAt = moment }
      runs.append(
        ReadyRun(place: basePlace + UInt64(first), graph: id, first: first, count: count))
    }
    return runs
  }
}

extension Stage {
  /// The placement of a stage without its template: cheap to copy while the stage changes.
  fileprivate struct Bearing {
    var firstIndex: UInt32
    var count: UInt32
    var unfinished: UInt32
    var pristine: OperationCell
    var priority: Priority
    var isBarrier: Bool
    var indices: Range<UInt32> { firstIndex..<(firstIndex + count) }
  }

  fileprivate var bearing: Bearing {
    Bearing(
      firstIndex: firstIndex, count: template.count, unfinished: unfinished, pristine: pristine,
      priority: template.priority, isBarrier: template.isBarrier)
  }
}
