// Forms of closures that do not compile, so that the compiler can suggest the correct form. None of
// these can be called.

public import OpClusterOperations

extension ClusterOperation {
  @_disfavoredOverload
  @available(
    *, unavailable, message: "a function that leaves a value: ClusterOperation(returning:)"
  )
  public convenience init<Value>(
    name: String? = nil, _ body: @escaping () async throws -> Value
  ) { self.init(name: name) }

  @_disfavoredOverload
  @available(
    *, unavailable, message: "a function that leaves a value: ClusterOperation(returning:)"
  )
  public convenience init<Value>(
    name: String? = nil, _ body: @escaping (OperationContext) async throws -> Value
  ) { self.init(name: name) }

  @available(*, unavailable, message: "write ClusterOperation { … }, without 'block:'")
  public convenience init(name: String? = nil, block: @escaping () async throws -> Void) {
    self.init(name: name)
  }

  @available(*, unavailable, message: "a closure is added with addExecutionBlock { … }")
  public func addBlock(_ body: @escaping () async throws -> Void) {}
}

extension ClusterOperationQueue {
  @_disfavoredOverload
  @available(
    *, unavailable, message: "leaves a value: addOperation(ClusterOperation(returning: { … }))"
  )
  public func addOperation<Value>(_ body: @escaping () async throws -> Value) async throws {}

  @_disfavoredOverload
  @available(
    *, unavailable, message: "leaves a value: addOperation(ClusterOperation(returning: { … }))"
  )
  public func addOperation<Value>(
    _ body: @escaping (OperationContext) async throws -> Value
  ) async throws {}

  @available(*, unavailable, message: "a closure is added with addBarrierBlock { … }")
  public func addBarrier(_ body: @escaping () async throws -> Void) async throws {}
}
