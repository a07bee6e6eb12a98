// Operations for the cases about where and how urgently something runs (S55, S61, S128).

public import OpClusterOperations

/// Writes its text, and returns the priority of the task that it runs in.
public struct Urgency: Marking {
  public static let typeName = "conformance.urgency"
  public var sink: String
  public var text: String
  public init(sink: String, text: String) {
    self.sink = sink
    self.text = text
  }

  public func main(_ context: OperationContext) async throws -> UInt8 {
    try leaveMark(context)
    return Task.currentPriority.rawValue
  }
}

/// As `Mark`, but only a worker that was started with the label `Rare.label` has it.
public struct Rare: Marking {
  public static let typeName = "conformance.rare"
  /// What `--label` of the worker program must say.
  public static let label = "conformance=rare"
  public var sink: String
  public var text: String
  public init(sink: String, text: String) {
    self.sink = sink
    self.text = text
  }
}
