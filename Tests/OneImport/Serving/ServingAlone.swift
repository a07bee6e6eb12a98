// A worker's program with one import of ours: operation types, what they use, and the list. It
// compiles under MemberImportVisibility, and its target depends on nothing else.

import OpClusterServing
import Testing

/// What operations hand on.
struct Picture: Codable, Hashable, Sendable {
  var name: String
}

/// Uses what a context offers.
struct Frame: RegisteredOperation {
  static let typeName = "alone.frame"
  static let version: UInt32 = 2
  static let isolation = OperationIsolation.shared
  @RequiredInput var picture: Picture
  @Input var width: Int? = nil

  func main(_ context: OperationContext) async throws -> Picture {
    try context.checkCancellation()
    guard picture.name != "none" else { throw BadArgument("there is no picture") }
    context.logger.debug("framing", metadata: ["run": "\(context.run)"])
    context.reportProgress(0.5, "half")
    context.onCancel {}
    let skipped = context.dependencies.filter { $0.outcome == Outcome.skipped }
    let name = "\(picture.name) of \(width ?? 1), \(skipped.count) skipped, \(context.queueName)"
    return Picture(name: name)
  }
}

/// Ends later.
struct Later: AsynchronousOperation {
  static let typeName = "alone.later"

  func start(_ context: OperationContext, _ completion: CompletionToken<Int>) throws {
    completion.finish(Int(context.operation.index))
  }
}

/// As `@main` would start it.
struct AloneWorker: WorkerProgram {
  static let types: [any RegisteredOperation.Type] = [Frame.self, Later.self]
  static let abstract = "Frames pictures."
}

@Suite struct ServingAlone {
  @Test func aWorkerIsAListOfTypes() async throws {
    #expect(AloneWorker.types.map { $0.typeName } == ["alone.frame", "alone.later"])
    #expect(!AloneWorker.name.isEmpty && AloneWorker.abstract == "Frames pictures.")
    var logger = Logger(label: "alone")
    logger.logLevel = .critical
    let operation = OperationID(graph: GraphID(1), index: 7)
    let context = OperationContext(
      attempt: AttemptID(operation: operation, attempt: 1), name: "alone", logger: logger)
    let frame = Frame(picture: RequiredInput(Picture(name: "town")), width: 2)
    let framed = try await frame.main(context)
    #expect(framed.name == "town of 2, 0 skipped, ")
    #expect(try await Later().main(context) == 7)
  }
}
