// Requests to the backend in the three forms of the API: with a handler, awaited, and blocking a
// thread. The last form is for programs without tasks; replies come from a thread that never waits
// for others, so a waiting thread never waits for itself.

import Dispatch
import OpClusterModel
import Synchronization

typealias DoneHandler = @Sendable (Result<Void, ClusterError>) -> Void

extension OperationCluster {
  func request(_ request: ClientRequest) async throws(ClusterError) -> ClientReply {
    try await awaited { done in backend.send(request) { done($0.refused) } }
  }

  /// The same; `note` is called with the reply before anything that arrives after it. What an event
  /// tells needs no note: it was delivered before the reply, and a later one of the same turn, too.
  func request(
    _ request: ClientRequest, noting note: @escaping @Sendable (ClientReply) -> Void
  ) async throws(ClusterError) -> ClientReply {
    try await awaited { done in send(request, noting: note, done) }
  }

  /// Sends a request and blocks the calling thread until the reply; `note` as in `request`.
  func ask(
    _ request: ClientRequest, noting note: @escaping @Sendable (ClientReply) -> Void = { _ in }
  ) throws(ClusterError) -> ClientReply {
    try blocked { done in send(request, noting: note, done) }
  }

  private func send(
    _ request: ClientRequest, noting note: @escaping @Sendable (ClientReply) -> Void,
    _ done: @escaping ReplyHandler
  ) {
    backend.send(request) { result in
      let result = result.refused
      if case .success(let reply) = result { note(reply) }
      done(result)
    }
  }

  /// Begins an action and blocks the calling thread until its end.
  func block(_ begin: (@escaping DoneHandler) -> Void) throws(ClusterError) {
    try blocked(begin)
  }
}

extension Result where Success == ClientReply, Failure == ClusterError {
  /// Converts a refusal to an error.
  var refused: Self {
    if case .success(.refused(let refusal)) = self { return .failure(ClusterError(refusal)) }
    return self
  }
}

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
