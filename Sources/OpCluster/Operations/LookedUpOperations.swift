// Operations that others submitted, by their number: one object for each, which nobody gets before
// it is loaded. The book has the objects, and the handlers that wait for them. Any thread.

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
      let (askers, isKept) = self.book.loaded(id, loaded)
      if !isKept { self.backend.unfollow(id.graph) }
      for asker in askers { asker(loaded) }
    }
  }
}

/// What is to be done for the object of a number.
enum LookUpStep {
  /// It is there.
  case known(ClusterOperation)
  /// Another call loads it; the handler is called when that has ended.
  case beingLoaded
  /// It is new: the caller loads it.
  case toLoad(ClusterOperation)
}

extension OperationBook {
  /// The object of an operation, by its number. `handler` is kept unless the object is known.
  func adopt(_ id: OperationID, _ handler: @escaping LookUpHandler) -> LookUpStep {
    state.withLock { state in
      if state.loading[id] != nil {
        state.loading[id]?.append(handler)
        return .beingLoaded
      }
      if let known = state.graphs[id.graph]?[id.index] { return .known(known) }
      // Here before it is loaded, so that events meanwhile reach it.
      let operation = ClusterOperation(.nothing)
      state.graphs[id.graph, default: GraphObjects()].setLookedUp(operation, at: id.index)
      // It is followed anew.
      state.lostGraphs[id.graph] = nil
      state.loading[id] = [handler]
      return .toLoad(operation)
    }
  }

  /// Notes that a question has been answered; returns the handlers that wait for it, and whether
  /// the object is kept: only one with something ahead of it is.
  func loaded(
    _ id: OperationID, _ result: Result<ClusterOperation, ClusterError>
  ) -> (handlers: [LookUpHandler], isKept: Bool) {
    let isKept = if case .success(let operation) = result { !operation.isFinished } else { false }
    // The removed object is released outside of the lock.
    let (handlers, _) = state.withLock { state -> ([LookUpHandler], ClusterOperation?) in
      let handlers = state.loading.removeValue(forKey: id) ?? []
      if isKept { return (handlers, nil) }
      let removed = state.graphs[id.graph]?[id.index]
      state.graphs[id.graph]?.setLookedUp(nil, at: id.index)
      if state.graphs[id.graph]?.isEmpty == true { state.graphs[id.graph] = nil }
      return (handlers, removed)
    }
    return (handlers, isKept)
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
