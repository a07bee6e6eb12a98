// Waiting for operations and queues (S141, S142): a wait is an entry in the mirror that the finish
// event ends; it holds no thread of the cluster and survives reconnects.

import OpClusterModel
import OpClusterOperations
import Synchronization

extension ClusterOperation {
  /// Returns when the operation has finished; at once if it has (S141). Its completion block may
  /// still run.
  ///
  /// - Throws: Inside an operation, `wouldDeadlock` or `wouldStarve` for a wait that could never
  ///   end (S142); `CancellationError` as `cancelled` if the waiting task is cancelled;
  ///   `connectionLost` if its end cannot be delivered: the cluster was closed, or refuses the
  ///   connection.
  public func waitUntilFinished() async throws(ClusterError) {
    guard !isFinished else { return }
    try await guardedWait(.operations(id.map { [$0] } ?? [])) { () async throws(ClusterError) in
      try await suspendUntilFinished()
    }
  }

  /// Returns false if the time passes first; the operation is not affected.
  public func waitUntilFinished(timeout: Duration) async throws(ClusterError) -> Bool {
    try await within(timeout) { () async throws(ClusterError) in
      try await self.waitUntilFinished()
    }
  }

  /// Calls `handler` at the end; nil: it has finished already, and `handler` is not called.
  func addWaiter(_ handler: @escaping @Sendable () -> Void) -> UInt64? {
    life.withLock { life in
      life.isFinished ? nil : life.waiters.add(handler)
    }
  }

  func suspendUntilFinished() async throws(ClusterError) {
    try await suspended { resume in
      guard let number = self.addWaiter(resume) else {
        resume()
        return {}
      }
      if self.loss != nil { resume() }
      return { self.life.withLock { $0.waiters.remove(number) } }
    }
    if !isFinished, let loss { throw loss }
  }

  /// Checks a wait by a running operation first: it may be one that cannot end (S142).
  private func guardedWait(
    _ target: WaitTarget, _ body: () async throws(ClusterError) -> Void
  ) async throws(ClusterError) {
    guard let cluster = life.withLock({ $0.cluster }) else { return try await body() }
    try await cluster.guardedWait(target, body)
  }
}

extension ClusterOperationQueue {
  /// Returns when the queue is empty, including operations added meanwhile (S141).
  public func waitUntilAllOperationsAreFinished() async throws(ClusterError) {
    try await awaited { done in record.look { done(.success(())) } } as Void
    // A queue that does not exist needs no request.
    if isIdle { return }
    try await cluster.guardedWait(.queue(name)) { () async throws(ClusterError) in
      try await suspended { resume in
        guard let number = self.addIdler(resume) else {
          resume()
          return {}
        }
        if self.loss != nil { resume() }
        return { self.record.state.withLock { $0.idlers.remove(number) } }
      }
      if let loss = self.loss, !self.isIdle { throw loss }
    }
  }

  /// The reason why its end cannot be delivered; nil if it can.
  var loss: ClusterError? { cluster.book.loss(of: nil) }

  /// Calls `handler` when the queue is empty; nil: it is empty, and `handler` is not called.
  func addIdler(_ handler: @escaping @Sendable () -> Void) -> UInt64? {
    record.state.withLock { life in
      life.isIdle ? nil : life.idlers.add(handler)
    }
  }

  private var isIdle: Bool { record.state.withLock { $0.isIdle } }

  /// Returns false if the time passes first; the queue is not affected.
  public func waitUntilAllOperationsAreFinished(
    timeout: Duration
  ) async throws(ClusterError) -> Bool {
    try await within(timeout) { () async throws(ClusterError) in
      try await self.waitUntilAllOperationsAreFinished()
    }
  }

}

extension OperationCluster {
  /// Returns when all of these have finished.
  public func waitUntilFinished(_ operations: [ClusterOperation]) async throws(ClusterError) {
    let ids = operations.filter { !$0.isFinished }.compactMap(\.id)
    try await guardedWait(.operations(ids)) { () async throws(ClusterError) in
      for operation in operations { try await operation.suspendUntilFinished() }
    }
  }

  /// The form of `guardedWait` for a thread.
  func guardedBlocking(
    _ target: WaitTarget, _ body: () throws(ClusterError) -> Void
  ) throws(ClusterError) {
    guard let waiter = OperationContext.current, isHome(of: waiter) else { return try body() }
    _ = try ask(.beginWait(waiter.operation, target))
    defer { backend.send(.endWait(waiter.operation)) { _ in } }
    try body()
  }

  /// Inside an operation of this cluster, asks the cluster before waiting; otherwise only waits.
  func guardedWait(
    _ target: WaitTarget, _ body: () async throws(ClusterError) -> Void
  ) async throws(ClusterError) {
    guard let waiter = OperationContext.current, isHome(of: waiter) else { return try await body() }
    _ = try await request(.beginWait(waiter.operation, target))
    defer { backend.send(.endWait(waiter.operation)) { _ in } }
    try await body()
  }

  /// Whether this code runs in an operation of this cluster.
  private func isHome(of context: OperationContext) -> Bool {
    switch context.home {
    case .none: false
    case .endpoint(let address): address == self.address
    case .local(let cluster): backend.local.map { $0 === cluster } ?? false
    }
  }
}
