// What the tests of this target have in common: operations, contexts, and waiting for an end.

import OpClusterModel
import OpClusterOperations
import Synchronization
import Testing

/// A value that operations hand on.
struct Picture: Codable, Hashable, Sendable {
  var name: String
  var width = 640
}

/// Appends to what it gets.
struct Darken: RegisteredOperation {
  static let typeName = "test.darken"
  var amount = 1
  @Input var picture: Picture? = nil

  func main(_ context: OperationContext) async throws -> Picture {
    var result = picture ?? Picture(name: "none")
    result.name += "-\(amount)"
    return result
  }
}

/// Cannot do without what it gets.
struct Publish: RegisteredOperation {
  static let typeName = "test.publish"
  static let version: UInt32 = 2
  static let isolation = OperationIsolation.child
  @RequiredInput var picture: Picture

  func main(_ context: OperationContext) async throws -> String { "published \(picture.name)" }
}

/// Does what it is told.
struct Obey: RegisteredOperation {
  static let typeName = "test.obey"
  enum Order: String, Codable, Sendable {
    case succeed, fail, waitForFlag, waitForTask, throwCancellation, refuse, missInput
    case notANumber, progress, folder
  }
  var order: Order

  func main(_ context: OperationContext) async throws -> [String] {
    switch order {
    case .succeed: return ["well"]
    case .fail: throw Trouble(depth: 3)
    case .waitForFlag:
      while !context.isCancelled { await Task.yield() }
      try context.checkCancellation()
    case .waitForTask: try await Task.sleep(for: .seconds(3600))
    case .throwCancellation: throw CancellationError()
    case .refuse: throw BadArgument("no")
    case .missInput: return try [context.requireOutput(of: "nobody")]
    case .notANumber: _ = try OutputValue.encode(Double.nan)
    case .progress:
      context.reportProgress(0.25, "a quarter")
      context.reportProgress(7)
      context.reportProgress(.nan, "never")
    case .folder: return [try context.scratchFolder(), try context.scratchFolder()]
    }
    return []
  }
}

struct Trouble: Error, CustomStringConvertible {
  var depth: Int
  var description: String { "trouble \(depth)" }
}

/// Whatever happened, in order; waits for it to happen.
final class Notes<Note: Sendable>: Sendable {
  private let notes = Mutex<[Note]>([])
  func add(_ note: Note) { notes.withLock { $0.append(note) } }
  var all: [Note] { notes.withLock { $0 } }

  /// Waits until there are so many; fails the test after a generous while.
  func wait(for count: Int, location: SourceLocation = #_sourceLocation) async throws -> [Note] {
    let end = ContinuousClock.now + .seconds(60)
    while all.count < count {
      guard ContinuousClock.now < end else {
        Issue.record("never \(count): \(all)", sourceLocation: location)
        throw Abandoned()
      }
      try await Task.sleep(for: .milliseconds(1))
    }
    return all
  }
  struct Abandoned: Error {}
}

enum Rig {
  static let graph = GraphID(7)
  static let attempt = AttemptID(
    operation: OperationID(graph: graph, index: 9), attempt: 4)

  static func context(
    _ inputs: [DependencyInput] = [], scratch: OperationScratch = .none,
    onProgress: @escaping @Sendable (Double, String) -> Void = { _, _ in }
  ) -> OperationContext {
    OperationContext(
      attempt: attempt, run: 2, name: "work", graphName: "graph", index: 3, queueName: "build",
      inputs: inputs, home: .endpoint("tcp://127.0.0.1:1"), scratch: scratch,
      onProgress: onProgress)
  }

  static func input(
    _ name: String, _ value: (some Encodable)?, at index: UInt32 = 0, element: UInt32? = nil,
    outcome: Outcome = .succeeded
  ) throws -> DependencyInput {
    DependencyInput(
      operation: OperationID(graph: graph, index: index), name: name, index: element,
      outcome: outcome, output: try value.map { try OutputValue.encode($0) })
  }

  static var registry: OperationRegistry {
    var registry = OperationRegistry()
    registry.add(Darken.self)
    registry.add(Publish.self)
    registry.add(Obey.self)
    return registry
  }

  /// Runs an attempt to its end.
  static func run(
    _ type: OperationType, _ argument: [UInt8], _ context: OperationContext = context(),
    in registry: OperationRegistry = registry
  ) async throws -> AttemptResult {
    let ends = Notes<AttemptResult>()
    switch registry.start(
      type, argument: argument, context: context, qos: .default,
      onEnd: { result, _ in ends.add(result) })
    {
    case .ended(let result): return result
    case .running: return try await ends.wait(for: 1)[0]
    }
  }

  static func run<Operation: RegisteredOperation>(
    _ operation: Operation, _ context: OperationContext = context()
  ) async throws -> AttemptResult {
    try await run(
      Operation.operationType, OperationArgument.encode(operation), context)
  }
}

/// Lets everybody through once it is open.
final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }
  private let state = Mutex(State())

  func passage() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.waiting.append(continuation) }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
  }

  func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }
}
