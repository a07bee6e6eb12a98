// The entry for a program that is started again as a child of itself, to run one operation that
// needs a process of its own. Called first in `main`, on its thread.

import OpClusterAttempts
public import OpClusterOperations

extension LocalCluster {
  /// In a child of a local cluster: runs operations, and never returns. Otherwise returns at once,
  /// and clusters of this process may start such children for these types.
  public static func runAsChildIfAsked(_ types: OperationRegistry) {
    ChildProgram.serveIfAsked { types }
  }
}
