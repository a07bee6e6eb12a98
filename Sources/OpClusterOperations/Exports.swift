// The model types that an operation type needs: one import suffices for a file that declares or
// tests types. Exported by name, since other names of the model are common ones.

@_exported public import struct Logging.Logger
@_exported public import struct OpClusterModel.AttemptID
@_exported public import struct OpClusterModel.DependencyInput
@_exported public import struct OpClusterModel.GraphID
@_exported public import struct OpClusterModel.OperationID
@_exported public import struct OpClusterModel.OperationType
@_exported public import enum OpClusterModel.Outcome
