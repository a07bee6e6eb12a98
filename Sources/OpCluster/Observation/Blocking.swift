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
    try blocked { done in queue.adding(operations, asBarrier: false, done) }
    guard waitUntilFinished else { return }
    for operation in operations {
      operation.blocking.waitUntilFinished()
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

  public func addBarrier(_ operation: ClusterOperation) throws(ClusterError) {
    try blocked { done in queue.adding([operation], asBarrier: true, done) }
  }

  @discardableResult
  public func cancelAllOperations(reason: String = "") throws(ClusterError) -> [CancelVerdict] {
    let reply = try queue.cluster.ask(.cancelQueue(queue.name, reason: reason))
    if case .cancelled(let verdicts, total: _) = reply { return verdicts }
    return []
  }

  /// Returns earlier, with operations left, only where their end will not be told: the cluster was
  /// closed, or will not have us.
  public func waitUntilAllOperationsAreFinished() {
    let semaphore = DispatchSemaphore(value: 0)
    if queue.addIdler({ semaphore.signal() }) != nil, queue.loss == nil { semaphore.wait() }
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
  public func waitUntilFinished() {
    let semaphore = DispatchSemaphore(value: 0)
    if operation.addWaiter({ semaphore.signal() }) != nil, operation.loss == nil {
      semaphore.wait()
    }
  }
}
