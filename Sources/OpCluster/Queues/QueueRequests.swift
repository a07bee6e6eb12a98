// What a queue asks of its cluster: to be made, changed, filled, emptied. Any thread.

import Dispatch
public import OpClusterModel
import Synchronization

extension ClusterOperationQueue {
  /// Adds an operation; when this has returned, the cluster has it durably (S58).
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
    try await awaited { done in adding(operations, asBarrier: false, done) }
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

  /// Adds an operation that runs after everything added before it and before everything added
  /// after it, alone in the queue (S77 to S86): the counterpart of `addBarrierBlock`.
  public func addBarrier(_ operation: ClusterOperation) async throws(ClusterError) {
    try await awaited { done in adding([operation], asBarrier: true, done) }
  }

  /// A closure as a barrier: local clusters only.
  public func addBarrierBlock(_ body: @escaping OperationClosure) async throws(ClusterError) {
    try await addBarrier(ClusterOperation(name: "barrier", body))
  }

  /// Cancels every operation that is in the queue now, of whatever program, barriers too, in one
  /// commit (S95, S96). After it has returned, no member that had not started ever starts.
  @discardableResult
  public func cancelAllOperations(
    reason: String = ""
  ) async throws(ClusterError) -> [CancelVerdict] {
    let reply = try await cluster.request(.cancelQueue(name, reason: reason))
    if case .cancelled(let verdicts, total: _) = reply { return verdicts }
    return []
  }

  /// Removes the queue from the cluster.
  ///
  /// - Throws: `queueNotEmpty` (S5).
  public func remove() async throws(ClusterError) {
    _ = try await cluster.request(.removeQueue(name))
    state.withLock { $0.isMade = false }
  }

  // MARK: - Inside

  func adding(
    _ operations: [ClusterOperation], asBarrier: Bool, _ done: @escaping DoneHandler
  ) {
    guard !operations.isEmpty else { return done(.success(())) }
    make { result in
      if case .failure = result { return done(result) }
      self.cluster.add(operations, to: self, asBarrier: asBarrier, done)
    }
  }

  /// Makes the queue in the cluster, once; a queue of the name that is there is taken as it is.
  func make(_ done: @escaping DoneHandler) {
    enum Step {
      case go, wait
      case create(QueueSettings)
    }
    let step = state.withLock { life -> Step in
      if life.isMade, life.id != nil { return .go }
      if life.awaiting != nil {
        life.awaiting?.append(done)
        return .wait
      }
      life.awaiting = [done]
      return .create(life.settings)
    }
    switch step {
    case .go: done(.success(()))
    case .wait: break
    case .create(let settings):
      if settings.name == "default" { return learn() }
      cluster.backend.send(.createQueue(settings)) { result in
        switch result.refused {
        case .success: self.learn()
        case .failure(let error) where error.code == .queueExists: self.learn()
        case .failure(let error): self.made(.failure(error), row: nil)
        }
      }
    }
  }

  /// Finds out the queue's number and its present state.
  private func learn() {
    cluster.backend.send(.queues(named: name)) { result in
      switch result.refused {
      case .success(.queues(let rows, _)):
        let name = self.name
        let row = rows.first { $0.settings.name == name }
        let missing = ClusterError(.unknownQueue, "there is no queue '\(name)' any more")
        self.made(row == nil ? .failure(missing) : .success(()), row: row)
      case .success(let reply): self.made(.failure(.unexpected(reply)), row: nil)
      case .failure(let error): self.made(.failure(error), row: nil)
      }
    }
  }

  private func made(_ result: Result<Void, ClusterError>, row: QueueRow?) {
    if let row { cluster.book.register(self, as: row.queue) }
    let awaiting = state.withLock { life -> [DoneHandler] in
      if let row {
        life.isMade = true
        life.id = row.queue
        life.settings = row.settings
        life.count = row.operationCount
      }
      defer { life.awaiting = nil }
      return life.awaiting ?? []
    }
    for handler in awaiting { handler(result) }
  }

  /// Changes settings: freely before the queue is made, by request afterwards.
  func setting(
    _ change: QueueChange, _ done: @escaping @Sendable (Result<ClientReply, ClusterError>) -> Void
  ) {
    let isKnown = state.withLock { life -> Bool in
      if life.isMade || life.awaiting != nil { return true }
      life.settings.apply(change)
      return false
    }
    guard isKnown else { return done(.success(.effect(true))) }
    make { result in
      if case .failure(let error) = result { return done(.failure(error)) }
      self.cluster.backend.send(.changeQueue(self.name, change)) { result in
        let result = result.refused
        if case .success = result { self.state.withLock { $0.settings.apply(change) } }
        done(result)
      }
    }
  }

  /// These are in the queue now. An end may have been told before the answer that brought us here.
  ///
  /// - Parameter areSubmitted: What was not told to be ready waits: for a dependency, or for a
  ///   barrier that this program need not know of (S39).
  /// - Returns: Those that are cancelled and have not finished.
  func took(
    _ operations: [ClusterOperation], asBarrier: Bool, areSubmitted: Bool
  ) -> [ClusterOperation] {
    state.withLock { $0.append(operations, asBarrier: asBarrier) }
    var cancelled: [ClusterOperation] = []
    for operation in operations {
      let (missed, isCancelled) = operation.life.withLock { life in
        life.isCounted = true
        if areSubmitted, life.sequence == 0, !life.isCancelled { life.isReady = false }
        return (life.end, life.isCancelled)
      }
      if let missed { took(missed) } else if isCancelled { cancelled.append(operation) }
    }
    return cancelled
  }

  /// It was moved here from another queue. Where its end was told by now, that one has counted it.
  func takeOver(_ operation: ClusterOperation) {
    let (isBarrier, isHere) = operation.life.withLock { ($0.isBarrier, $0.queue === self) }
    if isHere { return }
    state.withLock { $0.append([operation], asBarrier: isBarrier) }
    let (before, isCounted) = operation.life.withLock { life in
      let isCounted = life.isCounted && !life.isFinished
      defer { if isCounted { life.queue = self } }
      return (life.queue, isCounted)
    }
    let left = isCounted ? before : self
    let idlers = left?.state.withLock { life in
      life.remove(operation, asBarrier: isBarrier)
      return life.takeIdlers()
    }
    for idler in idlers ?? [] { idler(()) }
  }

  /// One of ours has finished.
  func took(_ end: OperationEnd) {
    let idlers = state.withLock { life in
      life.ended(end)
      return life.takeIdlers()
    }
    for idler in idlers { idler(()) }
  }

  /// An event of the queue itself.
  func take(_ event: Event) {
    let (notices, observers, idlers) = state.withLock { life in
      let notices = life.take(event)
      return (notices, life.observers.all, life.takeIdlers())
    }
    if !observers.isEmpty, !notices.isEmpty {
      cluster.observers.async { for notice in notices { for each in observers { each(notice) } } }
    }
    for idler in idlers { idler(()) }
  }
}

extension QueueSettings {
  mutating func apply(_ change: QueueChange) {
    if let name = change.newName { self.name = name }
    if let qos = change.qos { self.qos = qos }
    if let isSuspended = change.isSuspended { self.isSuspended = isSuspended }
    switch change.limit {
    case .unlimited: maximumConcurrent = nil
    case .atMost(let count): maximumConcurrent = count
    case nil: break
    }
  }
}
