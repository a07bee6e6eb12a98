// Facts about queues, edges and priorities. `Requests` and `QueueEntry` have refused what is not
// allowed; here a graph or queue that is gone is passed over, since a fact cannot be refused.

import DequeModule
import OpClusterModel

extension ClusterState {
  /// Applies all settings at once. A queue that runs again ends what was cancelled in it meanwhile
  /// (S75), before the end of the turn hands anything out.
  mutating func changeQueue(
    _ id: QueueID, _ settings: QueueSettings, into turn: inout SchedulingTurn
  ) {
    guard queues.contains(id.number) else { return }
    let wasRunning = queues[id.number].isRunning
    // The queue is empty, but classes may be set aside in its line because of the former pool.
    if queues[id.number].settings.pool != settings.pool { queues[id.number].line = Line() }
    queueByName[queues[id.number].settings.name] = nil
    recountAssigned(of: id.number, as: settings.qos)
    queues[id.number].settings = settings
    queueByName[settings.name] = id
    emit(.queueChanged(settings), about: .queue(id), into: &turn)
    if !wasRunning, queues[id.number].isRunning { endCancelledMembers(id.number, into: &turn) }
  }

  mutating func removeQueue(_ id: QueueID) {
    guard let queue = queues.find(id.number) else { return }
    if queueByName[queue.settings.name] == id { queueByName[queue.settings.name] = nil }
    queues.remove(id.number)
  }

  mutating func suspendGraph(_ id: GraphID, _ isSuspended: Bool, into turn: inout SchedulingTurn) {
    guard graphs.contains(id.number), graphs[id.number].isSuspended != isSuspended else { return }
    graphs[id.number].isSuspended = isSuspended
    emit(.graphSuspended(isSuspended), about: .graph(id), into: &turn)
    if !graphs[id.number].isHalted { unparkGraph(id.number) }
  }

  /// Returns to the lines what waited for a graph to go on and still stands there. A look at each.
  mutating func unparkGraph(_ graph: UInt32) {
    let parked = graphs[graph].parked
    graphs[graph].parked = []
    for place in parked {
      let stage = graphs[graph].stageNumber(of: place.run.first)
      if skip(place.run, place.level, stage) < place.run.count { returnToLine(place) }
    }
  }

  /// Lets a declared operation enter a queue, at its end (S51).
  mutating func enqueue(_ id: OperationID, in queue: QueueID, into turn: inout SchedulingTurn) {
    let graph = id.graph.number
    guard graphs.contains(graph), graphs[graph].cell(id.index).phase == .declared else { return }
    let span = OperationSpan(id, stage: graphs[graph].stageNumber(of: id.index))
    let place = drawPlaces(span, priority: nil)
    graphs[graph].enqueuedIn.set(Graph.Enqueueing(queue: queue, place: place), for: span)
    move(span, .enqueue)
    joinQueue(span, queue.number, place: place)
    emit(.enqueued(queue), span, into: &turn)
    settle(span, into: &turn)
  }

  /// Gives operations new places, behind all others, and perhaps another priority. Returns the
  /// place of the first; the others follow it (S51).
  mutating func drawPlaces(_ span: OperationSpan, priority: Priority?) -> UInt64 {
    let graph = span.graph.number
    let place = counters.lastPlace + 1
    counters.lastPlace += UInt64(span.count)
    graphs[graph].changes.set(
      Graph.PlaceChange(
        priority: priority ?? graphs[graph].priority(of: span.first, stage: span.stage),
        place: place), for: span)
    graphs[graph].update(span) { $0.flags.insert(.changed) }
    return place
  }

  /// Counts operations in their queue.
  mutating func joinQueue(_ span: OperationSpan, _ queue: UInt32, place: UInt64) {
    if graphs[span.graph.number].stages[span.stage].template.isBarrier {
      queues[queue].addBarrier(span.id, place: place)
    } else {
      queues[queue].members += span.count
      queues[queue].segments[queues[queue].segment(of: place)].unfinished += span.count
      noteCountChange(queue)
    }
  }

  /// Moves operations to the tail of their new level; their places are new (S52). A step for each
  /// span.
  mutating func setPriority(
    _ runs: OperationRuns, _ priority: Priority, into turn: inout SchedulingTurn
  ) {
    guard graphs.contains(runs.graph.number) else { return }
    changeSpans(of: runs) { state, span in
      state.countAssigned(span.id, isAssigned: false)
      _ = state.drawPlaces(span, priority: priority)
      state.countAssigned(span.id, isAssigned: true)
      state.emit(.priority(priority), span, into: &turn)
      if state.graphs[span.graph.number].cell(span.first).isInLine { state.enterLine(span) }
    }
  }

  /// Counts what is assigned of a queue under another service; visits each worker, if any has
  /// something of it.
  private mutating func recountAssigned(of queue: UInt32, as service: QualityOfService) {
    let before = queues[queue].settings.qos
    if before == service || queues[queue].assigned.isEmpty { return }
    queues[queue].assigned.move(queue: queue, from: before, to: service)
    for number in workers.numbers {
      workers[number].moveAssigned(of: queue, from: before, to: service)
    }
  }

  /// Adds or removes an assigned operation in the counts by rank; called before and after a change
  /// of rank.
  private mutating func countAssigned(_ id: OperationID, isAssigned: Bool) {
    let cell = graphs[id.graph.number].cell(id.index)
    guard cell.worker != 0, cell.isAssigned, workers.contains(cell.worker) else { return }
    let stage = graphs[id.graph.number].stageNumber(of: id.index)
    if isAssigned {
      assign(id, stage, at: cell.worker)
    } else {
      unassign(id, stage, at: cell.worker)
    }
  }

  /// Adds a late edge; a ready operation is blocked again (S34).
  mutating func addDependency(
    _ from: OperationID, _ to: OperationID, _ policy: EdgePolicy, into turn: inout SchedulingTurn
  ) {
    let graph = to.graph.number
    guard graphs.contains(graph) else { return }
    graphs[graph].extraDependencies[to.index, default: []].append(
      Graph.ExtraDependency(on: from, policy: policy, isOriginal: false))
    if from.graph == to.graph, from.index > to.index { graphs[graph].edgesAscend = false }
    noteCiting(graph)
    cite(from)
    emit(.dependencyAdded(from, policy), to, into: &turn)
    let cell = graphs[graph].cell(to.index)
    if let ending = knownEnding(of: from) {
      guard let outcome = ending.outcome, !policy.isSatisfied(by: outcome) else { return }
      var ends = EndList()
      let span = OperationSpan(to, stage: graphs[graph].stageNumber(of: to.index))
      markImpossible(span, because: EndList.Cause(id: from, ending: ending), &ends)
      return end(&ends, into: &turn)
    }
    graphs[from.graph.number].externalDependents[from.index, default: []].append(
      Graph.ExternalDependent(operation: to, policy: policy))
    graphs[graph].update(to.index) { $0.blockers += 1 }
    if cell.phase == .ready {
      move(to, graphs[graph].stageNumber(of: to.index), .obstruct)
      if !cell.isCancelled { emit(.isReady(false), to, into: &turn) }
    }
  }

  /// Removes an edge; removing the last unfinished dependency makes the operation ready (S37). The
  /// edge is counted and not presumed: earlier releases kept a duplicate as a second edge, and
  /// their journals tell of its removal. Visits the dependencies of `to`.
  mutating func removeDependency(
    _ from: OperationID, _ to: OperationID, into turn: inout SchedulingTurn
  ) {
    let graph = to.graph.number
    guard graphs.contains(graph) else { return }
    var count: UInt32 = 0
    graphs[graph].forEachDependency(of: to.index) { on, _ in if on == from { count += 1 } }
    if let extra = graphs[graph].extraDependencies[to.index],
      let at = extra.firstIndex(where: { $0.on == from })
    {
      graphs[graph].extraDependencies[to.index]?.remove(at: at)
      uncite(from)
      // A snapshot contains the submission, which still names an original edge.
      if extra[at].isOriginal {
        graphs[graph].removedDependencies[to.index, default: []].append(from)
      }
      if graphs.contains(from.graph.number) {
        var left = graphs[from.graph.number].externalDependents[from.index] ?? []
        left.removeAll { $0.operation == to }
        graphs[from.graph.number].externalDependents[from.index] = left.isEmpty ? nil : left
      }
    } else {
      graphs[graph].removedDependencies[to.index, default: []].append(from)
    }
    guard graphs[graph].cell(to.index).phase != .finished else { return }
    emit(.dependencyRemoved(from), to, into: &turn)
    if count == 0 || knownEnding(of: from) != nil { return }
    graphs[graph].update(to.index) { $0.blockers -= min(count, $0.blockers) }
    settle(to, into: &turn)
  }
}
