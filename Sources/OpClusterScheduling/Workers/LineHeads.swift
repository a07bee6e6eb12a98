// The heads of the lines: the operations of a run that still stand in line. A line is cleared when
// it is looked at, not when an operation leaves it.

import OpClusterModel

extension Scheduler {
  /// Whether anything stands in a queue's line above a level.
  mutating func hasWaiting(_ queue: UInt32, above level: Int, at now: Instant) -> Bool {
    guard queues[queue].line.hasRuns(above: level) else { return false }
    var line = state.takeLine(of: queue)
    defer { state.putBack(&line, of: queue) }
    return line.stands(above: level) { settleHead($0, in: queue, $1, atMost: 1) }
  }

  /// The part of a run at the head of a line that still stands there, at most `most`.
  mutating func settleHead(
    _ run: ReadyRun, in queue: UInt32, _ level: Int, atMost most: UInt32
  ) -> Line.Settling {
    let graph = run.graph.number
    guard graphs.contains(graph) else { return .gone }
    if graphs[graph].isHalted {
      state.parkInGraph(LinePlace(run: run, queue: queue, level: level))
      return .gone
    }
    let stage = graphs[graph].stageNumber(of: run.first)
    if state.parallelRoom(graph, stage) == 0 {
      state.parkInStage(LinePlace(run: run, queue: queue, level: level), stage)
      return .gone
    }
    let skip = state.skip(run, level, stage)
    if skip == run.count { return .gone }
    // Operations inside the coordinator are passed at once. Of others a few are enough: the share
    // of a worker decides how many more are looked at.
    let isInside = classes[graphs[graph].demandClass(of: stage)].demandClass.isInside
    let bound = min(run.count - skip, isInside ? most : min(most, LineHeads.few))
    var valid: UInt32 = 1
    while valid < bound, state.standsInLine(run, skip + valid, level, stage) { valid += 1 }
    return .stands(skip: skip, valid: valid)
  }
}

enum LineHeads {
  /// The operations of a run that are looked at before a worker is chosen, and the most afterwards.
  static let few: UInt32 = 8
  static let most: UInt32 = 1024
}
