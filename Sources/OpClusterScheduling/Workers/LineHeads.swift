// The heads of the lines: the operations of a run that still stand in line. A line is cleared when
// it is looked at, not when an operation leaves it.

import OpClusterModel

extension Scheduler {
  /// Whether anything stands in a queue's line above a level.
  mutating func hasWaiting(_ queue: UInt32, above level: Int, at now: Instant) -> Bool {
    guard queues[queue].line.hasRuns(above: level) else { return false }
    var line = state.takeLine(of: queue)
    defer { state.putBack(&line, of: queue) }
    return line.stands(above: level) { settleHead($0, $1, atMost: 1, [], now) }
  }

  /// The part of a run at the head of a line that still stands there, at most `most`.
  mutating func settleHead(
    _ run: ReadyRun, _ level: Int, atMost most: UInt32, _ candidates: [UInt32], _ now: Instant
  ) -> Line.Settling {
    let graph = run.graph.number
    guard graphs.contains(graph) else { return .gone }
    if graphs[graph].isSuspended {
      state.parkInGraph(run)
      return .gone
    }
    let stage = graphs[graph].stageNumber(of: run.first)
    if state.parallelRoom(graph, stage) == 0 {
      state.parkInStage(run, stage)
      return .gone
    }
    let skip = state.skip(run, level, stage)
    if skip == run.count { return .gone }
    var valid: UInt32 = 1
    var bound = min(run.count - skip, most)
    if bound > 8 {
      let queue = graphs[graph].queue(of: run.first, stage: stage).number
      let rank = Rank(queues[queue].settings.qos, queue: queue, level: level)
      bound = min(
        bound, useful(graphs[graph].stages[stage].demandClass, rank, candidates, at: now))
    }
    while valid < bound, state.standsInLine(run, skip + valid, level, stage) { valid += 1 }
    return .stands(skip: skip, valid: valid)
  }

  /// A number of ready operations of a class beyond which more would not change the distribution.
  private func useful(
    _ demandClass: Int, _ rank: Rank, _ candidates: [UInt32], at now: Instant
  ) -> UInt32 {
    if classes[demandClass].demandClass.isInside { return .max }
    let demand = classes[demandClass].demandClass.demand
    var eligible: UInt32 = 0
    var most: UInt32 = 1
    for number in candidates where fits(number, demandClass) {
      eligible += 1
      most = max(
        most, free(number).count(fitting: demand), room(at: number, for: rank, at: now))
    }
    let (useful, isTooMuch) = most.multipliedReportingOverflow(by: max(eligible, 1))
    return isTooMuch ? .max : useful
  }
}
