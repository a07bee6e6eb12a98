// The changes of a queue for observers (S105): the counterpart of KVO's key paths.

public import OpClusterModel

/// One change of a queue (S105).
public struct OperationQueueChange: Hashable, Sendable {
  /// The position in the coordinator's single ordered log (S1).
  public var commit: UInt64
  public var kind: Kind

  public enum Kind: Hashable, Sendable {
    /// The value of `operations` has changed.
    case operations
    case operationCount(Int)
    case maxConcurrentOperationCount(Int)
    case isSuspended(Bool)
    case name(String)
    case pool([LabelRequirement])
  }
}
