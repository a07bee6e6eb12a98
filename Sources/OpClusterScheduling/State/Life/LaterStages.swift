// Stages that are placed in turns after that of their graph. A demand class that is new to the
// cluster costs as much as several operations: if each of 200,000 has its own, one turn would take
// half a second.

import OpClusterModel

struct LaterStages: Sendable {
  let graph: GraphID
  /// Ascending.
  let numbers: [Int]
  /// All demand classes of the graph, by position; those before `Graph.demandClasses.count` have
  /// been taken in.
  let demands: [StagesOfDemand]
  /// The number of stages that have been placed.
  var placed = 0

  var isEmpty: Bool { placed == numbers.count }

  /// The steps of a turn that a demand class costs (`EndSteps`).
  static let stepsOfDemandClass = 4

  /// How many demand classes a graph brings when it is placed, if a turn has so many steps.
  /// Journals of earlier releases have more steps, and no graph that brings its classes in parts.
  static func demandsAtOnce(_ endStepsPerTurn: UInt32) -> Int {
    if endStepsPerTurn == 0 || endStepsPerTurn > Limits.endStepsPerTurn { return .max }
    return max(1, Int(endStepsPerTurn) / (2 * stepsOfDemandClass))
  }
}
