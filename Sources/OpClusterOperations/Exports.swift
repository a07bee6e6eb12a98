// What an operation type needs of the words: one import is enough for a file that declares types,
// or tests them. By name, since other words are common ones.

@_exported public import struct Logging.Logger
@_exported public import struct OpClusterModel.AttemptID
@_exported public import struct OpClusterModel.DependencyInput
@_exported public import struct OpClusterModel.GraphID
@_exported public import struct OpClusterModel.OperationID
@_exported public import struct OpClusterModel.OperationType
@_exported public import enum OpClusterModel.Outcome
