// Requests of a queue to its cluster: add, cancel, remove. Any thread.

import Dispatch
public import OpClusterModel
import Synchronization

extension ClusterOperationQueue {
  /// Adds an operation; when this has returned, the cluster has stored it durably (S58).
  ///
  /// - Throws: `alreadyEnqueued`, `alreadyFinished`, `cycle`, `unknownDependency`, `localOnly` and
  ///   others.
  public func addOperation(_ operation: ClusterOperation) async throws(ClusterError) {
    try await addOperations([operation])
  }

  /// Adds a batch, all or none, before any of it is scheduled (S58).
  ///
  /// - Parameter waitUntilFinished: Return when all of these have finished (S141).
  public func addOperations(
    _ operations: [ClusterOperation], waitUntilFinished: Bool = false
  ) async throws(ClusterError) {
    try await awaited { done in record.adding(operations, asBarrier: false, done) }
    guard waitUntilFinished else { return }
    try await cluster.waitUntilFinished(operations)
  }

  /// Adds a closure: local clusters only (S124).
  @discardableResult
  public func addOperation(
    _ body: @escaping OperationClosure
  ) async throws(ClusterError) -> ClusterOperation {
    let operation = ClusterOperation(name: nil, body)
    try await addOperation(operation)
    return operation
  }

  /// Adds a closure that needs no context: local clusters only (S124).
  @discardableResult
  public func addOperation(
    _ body: @escaping PlainClosure
  ) async throws(ClusterError) -> ClusterOperation {
    try await addOperation { _ in try await body() }
  }

  /// Adds an operation that runs after everything added before it and before everything added after
  /// it, alone in the queue (S77 to S86): the counterpart of `addBarrierBlock`.
  public func addBarrier(_ operation: ClusterOperation) async throws(ClusterError) {
    try await awaited { done in record.adding([operation], asBarrier: true, done) }
  }

  /// Adds a closure as a barrier: local clusters only.
  public func addBarrierBlock(_ body: @escaping OperationClosure) async throws(ClusterError) {
    try await addBarrier(ClusterOperation(name: "barrier", body))
  }

  /// Adds a closure that needs no context as a barrier: local clusters only.
  public func addBarrierBlock(_ body: @escaping PlainClosure) async throws(ClusterError) {
    try await addBarrierBlock { _ in try await body() }
  }

  /// Cancels every operation that is in the queue now, of all programs, including barriers, in one
  /// commit (S95, S96). After the return, no member that had not started ever starts.
  @discardableResult
  public func cancelAllOperations(
    reason: String = ""
  ) async throws(ClusterError) -> [CancelVerdict] {
    try await awaited { done in record.cancellingAll(reason, done) }
  }

  /// Removes the queue from the cluster.
  ///
  /// - Throws: `queueNotEmpty` (S5).
  public func remove() async throws(ClusterError) {
    let id = record.state.withLock { $0.id }
    _ = try await cluster.request(.removeQueue(name)) { _ in self.record.isGone(id) }
  }
}

extension OperationCluster {
  /// The names of the cluster's queues, of all programs.
  public func queueNames() async throws(ClusterError) -> [String] {
    var names: [String] = []
    var last: QueueID?
    while true {
      let reply = try await request(.queues(after: last))
      guard case .queues(let rows, let more) = reply else { throw .unexpected(reply) }
      names += rows.map(\.settings.name)
      guard more, let newest = rows.last?.queue else { return names }
      last = newest
    }
  }
}
