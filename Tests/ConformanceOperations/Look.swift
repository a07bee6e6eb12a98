// The operation that tells what it sees around it (S135 to S139, S146).

public import OpClusterModel
public import OpClusterOperations

/// What an operation's context shows.
public struct Sight: Codable, Hashable, Sendable {
  public var queue: String
  public var name: String
  public var graph: UInt32
  public var index: UInt32
  public var run: UInt32
  /// The direct dependencies, in order of addition.
  public var inputs: [Seen]
  /// The bound property: set explicitly, or the first dependency's that has such a value.
  public var input: Int?

  /// One dependency, as the dependent sees it.
  public struct Seen: Codable, Hashable, Sendable {
    public var name: String
    public var outcome: String
    public var value: Int?
    public init(name: String, outcome: Outcome, value: Int?) {
      self.name = name
      self.outcome = "\(outcome)"
      self.value = value
    }
  }
}

/// Returns what its context shows.
public struct Look: RegisteredOperation {
  public static let typeName = "conformance.look"
  @Input public var input: Int?
  public init(input: Int? = nil) { _input = Input(wrappedValue: input) }

  public func main(_ context: OperationContext) async throws -> Sight {
    let inputs = context.dependencies.map { dependency in
      Sight.Seen(
        name: dependency.name, outcome: dependency.outcome,
        value: try? context.output(of: dependency.operation, as: Int.self))
    }
    return Sight(
      queue: context.queueName, name: context.name, graph: context.operation.graph.number,
      index: context.operation.index, run: context.run, inputs: inputs, input: input)
  }
}

/// Cannot do without a number: where no dependency left one, its main is not run.
public struct Needy: RegisteredOperation {
  public static let typeName = "conformance.needy"
  @RequiredInput public var number: Int
  public var sink: String
  public var text: String
  public init(sink: String, text: String) {
    self.sink = sink
    self.text = text
  }

  public func main(_ context: OperationContext) async throws -> Int {
    try SinkConversation(sink, context).say(text)
    return number
  }
}
