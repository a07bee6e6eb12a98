// The work of an operation after the lowering, for display.
// Joints are told apart for people alone: to the coordinator both are operations without work.

import OpClusterModel

/// The work of an operation, for display.
enum LoweredWork: Hashable, Sendable {
  case barrier
  case group
  case command(CommandSpecification)
  case call(OperationType)
  /// The blocks, and the values that each element gives to their commands.
  case blocks([OperationBlock], values: ElementArguments)
}
