// Notes of scheduling about operations and lines that are not in the journal: a life of the
// coordinator begins without them. None of them changes the meaning of a fact.

import OpClusterModel

extension ClusterState {
  // MARK: - Operations

  /// Marks an operation as recalled from its worker, which has not answered yet.
  mutating func markRecalling(_ id: OperationID) {
    graphs[id.graph.number].update(id.index) { $0.flags.insert(.recalling) }
  }

  /// Ends the pause after a failure: the operation stands in line again.
  mutating func endBackoff(of id: OperationID) {
    graphs[id.graph.number].update(id.index) { $0.flags.remove(.backingOff) }
    enterLine(id, graphs[id.graph.number].stageNumber(of: id.index))
  }

  /// Keeps operations from being handed over until a request about them is decided.
  /// A step for each span.
  mutating func pin(_ operations: [OperationRuns]) {
    for runs in operations {
      changeSpans(of: runs) { state, span in
        state.graphs[span.graph.number].update(span) { $0.flags.formUnion(.pinned) }
      }
    }
  }

  mutating func unpin(_ operations: [OperationRuns]) {
    for runs in operations where graphs.contains(runs.graph.number) {
      changeSpans(of: runs) { state, span in
        state.graphs[span.graph.number].update(span) { $0.flags.remove(.pinned) }
        if state.graphs[span.graph.number].cell(span.first).isInLine { state.enterLine(span) }
      }
    }
  }

  /// Sets the workers that could not start an operation; nil: none.
  mutating func setUnable(_ workers: [UInt32]?, for id: OperationID) {
    graphs[id.graph.number].unable[id.index] = workers
  }

  // MARK: - Stages and graphs

  /// Gives a stage a demand class of its own; returns its number.
  mutating func separate(_ stage: Int, of graph: UInt32, as first: OperationID) -> Int {
    let own = classes.use(graphs[graph].demandClass(of: stage), aloneBy: first)
    graphs[graph].stages[stage].ownClass = own
    graphs[graph].stagesApart.append(stage)
    return own
  }

  /// Notes that the failure policy of a part of a graph takes effect; nil: of the whole.
  mutating func markStopped(scope: Int?, of graph: UInt32) {
    if let scope {
      graphs[graph].stoppedScopes[scope] = true
    } else {
      graphs[graph].isStoppedAsAWhole = true
    }
  }

  /// The graphs in which an operation failed since the last call. Those in which not all has
  /// followed from ends come later.
  mutating func takeFailedGraphs() -> [GraphID] {
    if failedGraphs.isEmpty { return [] }
    let failed = failedGraphs
    failedGraphs = pendingEnds.isEmpty ? [] : failed.filter { hasPendingEnds(in: $0) }
    return failedGraphs.isEmpty ? failed : failed.filter { !hasPendingEnds(in: $0) }
  }

  private func hasPendingEnds(in graph: GraphID) -> Bool {
    graphs.contains(graph.number) && graphs[graph.number].hasPendingEnds
  }

  /// The kinds of demand that are new since the last call.
  mutating func takeNewKinds() -> [Int] {
    defer { newKinds = [] }
    return newKinds
  }

  /// The workers that came, left or may have changed since the last call.
  mutating func takeChangedWorkers() -> [UInt32] { workers.takeChanged() }

  // MARK: - Lines

  /// Moves the line out of a queue, so that it can be changed while the state is read. The caller
  /// must put it back.
  @inline(__always)
  mutating func takeLine(of queue: UInt32) -> Line {
    var line = Line()
    swap(&line, &queues[queue].line)
    return line
  }

  @inline(__always)
  mutating func putBack(_ line: inout Line, of queue: UInt32) {
    swap(&line, &queues[queue].line)
  }

  /// The queues that came, left or may have changed since the last call.
  mutating func takeChangedQueues() -> [UInt32] { queues.takeChanged() }

  /// Notes the service under which a queue is served from now on; nil: it is not.
  mutating func setService(of queue: UInt32, _ service: Int?) {
    queues.updateUnnoted(queue) { $0.line.serve(as: service) }
  }

  /// Notes that a pass looks at a line; true for the first time.
  mutating func visitLine(of queue: UInt32) -> Bool {
    if queues[queue].line.isVisited { return false }
    queues[queue].line.visit()
    return true
  }

  /// Ends the looks of a pass at a line.
  mutating func closeLine(of queue: UInt32) { queues[queue].line.close() }

  /// Considers a line again. Returns whether it has classes at rest that nobody has noted.
  mutating func reopenLine(of queue: UInt32) -> Bool {
    queues[queue].line.reopen()
    let hasResting = queues[queue].line.hasUnnotedResting
    if hasResting { queues[queue].line.noteRest() }
    return hasResting
  }

  /// Looks again at what no worker could ever run.
  mutating func wakeResting(of queue: UInt32) { queues[queue].line.wakeResting() }

  /// Counts the failure policies that are ending a graph.
  mutating func noteStopping(_ graph: UInt32, _ change: Int32) {
    graphs[graph].stoppingPolicies += change
    if !graphs[graph].isHalted { unparkGraph(graph) }
  }

  /// Parks a run until its graph is not halted any more.
  mutating func parkInGraph(_ place: LinePlace) {
    graphs[place.run.graph.number].parked.append(place)
  }

  /// Parks a run until its stage is below its own limit (`max_parallel`).
  mutating func parkInStage(_ place: LinePlace, _ stage: Int) {
    graphs[place.run.graph.number].stages[stage].parked.append(place)
  }
}
