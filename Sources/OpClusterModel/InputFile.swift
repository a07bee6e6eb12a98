// The files of its dependencies that an operation reads, as a submission names them. Values.

/// An output file of a dependency that an operation reads.
public struct InputFile: Hashable, Sendable {
  /// The name of the dependency in its graph.
  public var operation: String
  /// The name of the output, as the dependency declares it.
  public var file: String
  /// The folder in `OP_INPUTS`: the dependency as the submitter calls it.
  public var folder: String
  /// Whether each element of the dependency has a folder of its own in it, by its index.
  public var isByIndex: Bool

  public init(operation: String, file: String, folder: String, isByIndex: Bool) {
    self.operation = operation
    self.file = file
    self.folder = folder
    self.isByIndex = isByIndex
  }
}
