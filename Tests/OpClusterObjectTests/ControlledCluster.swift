// A real cluster in this process whose answers and events wait until the test lets them arrive, one
// by one: what the library's objects do between two messages becomes a matter of the test.

import OpClusterLocal
import FoundationEssentials
import OpClusterModel
import OpClusterOperations
import Synchronization

@testable import OpCluster

/// The cluster behind the objects of a test. It decides at once, as any cluster in this process;
/// only the way back is in the test's hand.
final class ControlledCluster: ClusterBackend {
  /// A message on its way back.
  enum Arrival: Sendable {
    case events([EventRun])
    case answer(ClientRequest, Result<ClientReply, ClusterError>, ReplyHandler)
    case opened(@Sendable () -> Void)

    func isAnswer(to isMeant: (ClientRequest) -> Bool) -> Bool {
      if case .answer(let request, _, _) = self { isMeant(request) } else { false }
    }
  }

  private struct State {
    var arrivals: [Arrival] = []
    var isHolding = false
    var isDelivering = false
    var sent: [ClientRequest] = []
    var followed = 0
    var failing: (@Sendable (ClientRequest) -> ClusterError?)?
    var beforeSending: (@Sendable (ClientRequest) -> Void)?
  }

  /// What decides.
  let real: LocalCluster
  /// Whether the objects take it for a cluster of their own process.
  private let isInProcess: Bool
  let book = OperationBook()
  private let state = Mutex(State())
  var local: LocalCluster? { isInProcess ? real : nil }

  init(isInProcess: Bool = false, types: [any RegisteredOperation.Type] = []) {
    var registry = OperationRegistry()
    for type in types { registry.add(type) }
    real = LocalCluster(registry: registry, slots: 2)
    self.isInProcess = isInProcess
    real.observe { [weak self] in self?.arrive(.events($0)) }
  }

  /// The object of a program for this cluster.
  func object() -> OperationCluster { OperationCluster(backend: self, book: book) }

  // MARK: - The way there

  func send(_ request: ClientRequest, _ handler: @escaping ReplyHandler) {
    let (before, failure) = state.withLock { state in
      (state.beforeSending, state.failing?(request))
    }
    before?(request)
    state.withLock { $0.sent.append(request) }
    if let failure { return arrive(.answer(request, .failure(failure), handler)) }
    real.send(request) { [weak self] result in
      self?.arrive(.answer(request, result.mapError(ClusterError.init), handler))
    }
  }

  func follow(_ graph: GraphID, opened: @escaping @Sendable () -> Void) {
    state.withLock { $0.followed += 1 }
    arrive(.opened(opened))
  }

  func unfollow(_ graph: GraphID) { state.withLock { $0.followed -= 1 } }

  /// How many calls of `follow` have not been taken back.
  var followed: Int { state.withLock { $0.followed } }

  func path(of content: StoredContent) -> String? { nil }
  func data(of content: StoredContent) async throws(ClusterError) -> Data { Data() }
  func close() async { await real.close() }

  /// What has reached the cluster, in order.
  var sent: [ClientRequest] { state.withLock { $0.sent } }

  /// Lets requests fail that `failure` returns an error for; they do not reach the cluster.
  func fail(_ failure: (@Sendable (ClientRequest) -> ClusterError?)?) {
    state.withLock { $0.failing = failure }
  }

  /// Calls `hook` on the sending thread before a request reaches the cluster.
  func beforeSending(_ hook: @escaping @Sendable (ClientRequest) -> Void) {
    state.withLock { $0.beforeSending = hook }
  }

  /// What another program asks of the cluster.
  func elsewhere(_ request: ClientRequest) async throws -> ClientReply {
    try await withCheckedThrowingContinuation { continuation in
      real.send(request) { continuation.resume(with: $0) }
    }
  }

  // MARK: - The way back

  /// From now on nothing arrives by itself.
  func hold() { state.withLock { $0.isHolding = true } }

  /// Lets arrive what waits, and everything after it.
  func release() {
    state.withLock { $0.isHolding = false }
    deliverWhileOpen()
  }

  /// Lets the next message arrive, on this thread.
  func deliverNext() {
    let next = state.withLock { $0.arrivals.isEmpty ? nil : $0.arrivals.removeFirst() }
    if let next { deliver(next) }
  }

  /// Lets everything arrive that waits now, on this thread, one directly after the other.
  func deliverWaiting() {
    let waiting = state.withLock { state in
      defer { state.arrivals = [] }
      return state.arrivals
    }
    for arrival in waiting { deliver(arrival) }
  }

  /// Waits until the answer to such a request waits.
  func hasAnswer(to isMeant: @escaping @Sendable (ClientRequest) -> Bool) async throws {
    try await eventually { self.waiting.contains { $0.isAnswer(to: isMeant) } }
  }

  /// Waits until an event of this kind waits.
  func hasEvent(_ isMeant: @escaping @Sendable (Event.Kind) -> Bool) async throws {
    try await eventually {
      self.waiting.contains { arrival in
        if case .events(let runs) = arrival {
          runs.contains { isMeant($0.first.kind) }
        } else {
          false
        }
      }
    }
  }

  var waiting: [Arrival] { state.withLock { $0.arrivals } }

  private func arrive(_ arrival: Arrival) {
    state.withLock { $0.arrivals.append(arrival) }
    deliverWhileOpen()
  }

  /// One thread delivers at a time, in order.
  private func deliverWhileOpen() {
    let delivers = state.withLock { state in
      if state.isHolding || state.isDelivering { return false }
      state.isDelivering = true
      return true
    }
    guard delivers else { return }
    while let next = state.withLock({ state -> Arrival? in
      guard !state.isHolding, !state.arrivals.isEmpty else {
        state.isDelivering = false
        return nil
      }
      return state.arrivals.removeFirst()
    }) {
      deliver(next)
    }
  }

  private func deliver(_ arrival: Arrival) {
    switch arrival {
    case .events(let runs): book.take(runs)
    case .answer(_, let result, let handler): handler(result)
    case .opened(let opened): opened()
    }
  }
}

struct TooLate: Error {}

/// Waits until something holds, for a minute at most.
func eventually(_ condition: @Sendable () -> Bool) async throws {
  let end = ContinuousClock.now + .seconds(240)
  while !condition() {
    if ContinuousClock.now > end { throw TooLate() }
    try await Task.sleep(for: .milliseconds(1))
  }
}

/// Waits for the end of a task, for a minute at most: a test that would wait for ever fails.
func end<Value: Sendable>(of task: Task<Value, any Error>) async throws -> Value {
  let outcome = Outcome<Value>()
  Task { outcome.set(await task.result) }
  try await eventually { outcome.isThere }
  return try outcome.get()
}

/// The result of a task, for whoever does not wait for it.
final class Outcome<Value: Sendable>: Sendable {
  private let result = Mutex<Result<Value, any Error>?>(nil)
  var isThere: Bool { result.withLock { $0 != nil } }
  func set(_ result: Result<Value, any Error>) { self.result.withLock { $0 = result } }
  func get() throws -> Value {
    guard let result = result.withLock({ $0 }) else { throw TooLate() }
    return try result.get()
  }
}

/// A door that bodies of operations wait at.
final class Door: Sendable {
  private let isOpen = Atomic<Bool>(false)
  func open() { isOpen.store(true, ordering: .releasing) }
  func pass() async throws {
    while !isOpen.load(ordering: .acquiring) { try await Task.sleep(for: .milliseconds(1)) }
  }
}

extension ClientRequest {
  var isSubmission: Bool { if case .submit = self { true } else { false } }
  var isQuestionForRows: Bool { if case .operations = self { true } else { false } }
  var isChangeOfQueue: Bool { if case .changeQueue = self { true } else { false } }
}
