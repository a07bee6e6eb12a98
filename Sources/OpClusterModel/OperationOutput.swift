// An operation's output for its dependents, in one envelope: texts for commands, a typed value for
// registered operations. Opaque to the coordinator.

/// The output of an operation.
public struct OperationOutput: Hashable, Sendable {
  /// `key=value` lines of a command's `OP_OUTPUT`, or the scalar fields of a typed value.
  public var pairs: [Pair]
  /// The unqualified name of the value's type; empty if there are only pairs.
  public var typeName: String
  /// The value, as JSON; empty if it lies in a store.
  public var value: [UInt8]
  /// What lies in stores, at most `Limits.contentsPerOutput`.
  public var contents: [StoredContent] = []
  /// The position of the value among the contents; nil: it is here.
  public var valueContent: Int?
  public init(pairs: [Pair] = [], typeName: String = "", value: [UInt8] = []) {
    self.pairs = pairs
    self.typeName = typeName
    self.value = value
  }

  public struct Pair: Hashable, Sendable {
    public var key: String
    public var value: String
    public init(key: String, value: String) {
      self.key = key
      self.value = value
    }
  }
}
