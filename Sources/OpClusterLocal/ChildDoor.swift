// The way in for a program of the library that is started once more as a child of itself, to run
// one operation that wants a process of its own. Called first in `main`, on its thread.

public import OpClusterOperations
import OpClusterWorker

extension LocalCluster {
  /// In a child that a local cluster has started: runs operations, and never returns. Otherwise
  /// returns at once, and clusters of this process may start such children for these types.
  public static func runAsChildIfAsked(_ types: OperationRegistry) {
    ChildProgram.serveIfAsked { types }
  }
}
