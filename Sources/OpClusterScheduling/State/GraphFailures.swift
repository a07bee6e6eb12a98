// Counts the failures of a graph and of its parts, and compares them with the limit of the graph.

import OpClusterModel

extension Graph {
  /// Whether the graph exceeds its failure limit.
  var failsAsAWhole: Bool {
    if let bound = submission.maximumFailures { return failures > bound }
    return submission.failurePolicy != .continue && failures > 0
  }

  /// Counts a failure of a stage that does not allow failures.
  mutating func countFailure(_ stage: Int) {
    failures += 1
    for at in submission.failureScopes.indices where submission.failureScopes[at].holds(stage) {
      scopeFailures[at] += 1
    }
  }
}
