// The calls that wait for the cluster, for programs without tasks: the calling thread waits. They
// stand under a name of their own, so that nobody blocks one of Swift's threads by mistake.

import Dispatch
public import OpClusterModel
import Synchronization

extension ClusterOperationQueue {
  /// The queue's calls for threads. Not from within a task.
  public var blocking: BlockingQueue { BlockingQueue(queue: self) }
}

extension ClusterOperation {
  /// The operation's calls for threads. Not from within a task.
  public var blocking: BlockingOperation { BlockingOperation(operation: self) }
}

/// As the queue's asynchronous calls of the same names; the calling thread waits for the answer.
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

  /// Returns earlier, with operations left, only where their end will not be told: the cluster was
  /// closed, or will not have us.
  ///
  /// - Throws: inside an operation, `wouldDeadlock` or `wouldStarve` for a wait that could not end.
  public func waitUntilAllOperationsAreFinished() throws(ClusterError) {
    try blocked { done in queue.record.look { done(.success(())) } } as Void
    let semaphore = DispatchSemaphore(value: 0)
    guard queue.addIdler({ semaphore.signal() }) != nil, queue.loss == nil else { return }
    try queue.cluster.guardedBlocking(.queue(queue.name)) { semaphore.wait() }
  }
}

/// As the operation's asynchronous calls of the same names; the calling thread waits.
public struct BlockingOperation: Sendable {
  let operation: ClusterOperation

  @discardableResult
  public func cancel(reason: String = "") throws(ClusterError) -> CancelVerdict.Verdict {
    try blocked { done in operation.cancelling(reason, done) }
  }

  /// Returns earlier, with `isFinished` false, only where the end will not be told: the cluster was
  /// closed, or will not have us.
  ///
  /// - Throws: inside an operation, `wouldDeadlock` or `wouldStarve` for a wait that could not end:
  ///   for itself, for what depends on it.
  public func waitUntilFinished() throws(ClusterError) {
    let semaphore = DispatchSemaphore(value: 0)
    guard operation.addWaiter({ semaphore.signal() }) != nil, operation.loss == nil else { return }
    guard let (cluster, id) = operation.place else { return semaphore.wait() }
    try cluster.guardedBlocking(.operations([id])) { semaphore.wait() }
  }
}
