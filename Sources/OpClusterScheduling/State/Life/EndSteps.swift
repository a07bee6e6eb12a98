// What the ends of one turn may cost. The end of one operation may make a million others end, and
// everybody else waits for a turn: so a turn follows ends as far as it has room, and the next goes
// on. Until its end comes, an operation that will be skipped stays as it is, only that it cannot
// become ready.
//
// Steps are counted, and not what they take, since a replay must stop where the live turn did. For
// the same reason the limit is a fact, and equal cells do not make a step cheaper.

import OpClusterModel

enum EndSteps {
  /// The steps of an edge to another graph, or a late one.
  static let otherGraph = 8
  /// The steps of neighbours beyond their edges: mostly one change for all of them.
  static func spread(_ count: Int) -> Int { 1 + count / operationsPerStep }
  static let operationsPerStep = 16
  /// The barriers ahead or behind that make a step of one that leaves its queue.
  static let barriersPerStep = 256
}

extension ClusterState {
  /// Whether the turn may follow further ends.
  @inline(__always)
  func hasRoom(_ turn: SchedulingTurn) -> Bool { turn.endSteps < turn.endStepsAllowed }

  /// Gives a fact what is left of the turn's share, and at least a sixteenth of it: what follows
  /// from usual ends is never left, however many a turn takes in, else it would pile up.
  mutating func allowEndSteps(_ turn: inout SchedulingTurn) {
    let all = endStepsPerTurn
    turn.endStepsAllowed = all == .max ? .max : max(all, turn.endSteps + max(1, all / 16))
  }

  var demandsAtOnce: Int { LaterStages.demandsAtOnce(counters.endStepsPerTurn) }

  private var endStepsPerTurn: Int {
    counters.endStepsPerTurn == 0 ? .max : Int(counters.endStepsPerTurn)
  }

  /// Takes the mark from operations that end now, or are not to be skipped any more.
  mutating func noLongerImpossible(_ span: OperationSpan) {
    graphs[span.graph.number].update(span) { $0.flags.remove(.impossible) }
    graphs[span.graph.number].impossible -= span.count
  }

  /// Follows the ends that earlier turns left, as far as one turn goes.
  mutating func continueEnds(into turn: inout SchedulingTurn) {
    turn.endSteps = 0
    var ends = EndList()
    swap(&ends, &pendingEnds)
    end(&ends, into: &turn)
  }

  /// The first of these neighbours that the turn has room for, at least one. Costs a logarithm, and
  /// a look at each of them that has edges to other graphs.
  func partThatFits(_ end: EndList.End, _ turn: SchedulingTurn) -> Range<UInt32> {
    if counters.endStepsPerTurn == 0 { return end.range }
    var room = turn.endStepsAllowed - turn.endSteps
    var part = end.range
    while part.count > 1, steps(of: end, part) > room {
      part = part.lowerBound..<(part.lowerBound + UInt32(part.count / 2))
    }
    if graphs[end.graph.number].externalDependents.isEmpty { return part }
    room -= steps(of: end, part)
    for index in part.members(of: graphs[end.graph.number].externalDependents) {
      room -= stepsToOtherGraphs(of: OperationID(graph: end.graph, index: index))
      if room < 0 { return part.lowerBound..<max(index, part.lowerBound + 1) }
    }
    return part
  }

  /// How many operations of a queue the turn may take at once. Not fewer where their cells are
  /// equal, nor more: the number must be the same in a replay.
  func membersThatFit(_ turn: SchedulingTurn) -> Int {
    if counters.endStepsPerTurn == 0 { return .max }
    return max(1, turn.endStepsAllowed - turn.endSteps) * EndSteps.operationsPerStep
  }

  /// What the end of neighbours costs within their graph, at most.
  private func steps(of end: EndList.End, _ part: Range<UInt32>) -> Int {
    let graph = end.graph.number
    var steps = EndSteps.spread(part.count) + graphs[graph].dependents.range(of: part).count
    for edge in graphs[graph].stages[end.stage].outgoing
    where edge.match == .sameIndex && !end.cause.satisfies(edge.policy) {
      steps += part.count
    }
    return steps
  }

  private func stepsToOtherGraphs(of id: OperationID) -> Int {
    (graphs[id.graph.number].externalDependents[id.index] ?? []).reduce(0) {
      $0 + stepsOfOther($1.operation)
    }
  }

  /// What an edge to another graph costs. Nothing if its dependent has ended: a restored state does
  /// not know such edges.
  func stepsOfOther(_ dependent: OperationID) -> Int {
    guard graphs.contains(dependent.graph.number) else { return 0 }
    let hasEnded = graphs[dependent.graph.number].cell(dependent.index).phase == .finished
    return hasEnded ? 0 : EndSteps.otherGraph
  }
}

extension Registry<Graph> {
  /// Counts a list of open edges of one graph, which may have ended meanwhile.
  mutating func noteOpenEdges(_ graph: UInt32, _ change: Int32) {
    if contains(graph) { self[graph].openEdges += change }
  }
}
