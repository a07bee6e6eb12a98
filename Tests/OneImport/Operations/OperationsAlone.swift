// A file of operation types and their tests, with one import of ours. It compiles under
// MemberImportVisibility, and its target depends on nothing else: whatever the public API mentions
// is within reach.

import OpClusterOperations
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

@Suite struct OperationsAlone {
  private func context(_ inputs: [DependencyInput] = []) -> OperationContext {
    let operation = OperationID(graph: GraphID(1), index: 7)
    return OperationContext(
      attempt: AttemptID(operation: operation, attempt: 1), name: "alone", queueName: "q",
      inputs: inputs)
  }

  @Test func aTypeIsTestedByItself() async throws {
    let frame = Frame(picture: RequiredInput(Picture(name: "harbour")), width: 3)
    let framed = try await frame.main(context())
    #expect(framed.name == "harbour of 3, 0 skipped, q")
    await #expect(throws: BadArgument.self) {
      try await Frame(picture: RequiredInput(Picture(name: "none"))).main(context())
    }
    #expect(try await Later().main(context()) == 7)
  }

  @Test func whatDependenciesLeftIsWithinReach() throws {
    let output = try OutputValue.encode(Picture(name: "station"))
    let from = OperationID(graph: GraphID(1), index: 0)
    let input = DependencyInput(
      operation: from, name: "load", index: nil, outcome: .succeeded, output: output)
    let found: Picture? = context([input]).output()
    #expect(found == Picture(name: "station"))
    #expect(throws: MissingInput.self) {
      let _: Int = try context([input]).requireOutput(of: "nobody")
    }
  }

  @Test func aListOfTypesIsARegistry() {
    var registry = OperationRegistry()
    registry.add(Frame.self)
    registry.add(Later.self)
    let type: OperationType = Frame.operationType
    #expect(registry.types.contains(type) && type.version == 2)
    #expect(registry.isolation(of: type) == .shared)
  }
}
