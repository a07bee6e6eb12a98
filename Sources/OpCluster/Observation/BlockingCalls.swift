// Blocking calls, for programs without tasks: the calling thread waits. They have a name of their
// own, so that nobody blocks one of Swift's threads by mistake.

import Dispatch
public import OpClusterModel
import Synchronization

extension ClusterOperationQueue {
  /// The queue's blocking calls for threads. Not from within a task.
  public var blocking: BlockingQueue { BlockingQueue(queue: self) }
}

extension ClusterOperation {
  /// The operation's blocking calls for threads. Not from within a task.
  public var blocking: BlockingOperation { BlockingOperation(operation: self) }
}

/// The queue's asynchronous calls under the same names; the calling thread waits for the answer.
public struct BlockingQueue: Sendable {
  let queue: ClusterOperationQueue

  public func addOperation(_ operation: ClusterOperation) throws(ClusterError) {
    try addOperations([operation])
  }

  public func addOperations(
    _ operations: [ClusterOperation], waitUntilFinished: Bool = false
  ) throws(ClusterError) {
    try blocked { done in queue.record.adding(operations, asBarrier: false, done) }
    guard waitUntilFinished else { return }
    for operation in operations {
      try operation.blocking.waitUntilFinished()
      if !operation.isFinished, let loss = operation.loss { throw loss }
    }
  }

  @discardableResult
  public func addOperation(
    _ body: @escaping OperationClosure
  ) throws(ClusterError) -> ClusterOperation {
    let operation = ClusterOperation(name: nil, body)
    try addOperation(operation)
    return operation
  }

  @discardableResult
  public func addOperation(
    _ body: @escaping PlainClosure
  ) throws(ClusterError) -> ClusterOperation {
    try addOperation { _ in try await body() }
  }

  public func addBarrier(_ operation: ClusterOperation) throws(ClusterError) {
    try blocked { done in queue.record.adding([operation], asBarrier: true, done) }
  }

  @discardableResult
  public func cancelAllOperations(reason: String = "") throws(ClusterError) -> [CancelVerdict] {
    try blocked { done in queue.record.cancellingAll(reason, done) }
  }

  /// Returns early, with unfinished operations, only if their end cannot be delivered: the cluster
  /// was closed, or refuses the connection.
  ///
  /// - Throws: Inside an operation, `wouldDeadlock` or `wouldStarve` for a wait that could not end.
  public func waitUntilAllOperationsAreFinished() throws(ClusterError) {
    try blocked { done in queue.record.look { done(.success(())) } } as Void
    let semaphore = DispatchSemaphore(value: 0)
    guard queue.addIdler({ semaphore.signal() }) != nil, queue.loss == nil else { return }
    try queue.cluster.guardedBlocking(.queue(queue.name)) { semaphore.wait() }
  }
}

/// The operation's asynchronous calls under the same names; the calling thread waits.
public struct BlockingOperation: Sendable {
  let operation: ClusterOperation

  @discardableResult
  public func cancel(reason: String = "") throws(ClusterError) -> CancelVerdict.Verdict {
    try blocked { done in operation.cancelling(reason, done) }
  }

  /// Returns early, with `isFinished` false, only if the end cannot be delivered: the cluster was
  /// closed, or refuses the connection.
  ///
  /// - Throws: Inside an operation, `wouldDeadlock` or `wouldStarve` for a wait that could not end:
  ///   for itself, or for a dependent of it.
  public func waitUntilFinished() throws(ClusterError) {
    let semaphore = DispatchSemaphore(value: 0)
    guard operation.addWaiter({ semaphore.signal() }) != nil, operation.loss == nil else { return }
    guard let (cluster, id) = operation.place else { return semaphore.wait() }
    try cluster.guardedBlocking(.operations([id])) { semaphore.wait() }
  }
}
