// Further calls for threads: whatever answers has its form here. The calling thread waits; a wait
// of an operation for itself is refused as in the calls for tasks.

public import OpClusterOperations

extension BlockingOperation {
  /// Returns false when the time has passed first; the operation is untouched.
  public func waitUntilFinished(timeout: Duration) throws(ClusterError) -> Bool {
    let operation = operation
    return try answered { () async throws(ClusterError) in
      try await operation.waitUntilFinished(timeout: timeout)
    }
  }

  /// The result as it is now; does not wait for the end.
  public func result() throws(ClusterError) -> OperationResult {
    let operation = operation
    return try answered { () async throws(ClusterError) in try await operation.result() }
  }

  /// The value of an operation of this type, when it has finished; waits for that.
  public func output<Body: RegisteredOperation>(
    of type: Body.Type
  ) throws(ClusterError) -> Body.Output {
    try output(as: Body.Output.self)
  }

  /// The value, when it has finished; waits for that.
  public func output<Value: Decodable & Sendable>(
    as type: Value.Type = Value.self
  ) throws(ClusterError) -> Value {
    let operation = operation
    return try answered { () async throws(ClusterError) in
      try await operation.output(as: Value.self)
    }
  }

  /// Nothing of it starts until `release()`. False if it has started.
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

  /// False if it has started, and nothing was changed.
  @discardableResult
  public func move(to queue: ClusterOperationQueue) throws(ClusterError) -> Bool {
    let operation = operation
    return try answered { () async throws(ClusterError) in try await operation.move(to: queue) }
  }
}

extension BlockingQueue {
  /// Returns false when the time has passed first; the queue is untouched.
  public func waitUntilAllOperationsAreFinished(timeout: Duration) throws(ClusterError) -> Bool {
    let queue = queue
    return try answered { () async throws(ClusterError) in
      try await queue.waitUntilAllOperationsAreFinished(timeout: timeout)
    }
  }

  /// A closure as a barrier: local clusters only.
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

/// The calling thread waits for what a task finds out. The task knows in which operation it is.
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
