// Operations that leave files, and operations that read them, in the worker's own process and in
// one of theirs.

import FoundationEssentials
public import OpClusterOperations

/// Two files, and a number beside them.
public struct TwoFiles: Codable, Sendable {
  public var lines: Int
  public var text: OperationFile
  public var parts: [OperationFile]
}

/// Leaves numbered lines in one file, and the halves of it in two others.
public struct LeaveFiles: RegisteredOperation {
  public static let typeName = "conformance.leave-files"
  public var lines: Int
  public init(lines: Int) { self.lines = lines }

  public func main(_ context: OperationContext) async throws -> TwoFiles {
    let folder = try context.scratchFolder()
    func file(_ name: String, _ numbers: Range<Int>) throws -> OperationFile {
      try Data(Self.text(numbers).utf8).write(to: URL(filePath: "\(folder)/\(name)"))
      return OperationFile(path: "\(folder)/\(name)")
    }
    return TwoFiles(
      lines: lines, text: try file("all", 0..<lines),
      parts: [try file("low", 0..<lines / 2), try file("high", lines / 2..<lines)])
  }

  public static func text(_ numbers: Range<Int>) -> String {
    numbers.map { "line \($0)\n" }.joined()
  }
}

/// Joins the halves that a dependency left, compares them with the whole, and leaves that again.
public struct JoinFiles: RegisteredOperation {
  public static let typeName = "conformance.join-files"
  @RequiredInput public var files: TwoFiles
  public init() {}

  public func main(_ context: OperationContext) async throws -> OperationFile {
    var joined = Data()
    for part in files.parts {
      for piece in try await part.pieces(of: 10_000) { joined += piece }
    }
    let expected = Data(LeaveFiles.text(0..<files.lines).utf8)
    guard try await files.text.data() == expected, joined == expected else { throw Different() }
    return files.text
  }
  struct Different: Error {}
}

/// The same in processes of their own.
public struct LeaveFilesApart: RegisteredOperation {
  public static let typeName = "conformance.leave-files-apart"
  public static let isolation = OperationIsolation.child
  public var lines: Int
  public init(lines: Int) { self.lines = lines }
  public func main(_ context: OperationContext) async throws -> TwoFiles {
    try await LeaveFiles(lines: lines).main(context)
  }
}

public struct JoinFilesApart: RegisteredOperation {
  public static let typeName = "conformance.join-files-apart"
  public static let isolation = OperationIsolation.child
  @RequiredInput public var files: TwoFiles
  public init() {}
  public func main(_ context: OperationContext) async throws -> OperationFile {
    try await JoinFiles(files: files).main(context)
  }
}

extension JoinFiles {
  fileprivate init(files: TwoFiles) { _files = RequiredInput(files) }
}

/// Leaves a file that is not there.
public struct LeaveNoFile: RegisteredOperation {
  public static let typeName = "conformance.leave-no-file"
  public init() {}
  public func main(_ context: OperationContext) async throws -> [OperationFile] {
    let path = try context.scratchFolder() + "/there"
    try Data("there".utf8).write(to: URL(filePath: path))
    return [OperationFile(path: path), OperationFile(path: path + "-not")]
  }
}

/// Leaves one behind the other the files that its graph names as inputs.
public struct AppendFiles: RegisteredOperation {
  public static let typeName = "conformance.append-files"
  public var paths: [String]
  public init(paths: [String]) { self.paths = paths }

  public func main(_ context: OperationContext) async throws -> AppendedFiles {
    var all = Data()
    for path in paths { all += try await context.inputFile(path).data() }
    let place = try context.scratchFolder() + "/all"
    try all.write(to: URL(filePath: place))
    return AppendedFiles(bytes: all.count, all: OperationFile(path: place))
  }
}

public struct AppendedFiles: Codable, Sendable {
  public var bytes: Int
  public var all: OperationFile
}

public struct AppendFilesApart: RegisteredOperation {
  public static let typeName = "conformance.append-files-apart"
  public static let isolation = OperationIsolation.child
  public var paths: [String]

  public func main(_ context: OperationContext) async throws -> AppendedFiles {
    try await AppendFiles(paths: paths).main(context)
  }
}
