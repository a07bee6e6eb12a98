// Further blocking calls that return answers. The calling thread waits; an operation's wait for
// itself is refused as in the asynchronous calls.

public import OpClusterOperations

extension BlockingOperation {
  /// Returns false if the time passes first; the operation is not affected.
  public func waitUntilFinished(timeout: Duration) throws(ClusterError) -> Bool {
    let operation = operation
    return try answered { () async throws(ClusterError) in
      try await operation.waitUntilFinished(timeout: timeout)
    }
  }

  /// The present result; does not wait for the end.
  public func result() throws(ClusterError) -> OperationResult {
    let operation = operation
    return try answered { () async throws(ClusterError) in try await operation.result() }
  }

  /// The output of an operation of this type; waits for its end.
  public func output<Body: RegisteredOperation>(
    of type: Body.Type
  ) throws(ClusterError) -> Body.Output {
    try output(as: Body.Output.self)
  }

  /// The output; waits for the end.
  public func output<Value: Decodable & Sendable>(
    as type: Value.Type = Value.self
  ) throws(ClusterError) -> Value {
    let operation = operation
    return try answered { () async throws(ClusterError) in
      try await operation.output(as: Value.self)
    }
  }

  /// Holds the operation back until `release()`. False if it has started.
  @discardableResult
  public func hold() throws(ClusterError) -> Bool {
    let operation = operation
    return try answered { () async throws(ClusterError) in try await operation.hold() }
  }

  @discardableResult
  public func release() throws(ClusterError) -> Bool {
    let operation = operation
    return try answered { () async throws(ClusterError) in try await operation.release() }
  }

  /// False if it has started; then nothing was changed.
  @discardableResult
  public func move(to queue: ClusterOperationQueue) throws(ClusterError) -> Bool {
    let operation = operation
    return try answered { () async throws(ClusterError) in try await operation.move(to: queue) }
  }
}

extension BlockingQueue {
  /// Returns false if the time passes first; the queue is not affected.
  public func waitUntilAllOperationsAreFinished(timeout: Duration) throws(ClusterError) -> Bool {
    let queue = queue
    return try answered { () async throws(ClusterError) in
      try await queue.waitUntilAllOperationsAreFinished(timeout: timeout)
    }
  }

  /// Adds a closure as a barrier: local clusters only.
  public func addBarrierBlock(_ body: @escaping PlainClosure) throws(ClusterError) {
    try addBarrier(ClusterOperation(name: "barrier", body))
  }

  @discardableResult
  public func schedule(
    after delay: Duration, _ operation: ClusterOperation
  ) throws(ClusterError) -> OperationSchedule {
    let queue = queue
    return try answered { () async throws(ClusterError) in
      try await queue.schedule(after: delay, operation)
    }
  }

  @discardableResult
  public func schedule(
    every interval: Duration, after delay: Duration? = nil,
    _ make: @escaping @Sendable () -> ClusterOperation
  ) throws(ClusterError) -> OperationSchedule {
    let queue = queue
    return try answered { () async throws(ClusterError) in
      try await queue.schedule(every: interval, after: delay, make)
    }
  }
}

/// Blocks the calling thread for the result of a task. The task inherits the current operation.
private func answered<Value: Sendable>(
  _ body: @escaping @Sendable () async throws(ClusterError) -> Value
) throws(ClusterError) -> Value {
  try blocked { done in
    Task {
      do throws(ClusterError) {
        done(.success(try await body()))
      } catch {
        done(.failure(error))
      }
    }
  }
}
