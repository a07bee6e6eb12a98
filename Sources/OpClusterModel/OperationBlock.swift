// The blocks of a block operation (S118 to S123): what each runs, and what became of it. The client
// makes the blocks, the worker runs them side by side; to the coordinator both are opaque.

/// One block of a block operation.
public enum OperationBlock: Hashable, Sendable {
  case command(CommandSpecification)
  case call(OperationType, argument: [UInt8])
  /// Its argument is known when the attempt starts.
  case filledCall(OperationType, CallInput)
}

/// What became of one block, by its position (S123).
public enum BlockResult: Hashable, Sendable {
  /// It returned; with its encoded value, or its `key=value` outputs.
  case succeeded([UInt8])
  /// With what went wrong, for people.
  case failed(String)
  /// Not begun when the cancellation reached the worker (S122).
  case skipped
}

extension OperationBlock {
  /// What it calls; nil for a command.
  public var type: OperationType? {
    switch self {
    case .command: nil
    case .call(let type, _), .filledCall(let type, _): type
    }
  }
}
