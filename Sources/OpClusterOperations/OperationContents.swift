// Values that are too large for a message: they lie in the store of a worker, as files that are
// mapped into memory where they are read. Any thread.

public import FoundationEssentials
public import OpClusterModel

/// Finds contents that were brought here; made by what runs an operation, or reads its output.
public struct OperationContents: Sendable {
  private let find: @Sendable (ContentDigest) throws -> Data?
  /// A file that is a part of a value; nil: there is no way to it.
  let file: @Sendable (StoredContent) -> OperationFile?

  /// - Parameters:
  ///   - find: The bytes of a value, mapped where it can be; nil: it is not here.
  ///   - file: A file that is a part of one; nil: there is no way to it.
  public init(
    _ find: @escaping @Sendable (ContentDigest) throws -> Data?,
    file: @escaping @Sendable (StoredContent) -> OperationFile? = { _ in nil }
  ) {
    self.find = find
    self.file = file
  }

  /// The contents in a folder, as files named by their digests.
  package init(in folder: String) {
    find = { digest in
      try Data(contentsOf: URL(filePath: "\(folder)/\(digest)"), options: .alwaysMapped)
    }
    file = { OperationFile(path: "\(folder)/\($0.digest)") }
  }

  /// There are none: a value that lies in a store cannot be read.
  public static let none = OperationContents { _ in nil }

  /// The JSON of an output's value, wherever it lies.
  /// - Throws: ``BadOutput`` if it is not here, or cannot be read.
  func valueData(of output: OperationOutput) throws(BadOutput) -> Data {
    guard let place = output.valueContent, place < output.contents.count else {
      return Data(output.value)
    }
    let content = output.contents[place]
    let found: Data?
    do {
      found = try find(content.digest)
    } catch {
      throw BadOutput("a value of \(content.size) bytes cannot be read: \(error)")
    }
    guard let found else {
      throw BadOutput(
        "a value of \(content.size) bytes lies in the store of a worker, and was not brought here")
    }
    return found
  }
}
