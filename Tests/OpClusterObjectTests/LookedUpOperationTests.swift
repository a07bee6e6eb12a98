// An operation that others submitted, asked for by its number: nobody sees it before it is loaded,
// and what is loaded is never older than what was told.

import Citations
import OpClusterModel
import OpClusterOperations
import Synchronization
import Testing

@testable import OpCluster

/// Runs until its door opens.
private struct Waiting: RegisteredOperation {
  struct Answer: Codable, Sendable { var hasPassed: Bool }
  static let typeName = "objects.waiting"
  static let doors = Mutex<[String: Door]>([:])
  var door: String
  func main(_ context: OperationContext) async throws -> Answer {
    try await Self.doors.withLock { $0[door, default: Door()] }.pass()
    return Answer(hasPassed: true)
  }
}

@Suite struct LookedUpOperationTests {
  let backend = ControlledCluster(types: [Waiting.self])

  /// Submits one operation as another program would.
  private func submit(door: String? = nil) async throws -> OperationID {
    var graph = GraphSubmission(name: "others")
    var template = OperationTemplate(
      name: "a", work: door == nil ? .nothing : .call(Waiting.operationType))
    if let door { template.payload = try OperationArgument.encode(Waiting(door: door)) }
    graph.templates = [template]
    guard case .accepted(let id, _, _) = try await backend.elsewhere(.submit(graph)) else {
      throw TooLate()
    }
    return OperationID(graph: id, index: 0)
  }

  @Test("the second call waits for the first one's answer", .checks("S3"))
  func secondCall() async throws {
    let id = try await submit()
    let cluster = backend.object()
    backend.hold()
    let first = Task.immediate { try await cluster.operation(id).name }
    backend.deliverNext()
    try await backend.hasAnswer(to: \.isQuestionForRows)
    let second = Task.immediate { try await cluster.operation(id).name }
    backend.release()
    #expect(try await end(of: first) == "a")
    #expect(try await end(of: second) == "a")
  }

  @Test("a row is copied before the event after it", .checks("S3", "S9"))
  func rowBeforeEvents() async throws {
    let door = Door()
    Waiting.doors.withLock { $0["row"] = door }
    let id = try await submit(door: "row")
    let cluster = backend.object()
    backend.hold()
    let asked = Task.immediate { try await cluster.operation(id) }
    backend.deliverNext()
    try await backend.hasAnswer(to: \.isQuestionForRows)
    door.open()
    try await backend.hasEvent { if case .isFinished = $0 { true } else { false } }
    backend.deliverWaiting()
    let operation = try await end(of: asked)
    #expect(operation.outcome == .succeeded)
    #expect(operation.isFinished && !operation.isExecuting)
  }

  @Test("a failed question leaves nothing behind", .checks("S141"))
  func failedQuestion() async throws {
    let id = try await submit()
    let cluster = backend.object()
    backend.fail { $0.isQuestionForRows ? ClusterError(.unreachable, "not now") : nil }
    await #expect(throws: ClusterError.self) { try await cluster.operation(id) }
    backend.fail(nil)
    let asked = Task { try await cluster.operation(id).name }
    #expect(try await end(of: asked) == "a")
  }

  @Test("a question that fails is told to all who asked", .checks("S141"))
  func failedForAll() async throws {
    let id = try await submit()
    let cluster = backend.object()
    backend.fail { $0.isQuestionForRows ? ClusterError(.unreachable, "not now") : nil }
    backend.hold()
    let first = Task.immediate { try await cluster.operation(id).name }
    let second = Task.immediate { try await cluster.operation(id).name }
    backend.release()
    await #expect(throws: ClusterError.self) { try await end(of: first) }
    await #expect(throws: ClusterError.self) { try await end(of: second) }
  }

  @Test("looking at what has ended, however often, follows nothing", .checks("G28"))
  func lookedUpAgain() async throws {
    let id = try await submit()
    let cluster = backend.object()
    for _ in 0..<100 {
      let operation = try await cluster.operation(id)
      #expect(operation.isFinished)
    }
    #expect(backend.followed == 0)
    #expect(cluster.book.state.withLock { $0.graphs.isEmpty && $0.loading.isEmpty })
  }

  @Test("a great index costs as much as a small one", .checks("S3"))
  func greatIndex() async throws {
    let id = try await submit()
    let cluster = backend.object()
    let last = OperationID(graph: id.graph, index: .max)
    await #expect(throws: ClusterError.self) { try await cluster.operation(last) }
    #expect(try await cluster.operation(id).name == "a")
  }
}
