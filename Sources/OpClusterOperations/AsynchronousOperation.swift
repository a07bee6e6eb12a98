// Operations that continue after their start has returned (S130 to S134): a callback, another
// process or a person ends them through a token.

import Synchronization

/// The counterpart of an `Operation` whose `isAsynchronous` is true: `start` returns early, and the
/// operation executes until its token ends it (S131).
///
/// There is no `isExecuting` to set and no notification to send (S132). Cancellation does not end
/// it (S134): `context.onCancel` informs the code that does the work, and the token ends the
/// operation once the work has really stopped.
public protocol AsynchronousOperation: RegisteredOperation {
  /// The output. Determined by the token of `start`, and nowhere else.
  associatedtype Output
  /// Begins the work and returns. A thrown error fails the attempt, unless the token was faster.
  func start(_ context: OperationContext, _ completion: CompletionToken<Output>) throws
}

extension AsynchronousOperation {
  public func main(_ context: OperationContext) async throws -> Output {
    try await withCheckedThrowingContinuation { continuation in
      let completion = CompletionToken(continuation)
      do {
        try start(context, completion)
      } catch {
        completion.fail(error)
      }
    }
  }
}

/// Ends an ``AsynchronousOperation``, once, from any thread.
///
/// Only the first call counts (S133). Releasing the token without a call fails the attempt: nothing
/// hangs because a callback was lost.
public final class CompletionToken<Output: Sendable>: Sendable {
  private let waiting: Mutex<CheckedContinuation<Output, any Error>?>

  init(_ continuation: CheckedContinuation<Output, any Error>) {
    waiting = Mutex(continuation)
  }

  /// Ends the operation successfully.
  /// - Returns: false if it had ended before; then the output is dropped.
  @discardableResult
  public func finish(_ output: Output) -> Bool {
    guard let continuation = take() else { return false }
    continuation.resume(returning: output)
    return true
  }

  /// Ends the operation as failed.
  /// - Returns: false if it had ended before; then the error is dropped.
  @discardableResult
  public func fail(_ error: any Error) -> Bool {
    guard let continuation = take() else { return false }
    continuation.resume(throwing: error)
    return true
  }

  private func take() -> CheckedContinuation<Output, any Error>? {
    waiting.withLock { waiting in
      defer { waiting = nil }
      return waiting
    }
  }

  deinit { fail(CompletionForgotten()) }
}

/// The token of an asynchronous operation was released unused.
public struct CompletionForgotten: Error, Hashable, Sendable, CustomStringConvertible {
  public init() {}
  public var description: String {
    "it let go of its completion token without finish or fail; keep the token until the work has "
      + "ended"
  }
}
