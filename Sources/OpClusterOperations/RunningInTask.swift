// Runs an attempt inside the caller's task: for what runs one operation after the other and does
// not want a task of its own for each.

public import OpClusterModel

extension OperationRegistry {
  /// Runs an attempt to its end, in the caller's task; to be cancelled with
  /// `OperationContext.cancel` and by cancelling that task.
  ///
  /// A plain success has no times: it is `AttemptResult.success` itself, which costs nothing to
  /// remember.
  public func run(
    _ type: OperationType, argument: [UInt8], context: OperationContext
  ) async -> AttemptResult {
    let work: Work
    switch self.work(type, argument: argument) {
    case .success(let found?): work = found
    case .success(nil): return .success
    case .failure(let reason): return reason.result
    }
    let result = await RunningAttempt.result(of: work, argument, context)
    context.end()
    if result.isSuccess, result.output.isEmpty { return .success }
    return result
  }

  /// Keeps a closure that encodes its output itself (`OutputValue.encode`), until it is removed.
  public func add(
    encodingClosure closure: @escaping @Sendable (OperationContext) async throws -> [UInt8]
  ) -> UInt64 {
    closures.add(isRepeatable: true) { _, context in
      let output = try await closure(context)
      guard output.count <= Limits.outputBytes else {
        throw BadOutput(
          "its output has \(output.count) bytes, more than \(Limits.outputBytes); leave a "
            + "reference to larger data")
      }
      return output
    }
  }

  /// Lets go of closures that will not be started again.
  public func remove(closures numbers: [UInt64]) { closures.remove(numbers) }
}
