// Changes of a queue's record by its handles and by events: operations are added, settings change,
// operations end. Any thread.

import Dispatch
import OpClusterLocal
import OpClusterModel
import Synchronization

extension QueueRecord {
  func adding(
    _ operations: [ClusterOperation], asBarrier: Bool, _ done: @escaping DoneHandler
  ) {
    guard !operations.isEmpty else { return done(.success(())) }
    if name == LocalCluster.mainQueueName, let objection = operations.objectionToMain {
      return done(.failure(objection))
    }
    make { result in
      if case .failure = result { return done(result) }
      self.cluster.add(operations, to: self, asBarrier: asBarrier, done)
    }
  }

  /// Changes settings: locally before the queue exists, by request afterwards.
  func setting(
    _ change: QueueChange, _ done: @escaping @Sendable (Result<ClientReply, ClusterError>) -> Void
  ) {
    if change.pool != nil, name == LocalCluster.mainQueueName {
      return done(.failure(.mainPool))
    }
    look { self.set(change, done) }
  }

  private func set(
    _ change: QueueChange, _ done: @escaping @Sendable (Result<ClientReply, ClusterError>) -> Void
  ) {
    // Other records are released outside of the lock.
    let (isKnown, _) = state.withLock { life -> (Bool, [QueueRecord]) in
      if life.isMade || life.awaiting != nil || life.objection != nil { return (true, []) }
      let before = life.settings.name
      life.settings.apply(change)
      life.give(change)
      // Under the lock: the book learns names in the order in which they were given.
      guard let new = change.newName else { return (false, []) }
      return (false, cluster.book.rename(self, from: before, to: new))
    }
    guard isKnown else { return done(.success(.effect(true))) }
    make { result in
      if case .failure(let error) = result { return done(.failure(error)) }
      self.cluster.backend.send(.changeQueue(self.name, change)) { result in
        done(result.refused)
      }
    }
  }

  /// Notes that these are in the queue. An end may have been delivered before the answer.
  ///
  /// - Parameter areSubmitted: Operations not reported as ready are waiting: for a dependency, or
  ///   for a barrier that this program need not know (S39).
  /// - Returns: The ones that are cancelled and have not finished.
  func took(
    _ operations: [ClusterOperation], asBarrier: Bool, areSubmitted: Bool
  ) -> [ClusterOperation] {
    let first = state.withLock { $0.appendMembers(operations, asBarrier: asBarrier) }
    var cancelled: [ClusterOperation] = []
    for (offset, operation) in operations.enumerated() {
      let (missed, isCancelled) = operation.life.withLock { life in
        life.isCounted = true
        life.place = first + UInt64(offset)
        if areSubmitted, life.sequence == 0, !life.isCancelled { life.isReady = false }
        return (life.end, life.isCancelled)
      }
      if let missed { took(missed) } else if isCancelled { cancelled.append(operation) }
    }
    return cancelled
  }

  /// Takes an operation that was moved here. If its end was already delivered, the other queue has
  /// counted it.
  func takeOver(_ operation: ClusterOperation) {
    let (isBarrier, isHere) = operation.life.withLock { ($0.isBarrier, $0.newestQueue === self) }
    if isHere { return }
    let here = state.withLock { $0.appendMembers([operation], asBarrier: isBarrier) }
    let (left, place) = operation.life.withLock { life -> (QueueRecord?, UInt64) in
      guard life.isCounted, !life.isFinished else { return (self, here) }
      let before = (life.queue, life.place)
      life.queue = self
      life.place = here
      return before
    }
    guard let left else { return }
    let (idlers, _) = left.state.withLock { life in
      let removed = life.remove(at: place, asBarrier: isBarrier)
      return (life.takeIdlers(), removed)
    }
    for idler in idlers { idler(()) }
  }

  /// Notes that an own operation has finished.
  func took(_ end: OperationEnd) {
    // The finished operation is released outside of the lock.
    let (idlers, _) = state.withLock { life in
      let removed = life.ended(end)
      return (life.takeIdlers(), removed)
    }
    for idler in idlers { idler(()) }
  }

  /// Sets the count after the events that are being delivered (S111).
  func foresee(_ count: UInt32) { state.withLock { $0.count = count } }

  func cancellingAll(
    _ reason: String, _ done: @escaping @Sendable (Result<[CancelVerdict], ClusterError>) -> Void
  ) {
    if state.withLock({ $0.objection }) != nil { return done(.success([])) }
    cluster.backend.send(.cancelQueue(name, reason: reason)) { result in
      switch result.refused {
      case .success(.cancelled(let verdicts, _)): done(.success(verdicts))
      case .success(let reply): done(.failure(.unexpected(reply)))
      // A queue that does not exist is empty.
      case .failure(let error) where error.code == .unknownQueue: done(.success([]))
      case .failure(let error): done(.failure(error))
      }
    }
  }

  /// Takes an event of the queue itself.
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
