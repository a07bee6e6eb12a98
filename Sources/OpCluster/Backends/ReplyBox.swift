// Waiting for one reply, by a task or by a thread. Any thread.

import Dispatch
import OpClusterModel
import Synchronization

/// Begins an action and suspends the task until its end.
func awaited<Value: Sendable>(
  _ begin: (@escaping @Sendable (Result<Value, ClusterError>) -> Void) -> Void
) async throws(ClusterError) -> Value {
  let result = await withCheckedContinuation { continuation in
    begin { continuation.resume(returning: $0) }
  }
  return try result.get()
}

/// Begins an action and blocks the calling thread until its end.
func blocked<Value: Sendable>(
  _ begin: (@escaping @Sendable (Result<Value, ClusterError>) -> Void) -> Void
) throws(ClusterError) -> Value {
  let box = ReplyBox<Value>()
  begin { box.fill($0) }
  return try box.wait().get()
}

/// A box in which a thread waits for one reply. A reply that is already there, or comes within
/// microseconds, as in this process, costs no system call.
private final class ReplyBox<Value: Sendable>: Sendable {
  private enum State {
    case open
    case awaited(DispatchSemaphore)
    case filled(Result<Value, ClusterError>)
  }
  private let state = Mutex(State.open)
  private let isFilled = Atomic<Bool>(false)
  /// Some twenty microseconds of checks.
  private static var looks: Int { 2_000 }

  func fill(_ value: Result<Value, ClusterError>) {
    let semaphore = state.withLock { state -> DispatchSemaphore? in
      defer { state = .filled(value) }
      if case .awaited(let semaphore) = state { return semaphore }
      return nil
    }
    isFilled.store(true, ordering: .releasing)
    semaphore?.signal()
  }

  func wait() -> Result<Value, ClusterError> {
    var looks = 0
    while looks < Self.looks, !isFilled.load(ordering: .acquiring) { looks += 1 }
    let semaphore = DispatchSemaphore(value: 0)
    if let reply = reply(orSignal: semaphore) { return reply }
    while true {
      semaphore.wait()
      if let reply = reply(orSignal: semaphore) { return reply }
    }
  }

  private func reply(orSignal semaphore: DispatchSemaphore) -> Result<Value, ClusterError>? {
    state.withLock { state in
      if case .filled(let reply) = state { return reply }
      state = .awaited(semaphore)
      return nil
    }
  }
}
