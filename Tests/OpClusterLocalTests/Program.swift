// What tests need of a program that uses a local cluster: an observer that checks what it is told,
// requests that are waited for, operations made of closures.

import OpClusterLocal
import OpClusterModel
import OpClusterOperations
import Synchronization
import Testing

/// A cluster, and what its observer was told.
final class Program: Sendable {
  let cluster: LocalCluster
  let witness = Witness()

  init(slots: Int = 2, registry: OperationRegistry = OperationRegistry()) {
    cluster = LocalCluster(registry: registry, slots: slots)
    cluster.observe { [witness] in witness.take($0) }
  }

  func ask(_ request: ClientRequest) async throws -> ClientReply {
    try await withCheckedThrowingContinuation { continuation in
      cluster.send(request) { continuation.resume(with: $0) }
    }
  }

  func refusal(_ request: ClientRequest) async -> Refusal.Code? {
    do {
      _ = try await ask(request)
      return nil
    } catch {
      return (error as? Refusal)?.code
    }
  }

  func queue(_ name: String, limit: UInt32? = nil, isSuspended: Bool = false) async throws {
    _ = try await ask(
      .createQueue(
        QueueSettings(name: name, maximumConcurrent: limit, isSuspended: isSuspended)))
  }

  /// A template that runs a closure.
  func template(
    _ name: String, _ closure: @escaping @Sendable (OperationContext) async throws -> Void
  ) -> OperationTemplate {
    let number = cluster.register { context in
      try await closure(context)
      return []
    }
    var template = OperationTemplate(name: name, work: .call(OperationRegistry.closureType))
    template.payload = Array(String(number).utf8)
    return template
  }

  func submit(_ graph: GraphSubmission) async throws -> GraphID {
    guard case .accepted(let id, _, _) = try await ask(.submit(graph)) else {
      throw Refusal(.badRequest, "not accepted")
    }
    return id
  }

  /// One operation in one queue.
  func add(
    to queue: String = "default", _ name: String = "block",
    change: (inout OperationTemplate) -> Void = { _ in },
    _ closure: @escaping @Sendable (OperationContext) async throws -> Void
  ) async throws -> OperationID {
    var graph = GraphSubmission(name: name)
    graph.queues = [.named(queue)]
    var template = template(name, closure)
    change(&template)
    graph.templates = [template]
    return OperationID(graph: try await submit(graph), index: 0)
  }

  func row(_ operation: OperationID) async throws -> OperationRow {
    var after: OperationID?
    if operation.index > 0 {
      after = OperationID(graph: operation.graph, index: operation.index - 1)
    }
    guard
      case .operations(let rows, _) = try await ask(
        .operations(.graph(operation.graph), after: after, limit: 1)), let row = rows.first
    else { throw Refusal(.unknownOperation, "no row") }
    return row
  }
}

/// Checks every event as it comes, and remembers the lives of operations.
final class Witness: Sendable {
  struct Life: Sendable {
    var own: UInt32 = 0
    var kinds: [Event.Kind] = []
    var outcome: Outcome?
    var isExecuting = false
    var finishedAt: UInt64 = 0
    var startedAt: UInt64?
  }
  private struct State {
    var lives: [OperationID: Life] = [:]
    var problems: [String] = []
    var last: UInt64 = 0
    var isInside = false
    var finished = 0
  }
  private let state = Mutex(State())

  func take(_ runs: [EventRun]) {
    var events: [Event] = []
    for run in runs { run.forEach { events.append($0) } }
    state.withLock { state in
      if state.isInside { state.problems.append("two at once") }
      state.isInside = true
    }
    state.withLock { state in
      for event in events {
        if event.sequence <= state.last { state.problems.append("sequence goes back") }
        state.last = event.sequence
        take(event, &state)
      }
      state.isInside = false
    }
  }

  /// The rules of one operation's life (S8, S9, S106, S149).
  private func take(_ event: Event, _ state: inout State) {
    guard case .operation(let id, let own) = event.subject else { return }
    var life = state.lives[id] ?? Life()
    if own != life.own + 1 { state.problems.append("\(id): gap before \(own)") }
    life.own = own
    life.kinds.append(event.kind)
    switch event.kind {
    case .isExecuting(let value):
      if value == life.isExecuting || life.outcome != nil {
        state.problems.append("\(id): isExecuting \(value) out of turn")
      }
      life.isExecuting = value
      if value { life.startedAt = event.sequence }
    case .isFinished(let outcome):
      if life.outcome != nil || life.isExecuting {
        state.problems.append("\(id): finished out of turn")
      }
      life.outcome = outcome
      life.finishedAt = event.sequence
      state.finished += 1
    default: break
    }
    state.lives[id] = life
  }

  var problems: [String] { state.withLock { $0.problems } }
  var finished: Int { state.withLock { $0.finished } }
  func life(_ id: OperationID) -> Life { state.withLock { $0.lives[id] ?? Life() } }
  func outcome(_ id: OperationID) -> Outcome? { life(id).outcome }

  func waitForEnd(of ids: [OperationID]) async throws {
    try await eventually {
      self.state.withLock { s in ids.allSatisfy { s.lives[$0]?.outcome != nil } }
    }
  }
  func waitForFinished(_ count: Int) async throws {
    try await eventually { self.finished >= count }
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

/// A door that bodies of operations wait at.
final class Door: Sendable {
  private let isOpen = Atomic<Bool>(false)
  private let count = Atomic<Int>(0)
  func open() { isOpen.store(true, ordering: .releasing) }
  /// How many have come to it.
  var visitors: Int { count.load(ordering: .acquiring) }
  func pass(_ context: OperationContext? = nil) async throws {
    count.add(1, ordering: .acquiringAndReleasing)
    while !isOpen.load(ordering: .acquiring) {
      if let context, context.isCancelled { throw CancellationError() }
      try? await Task.sleep(for: .milliseconds(1))
    }
  }
}

/// What happened, in order.
final class Notes: Sendable {
  private let list = Mutex<[String]>([])
  func add(_ note: String) { list.withLock { $0.append(note) } }
  var all: [String] { list.withLock { $0 } }
}
