// The waiting of a task for what may come, be cancelled, or take too long. Any thread.

import OpClusterModel
import Synchronization

/// Suspends the task until `resume` is called, or the task is cancelled. `begin` returns the
/// function that undoes the registration.
func suspended(
  _ begin: (@escaping @Sendable () -> Void) -> @Sendable () -> Void
) async throws(ClusterError) {
  let turnstile = Turnstile()
  let undo = begin { turnstile.open(.success(())) }
  let result = await withTaskCancellationHandler {
    await turnstile.wait()
  } onCancel: {
    turnstile.open(.failure(.waitCancelled))
  }
  undo()
  try result.get()
}

extension ClusterError {
  static let waitCancelled = ClusterError(.cancelled, "the task that waited was cancelled")
}

/// Runs `body`; false if the time passes first.
func within(
  _ timeout: Duration, _ body: @escaping @Sendable () async throws(ClusterError) -> Void
) async throws(ClusterError) -> Bool {
  let result = await withTaskGroup(of: Result<Bool, ClusterError>.self) { group in
    group.addTask {
      do throws(ClusterError) {
        try await body()
        return .success(true)
      } catch {
        return .failure(error)
      }
    }
    group.addTask {
      do {
        try await Task.sleep(for: timeout)
        return .success(false)
      } catch {
        // Cancelled: the time has not passed.
        return .failure(.waitCancelled)
      }
    }
    let first = await group.next() ?? .success(false)
    group.cancelAll()
    return first
  }
  return try result.get()
}

/// A gate for one waiting task; only the first call opens it.
private final class Turnstile: Sendable {
  private typealias Waiting = CheckedContinuation<Result<Void, ClusterError>, Never>
  private enum State {
    case closed(Waiting?)
    case open(Result<Void, ClusterError>)
  }
  private let state = Mutex(State.closed(nil))

  func open(_ result: Result<Void, ClusterError>) {
    let waiting = state.withLock { state -> Waiting? in
      guard case .closed(let waiting) = state else { return nil }
      state = .open(result)
      return waiting
    }
    waiting?.resume(returning: result)
  }

  func wait() async -> Result<Void, ClusterError> {
    await withCheckedContinuation { continuation in
      let result = state.withLock { state -> Result<Void, ClusterError>? in
        if case .open(let result) = state { return result }
        state = .closed(continuation)
        return nil
      }
      if let result { continuation.resume(returning: result) }
    }
  }
}
