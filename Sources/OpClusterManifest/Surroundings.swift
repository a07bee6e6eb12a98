// The outside world of a manifest: two folders, the files for arrays, and variables. Given by the
// command; tests give their own.

import FoundationEssentials
import OpClusterModel

/// Folders, files and variables around a manifest.
public struct Surroundings: Sendable {
  /// Absolute path from which relative paths in the manifest start: the manifest's folder, or the
  /// submitter's for a manifest from stdin.
  public var baseFolder: String
  /// Absolute path where commands without `workdir` run: the submitter's folder.
  public var workingFolder: String
  public var files: FileAccess
  /// Returns a variable of the submitter's environment. Used only for variables that the manifest
  /// declares secret or inherits.
  public var variable: @Sendable (String) -> String?
  public init(
    baseFolder: String, workingFolder: String? = nil, files: FileAccess = .disk,
    variable: @escaping @Sendable (String) -> String? = Surroundings.ownVariable
  ) {
    self.baseFolder = baseFolder
    self.workingFolder = workingFolder ?? baseFolder
    self.files = files
    self.variable = variable
  }

  /// Reads the environment of this process.
  public static let ownVariable: @Sendable (String) -> String? = {
    ProcessInfo.processInfo.environment[$0]
  }

  func absolute(_ path: String) -> String {
    if path.hasPrefix("/") { return path }
    let trimmed = path.after("./") ?? path
    if trimmed.isEmpty || trimmed == "." { return baseFolder }
    return baseFolder.hasSuffix("/") ? baseFolder + trimmed : baseFolder + "/" + trimmed
  }
}

/// File access of a manifest.
public struct FileAccess: Sendable {
  /// Maximum size of a file that is read, in bytes.
  public static let maximumBytes = 64 * 1024 * 1024
  /// Returns the bytes of a regular file by its absolute path, or the reason why it cannot be read.
  public var read: @Sendable (String) -> Result<[UInt8], Unreadable>
  /// Returns the names in a folder, without `.` and `..`; nil if it cannot be listed.
  public var list: @Sendable (String) -> [String]?
  public init(
    read: @escaping @Sendable (String) -> Result<[UInt8], Unreadable>,
    list: @escaping @Sendable (String) -> [String]?
  ) {
    self.read = read
    self.list = list
  }

  /// The reason why a file cannot be read, for people.
  public struct Unreadable: Error, Hashable, Sendable {
    public var reason: String
    public init(reason: String) { self.reason = reason }
  }

  public static let disk = FileAccess(
    read: { path in
      let target = followed(path)
      guard let facts = try? FileManager.default.attributesOfItem(atPath: target) else {
        return .failure(Unreadable(reason: "there is no such file"))
      }
      guard facts[.type] as? FileAttributeType == .typeRegular else {
        return .failure(Unreadable(reason: "it is not a regular file"))
      }
      if let size = facts[.size] as? UInt64, size > UInt64(maximumBytes) {
        return .failure(Unreadable(reason: "it is larger than 64 MiB"))
      }
      guard let data = FileManager.default.contents(atPath: target) else {
        return .failure(Unreadable(reason: "it cannot be read"))
      }
      guard data.count <= maximumBytes else {
        return .failure(Unreadable(reason: "it is larger than 64 MiB"))
      }
      return .success(Array(data))
    },
    list: { try? FileManager.default.contentsOfDirectory(atPath: $0) })

  /// Follows a chain of at most 16 symbolic links.
  private static func followed(_ path: String) -> String {
    var path = path
    for _ in 0..<16 {
      guard let next = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else {
        return path
      }
      let folder = path.split(separator: "/").dropLast().joined(separator: "/")
      path = next.hasPrefix("/") ? next : "/\(folder)/\(next)"
    }
    return path
  }
}
