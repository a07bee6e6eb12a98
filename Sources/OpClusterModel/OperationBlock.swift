// The blocks of a block operation (S118 to S123) and their results. The client makes the blocks,
// the worker runs them side by side; the coordinator treats both as opaque.

/// One block of a block operation.
public enum OperationBlock: Hashable, Sendable {
  case command(CommandSpecification)
  case call(OperationType, argument: [UInt8])
  /// A call whose argument is filled in when the attempt starts.
  case filledCall(OperationType, CallInput)
}

/// The result of one block, by position (S123).
public enum BlockResult: Hashable, Sendable {
  /// The block succeeded, with its encoded value or its `key=value` outputs.
  case succeeded([UInt8])
  /// The block failed, with the reason for people.
  case failed(String)
  /// The block had not begun when the cancellation reached the worker (S122).
  case skipped
}

extension OperationBlock {
  /// The type that the block calls; nil for a command.
  public var type: OperationType? {
    switch self {
    case .command: nil
    case .call(let type, _), .filledCall(let type, _): type
    }
  }
}
