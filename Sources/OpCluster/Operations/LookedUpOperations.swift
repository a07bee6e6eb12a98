// Operations that others submitted, by their number: one object for each, which nobody gets before
// it is loaded. Any thread.

public import OpClusterModel
import Synchronization

extension OperationCluster {
  /// An operation of an earlier submission, of any program, by its number.
  ///
  /// - Throws: `unknownOperation`, or `expired` if it is too old to be remembered.
  public func operation(_ id: OperationID) async throws(ClusterError) -> ClusterOperation {
    try await awaited { done in lookUp(id, done) }
  }

  private func lookUp(
    _ id: OperationID,
    _ done: @escaping @Sendable (Result<ClusterOperation, ClusterError>) -> Void
  ) {
    switch book.adopt(id, done) {
    case .known(let operation): done(.success(operation))
    case .beingLoaded: break
    case .toLoad(let operation):
      // First follows the events, then reads the state, so that no change in between is missed.
      backend.follow(id.graph) { self.load(operation, id) }
    }
  }

  private func load(_ operation: ClusterOperation, _ id: OperationID) {
    row(of: id) { result in
      let loaded = result.flatMap { row -> Result<ClusterOperation, ClusterError> in
        guard let row else { return .failure(.unknownOperation(id)) }
        operation.mirror(row, in: self)
        return .success(operation)
      }
      for asker in self.book.loaded(id, loaded) { asker(loaded) }
    }
  }
}

extension ClusterOperation {
  /// Copies a row to the mirror, between the events up to it and the later ones: the row has
  /// whatever the earlier ones told.
  fileprivate func mirror(_ row: OperationRow, in cluster: OperationCluster) {
    life.withLock { life in
      life.cluster = cluster
      life.stage = row.state == .declared ? .declared(row.id) : .enqueued(row.id)
      life.settings.name = row.name
      life.settings.queuePriority = row.priority
      life.isReady = row.isReady
      life.isExecuting = row.isExecuting
      life.isCancelled = row.isCancelled
      life.outcome = row.outcome
      life.isCompleted = row.outcome != nil
      life.cancelReason = row.reason
      life.run = row.attempt
      life.hasExecuted = row.attempt > 0
    }
  }
}

extension ClusterError {
  fileprivate static func unknownOperation(_ id: OperationID) -> ClusterError {
    ClusterError(
      .unknownOperation, "there is no operation \(id.graph.number)/\(id.index)", operations: [id])
  }
}
