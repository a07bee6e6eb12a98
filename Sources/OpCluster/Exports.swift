// One import is enough for a program that submits: what the API mentions comes along, by name.
// The rest of OpClusterModel does not: some of its names (`Span`, `Event`, `Priority`) are common,
// and `QualityOfService` is Foundation's, too. Those are spelled as members, such as
// `ClusterOperation.QueuePriority`; their own members (`.high`) need no import of their own.

@_exported public import OpClusterOperations

@_exported public import class OpClusterClient.EmbeddedCluster
@_exported public import enum OpClusterModel.BlockResult
@_exported public import enum OpClusterModel.CancelReason
@_exported public import struct OpClusterModel.CancelVerdict
@_exported public import enum OpClusterModel.EdgePolicy
@_exported public import enum OpClusterModel.FailureCause
@_exported public import struct OpClusterModel.LabelRequirement
@_exported public import struct OpClusterModel.OperationRow
@_exported public import enum OpClusterModel.OperationTarget
@_exported public import struct OpClusterModel.ResourceAmount
@_exported public import struct OpClusterModel.Resources
@_exported public import struct OpClusterModel.RetryPolicy
@_exported public import struct OpClusterModel.Selection
