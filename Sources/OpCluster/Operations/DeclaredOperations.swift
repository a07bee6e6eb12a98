// Declared operations, which are known but in no queue (S28), and the manual start of local ones
// (S15).

import OpClusterLocal
import OpClusterModel

extension OperationCluster {
  /// Declares operations without adding them to a queue: others can depend on them, and they wait
  /// for `addOperation`. Dependencies of added operations are declared automatically.
  public func declare(_ operations: [ClusterOperation]) async throws(ClusterError) {
    try await awaited { done in declareFresh(operations, done) }
  }
}

extension ClusterOperation {
  /// Runs the operation now, on this thread, outside of every queue: no limit, priority or
  /// suspension applies (S15). For local clusters; returns when it has finished, at once if it had.
  ///
  /// - Throws: `notReady`, `alreadyStarted`, `alreadyEnqueued` (a queue owns it), `localOnly` for
  ///   an external cluster, which has no "start now" (S15).
  public func start(on cluster: OperationCluster = .inProcess) throws(ClusterError) {
    guard let local = cluster.backend.local else {
      throw ClusterError(
        .localOnly, "operations of a cluster are started by its workers",
        hint: "add '\(self)' to a queue")
    }
    if isFinished { return }
    if queue != nil {
      throw ClusterError(.alreadyEnqueued, "'\(self)' is in a queue, which will start it")
    }
    try blocked { done in cluster.declareFresh([self] + dependencies, done) }
    guard let id = self.id else { throw .onItsWay("\(self)") }
    if isCancelled {
      // It finishes without running its main (S14).
      _ =
        try blocked { done in
          cluster.cancelling(.operations([id]), "", grace: nil, done)
        } as [CancelVerdict]
      return
    }
    do throws(Refusal) {
      try local.start(id)
    } catch {
      throw ClusterError(error)
    }
  }
}
