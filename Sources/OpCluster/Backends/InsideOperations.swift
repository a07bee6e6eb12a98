// The cluster for a running operation: it may add operations, steer others, and wait (S3, S98,
// S142).

import OpClusterLocal
import OpClusterModel
public import OpClusterOperations
import Synchronization

extension OperationContext {
  /// The cluster that this operation belongs to. The whole worker process shares one connection,
  /// which the first call opens.
  ///
  /// - Throws: `unreachable`.
  public func cluster() async throws(ClusterError) -> OperationCluster {
    switch home {
    case .none:
      throw ClusterError(
        .unreachable, "this process was not told where clients connect to",
        hint: "a child of a program that is its own cluster has none; else the coordinator is of "
          + "another release")
    case .endpoint(let address): return try await HomeConnections.shared.cluster(at: address)
    case .local(let cluster):
      guard let local = cluster as? LocalCluster else {
        throw ClusterError(.unreachable, "the local cluster is of another kind")
      }
      guard let found = LocalHomes.shared.cluster(of: local) else {
        throw ClusterError(.shuttingDown, "the local cluster has been let go of")
      }
      return found
    }
  }

  /// The queue that this operation runs in: the counterpart of `OperationQueue.current` (S146).
  public func queue() async throws(ClusterError) -> ClusterOperationQueue {
    let queue = ClusterOperationQueue(name: queueName, on: try await cluster())
    try await awaited { done in queue.record.look { done(.success(())) } } as Void
    return queue
  }

  /// Asks this operation itself to stop; it continues until it returns (S98).
  public func cancel(reason: String = "") async throws(ClusterError) {
    try await cluster().cancel(.operations([operation]), reason: reason)
  }

  /// Cancels all direct and indirect dependents of this operation.
  public func cancelDependents(reason: String = "") async throws(ClusterError) {
    try await cluster().cancel(.dependents(of: operation), reason: reason)
  }
}

/// The connections that operations of this process have opened to their own clusters.
private final class HomeConnections: Sendable {
  static let shared = HomeConnections()
  private let clusters = Mutex<[String: Task<Result<OperationCluster, ClusterError>, Never>]>([:])

  func cluster(at address: String) async throws(ClusterError) -> OperationCluster {
    let task = clusters.withLock { clusters in
      if let task = clusters[address] { return task }
      let task = Task { () -> Result<OperationCluster, ClusterError> in
        do throws(ClusterError) {
          return .success(try await OperationCluster.connect(to: address))
        } catch {
          return .failure(error)
        }
      }
      clusters[address] = task
      return task
    }
    let result = await task.value
    // A failure is not remembered: the next call tries again.
    if case .failure = result {
      clusters.withLock { if $0[address] == task { $0[address] = nil } }
    }
    return try result.get()
  }
}
