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

  /// The steps of a turn when graphs began to bring their classes in parts. Turns before had more,
  /// and a replay must do as they did: this number stays, and no later limit may exceed it.
  static let mostSteps: UInt32 = 8_192

  /// How many demand classes a graph brings when it is placed, if a turn has so many steps.
  static func demandsAtOnce(_ endStepsPerTurn: UInt32) -> Int {
    if endStepsPerTurn == 0 || endStepsPerTurn > mostSteps { return .max }
    return max(1, Int(endStepsPerTurn) / (2 * stepsOfDemandClass))
  }
}
