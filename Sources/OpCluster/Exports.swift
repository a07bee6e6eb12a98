// One import suffices for a program that submits: the types of the API are exported by name. The
// rest of OpClusterModel is not: some of its names (`Span`, `Event`, `Priority`) are common, and
// `QualityOfService` is Foundation's, too. Those are available as members, such as
// `ClusterOperation.QueuePriority`; their own members (`.high`) need no import.

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
