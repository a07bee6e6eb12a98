// The operation types that a worker has: what it advertises, and how one of them is run. Made
// before the worker starts, never changed afterwards.

public import OpClusterModel

/// The types of one worker. `noop` and `sleep` are always among them.
public struct OperationRegistry: Sendable {
  /// Does the work of one attempt.
  typealias Work = @Sendable (OperationContext) async throws -> [UInt8]

  /// How a type is run.
  enum Kind: Sendable {
    case inline(@Sendable ([UInt8], [DependencyInput]) throws -> [UInt8])
    /// The first closure decodes the argument, what it returns does the work.
    case task(@Sendable ([UInt8]) throws -> Work)
  }

  private var kinds: [OperationType: Kind] = [:]
  /// In the order in which they were added.
  public private(set) var types: [OperationType] = []

  public init() {
    add(NoOperation.self)
    add(SleepOperation.self)
  }

  /// Adds a type; one of the same name and version takes the place of the earlier one.
  public mutating func add<Operation: RegisteredOperation>(_ type: Operation.Type) {
    insert(
      OperationType(name: Operation.typeName, version: Operation.version),
      .task { argument in
        let operation = try Operation(argument: argument)
        return { context in try await operation.run(context) }
      })
  }

  public mutating func add<Operation: InlineOperation>(_ type: Operation.Type) {
    insert(
      OperationType(name: Operation.typeName, version: Operation.version),
      .inline { argument, inputs in try Operation.run(argument: argument, inputs: inputs) })
  }

  private mutating func insert(_ type: OperationType, _ kind: Kind) {
    if kinds.updateValue(kind, forKey: type) == nil { types.append(type) }
  }

  func kind(of type: OperationType) -> Kind? { kinds[type] }
}
