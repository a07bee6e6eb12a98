// Requests to the backend in the three forms that the API needs: with a handler, awaited, and
// waited for by a thread. The last is for programs without tasks; replies come from a thread that
// waits for nobody, so that a waiting thread never waits for itself.

import Dispatch
import OpClusterModel
import Synchronization

typealias DoneHandler = @Sendable (Result<Void, ClusterError>) -> Void

extension OperationCluster {
  func request(_ request: ClientRequest) async throws(ClusterError) -> ClientReply {
    try await awaited { done in backend.send(request) { done($0.refused) } }
  }

  /// The calling thread waits.
  func ask(_ request: ClientRequest) throws(ClusterError) -> ClientReply {
    try blocked { done in backend.send(request) { done($0.refused) } }
  }

  /// The calling thread waits for what is begun.
  func block(_ begin: (@escaping DoneHandler) -> Void) throws(ClusterError) {
    try blocked(begin)
  }
}

extension Result where Success == ClientReply, Failure == ClusterError {
  /// A refusal is an error for whoever asked.
  var refused: Self {
    if case .success(.refused(let refusal)) = self { return .failure(ClusterError(refusal)) }
    return self
  }
}

/// Begins something and waits for its end without a thread.
func awaited<Value: Sendable>(
  _ begin: (@escaping @Sendable (Result<Value, ClusterError>) -> Void) -> Void
) async throws(ClusterError) -> Value {
  let result = await withCheckedContinuation { continuation in
    begin { continuation.resume(returning: $0) }
  }
  return try result.get()
}

/// Begins something; the calling thread waits for its end.
func blocked<Value: Sendable>(
  _ begin: (@escaping @Sendable (Result<Value, ClusterError>) -> Void) -> Void
) throws(ClusterError) -> Value {
  let box = ReplyBox<Value>()
  begin { box.fill($0) }
  return try box.wait().get()
}

/// Where a thread waits for one reply. One that is there already, or comes within microseconds, as
/// it does in this process, costs no system call.
private final class ReplyBox<Value: Sendable>: Sendable {
  private enum State {
    case open
    case awaited(DispatchSemaphore)
    case filled(Result<Value, ClusterError>)
  }
  private let state = Mutex(State.open)
  private let isFilled = Atomic<Bool>(false)
  /// Some twenty microseconds.
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
