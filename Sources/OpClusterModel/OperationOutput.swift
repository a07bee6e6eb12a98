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
  /// What lies in stores besides the files. With them at most `Limits.contentsPerOutput`.
  public var contents: [StoredContent] = []
  /// The position of the value among the contents; nil: it is here.
  public var valueContent: Int?
  /// The files that it left, all in stores.
  public var files: [StoredFile] = []
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

/// A file that an operation has left: a declared output file as a whole, or a part of one that is a
/// folder or a pattern.
public struct StoredFile: Hashable, Sendable {
  /// The name of the output, as its operation declares it; not empty.
  public var name: String
  /// Its place in the output's folder, as ``RelativePath`` has it; empty: the output is this file.
  public var path: String
  public var isExecutable: Bool
  public var content: StoredContent

  public init(name: String, path: String, isExecutable: Bool, content: StoredContent) {
    self.name = name
    self.path = path
    self.isExecutable = isExecutable
    self.content = content
  }
}
