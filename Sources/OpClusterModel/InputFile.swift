// The files that an operation reads, of its dependencies and of its submitter, as a submission
// names them. Values.

/// An output file of a dependency that an operation reads, or a file of the submitter.
public struct InputFile: Hashable, Sendable {
  /// The name of the dependency in its graph, or ``submitter``.
  public var operation: String
  /// The name of the output, as the dependency declares it.
  public var file: String
  /// The folder in `OP_INPUTS`: the dependency as the submitter calls it. Not used for files of the
  /// submitter, which have none.
  public var folder: String
  /// Whether each element of the dependency has a folder of its own in it, by its index.
  public var isByIndex: Bool

  public init(operation: String, file: String, folder: String, isByIndex: Bool) {
    self.operation = operation
    self.file = file
    self.folder = folder
    self.isByIndex = isByIndex
  }

  /// In place of a dependency, for files of `OperationTemplate.ownFiles`. No operation has this
  /// name.
  public static let submitter = "."

  /// A file of the submitter.
  public static func own(_ name: String) -> InputFile {
    InputFile(operation: submitter, file: name, folder: submitter, isByIndex: false)
  }
}
