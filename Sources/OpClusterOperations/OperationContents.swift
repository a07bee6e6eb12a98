// Values that are too large for a message: they lie in the store of a worker, as files that are
// mapped into memory where they are read. Any thread.

public import FoundationEssentials
public import OpClusterModel

/// Finds contents that were brought here; made by what runs an operation, or reads its output.
public struct OperationContents: Sendable {
  private let find: @Sendable (ContentDigest) throws -> Data?
  private let locate: @Sendable (ContentDigest) -> String?
  /// Whether the files stay for as long as they may be read.
  private let filesStay: Bool

  /// - Parameters:
  ///   - find: The bytes of a content, mapped where it can be; nil: it is not here.
  ///   - locate: The path of a content; nil: it is in no file of its own.
  public init(
    _ find: @escaping @Sendable (ContentDigest) throws -> Data?,
    at locate: @escaping @Sendable (ContentDigest) -> String? = { _ in nil }
  ) {
    self.find = find
    self.locate = locate
    filesStay = false
  }

  /// The contents in a folder, as files named by their digests, which stay.
  package init(in folder: String) {
    find = { digest in
      try Data(contentsOf: URL(filePath: "\(folder)/\(digest)"), options: .alwaysMapped)
    }
    locate = { "\(folder)/\($0)" }
    filesStay = true
  }

  /// There are none: a value that lies in a store cannot be read.
  public static let none = OperationContents { _ in nil }

  /// Where a file is, and its bytes if it may leave.
  /// - Throws: ``BadOutput`` if it is not here, or cannot be read.
  func file(_ content: StoredContent) throws(BadOutput) -> (path: String, mapped: Data?) {
    if filesStay, let path = locate(content.digest) { return (path, nil) }
    let data = try bytes(of: content, "a file")
    return (locate(content.digest) ?? "", data)
  }

  /// The JSON of an output's value, wherever it lies.
  /// - Throws: ``BadOutput`` if it is not here, or cannot be read.
  func valueData(of output: OperationOutput) throws(BadOutput) -> Data {
    guard let place = output.valueContent, place < output.contents.count else {
      return Data(output.value)
    }
    return try bytes(of: output.contents[place], "a value")
  }

  private func bytes(of content: StoredContent, _ what: String) throws(BadOutput) -> Data {
    let found: Data?
    do {
      found = try find(content.digest)
    } catch {
      throw BadOutput("\(what) of \(content.size) bytes cannot be read: \(error)")
    }
    guard let found else {
      throw BadOutput(
        "\(what) of \(content.size) bytes lies in the store of a worker, and was not brought here")
    }
    return found
  }
}
