// What scheduling notes about operations and lines and the journal does not know: a life of the
// coordinator begins without it. None of it changes what a fact means.

import OpClusterModel

extension ClusterState {
  // MARK: - Operations

  /// Asked back from its holder, which has not answered yet.
  mutating func markRecalling(_ id: OperationID) {
    graphs[id.graph.number].update(id.index) { $0.flags.insert(.recalling) }
  }

  /// Its pause after a failure is over: it stands in line again.
  mutating func endBackoff(of id: OperationID) {
    graphs[id.graph.number].update(id.index) { $0.flags.remove(.backingOff) }
    enterLine(id, graphs[id.graph.number].stageNumber(of: id.index))
  }

  /// Kept from being handed over, until a request about it is decided.
  mutating func pin(_ operations: [OperationID]) {
    for id in operations {
      graphs[id.graph.number].update(id.index) { $0.flags.insert(.pinned) }
    }
  }

  mutating func unpin(_ operations: [OperationID]) {
    for id in operations where graphs.contains(id.graph.number) {
      graphs[id.graph.number].update(id.index) { $0.flags.remove(.pinned) }
      if graphs[id.graph.number].cell(id.index).isInLine {
        enterLine(id, graphs[id.graph.number].stageNumber(of: id.index))
      }
    }
  }

  /// Workers that could not start it; nil: none.
  mutating func setUnable(_ workers: [UInt32]?, for id: OperationID) {
    graphs[id.graph.number].unable[id.index] = workers
  }

  // MARK: - Stages and graphs

  /// Lets a stage be a demand class of its own; returns its number.
  mutating func separate(_ stage: Int, of graph: UInt32, as first: OperationID) -> Int {
    let own = classes.use(graphs[graph].stages[stage].demandClass, aloneBy: first)
    graphs[graph].stages[stage].ownClass = own
    return own
  }

  /// The policy of a part of a graph has taken effect.
  mutating func markStopped(scope: Int, of graph: UInt32) {
    graphs[graph].stoppedScopes[scope] = true
  }

  /// The graphs in which something failed since the last call.
  mutating func takeFailedGraphs() -> [GraphID] {
    if failedGraphs.isEmpty { return [] }
    defer { failedGraphs = [] }
    return failedGraphs
  }

  /// The kinds of demand that are new since the last call.
  mutating func takeNewKinds() -> [Int] {
    defer { newKinds = [] }
    return newKinds
  }

  // MARK: - Lines

  /// Takes the line of a queue out, so that it can be walked while all else is read. It has to be
  /// put back.
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

  /// Nobody is in line there any more, or the queue is gone.
  mutating func forgetEmptyLines() {
    linedQueues.removeAll { !queues.contains($0) || queues[$0].line.isEmpty }
  }

  /// Waits for its graph to be resumed.
  mutating func parkInGraph(_ run: ReadyRun) { graphs[run.graph.number].parked.append(run) }

  /// Waits until its stage is below its own bound (`max_parallel`).
  mutating func parkInStage(_ run: ReadyRun, _ stage: Int) {
    graphs[run.graph.number].stages[stage].parked.append(run)
  }
}
