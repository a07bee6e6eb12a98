// The table of files that operations have left.

public import OpClusterModel

/// A file with the operation that left it.
public struct LeftFile: Sendable {
  public var operation: OperationPath
  public var file: StoredFile

  public init(operation: OperationPath, file: StoredFile) {
    self.operation = operation
    self.file = file
  }

  /// As the manifest names it, with the place in a folder: `bam/1.bam`.
  public var shownName: String {
    file.path.isEmpty ? safe(file.name) : "\(safe(file.name))/\(safe(file.path))"
  }
}

/// - Parameter holders: The workers that have each content now.
public func fileTable(
  _ files: [LeftFile], _ holders: [ContentDigest: [String]]
) -> Table {
  var table = Table([
    .name("operation", shortest: 12), .text("file", shortest: 12), .number("size"),
    .text("sha256", dispensable: 2), .text("at", shortest: 8, dispensable: 1),
  ])
  for file in files {
    let content = file.file.content
    let workers = holders[content.digest] ?? []
    table.add([
      .init(file.operation.description), .init(file.shownName), .init(shownSize(content.size)),
      .init(String(content.digest.short), .faint),
      .init(workers.isEmpty ? "nobody now" : workers.joined(separator: " ")),
    ])
  }
  return table
}
