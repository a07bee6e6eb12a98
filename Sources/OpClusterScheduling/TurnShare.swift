// What one turn does at most of what concerns many operations; others wait for no more than that.

import OpClusterModel

/// How many graphs one turn changes for one request, and how far it follows ends, each at least 1;
/// the simulation does less.
package struct TurnShare: Sendable {
  /// Unless more wait for them.
  var graphsCancelled = Limits.graphsCancelledPerTurn
  /// The operations of them that change one by one, unless more wait for them.
  var operationsCancelled = Limits.operationsCancelledPerTurn
  /// Those that it looks at for that.
  var graphsSought = Limits.graphsSoughtPerTurn
  var graphsSuspended = Limits.graphsSuspendedPerTurn
  /// As `EndSteps` counts them; 0: no limit.
  var endSteps = Limits.endStepsPerTurn

  package init() {}
  /// Everything at once: nobody else waits for the turn.
  package static var all: TurnShare {
    TurnShare(graphs: .max, operations: .max, endSteps: 0)
  }
  /// Parts of equal size.
  package init(
    graphs count: Int, operations: Int = Limits.operationsCancelledPerTurn,
    endSteps: UInt32 = Limits.endStepsPerTurn
  ) {
    let count = max(1, count)
    (graphsCancelled, graphsSought, graphsSuspended) = (count, count, count)
    operationsCancelled = max(1, operations)
    self.endSteps = endSteps
  }
}
