// The outside world of a manifest: two folders, the files for arrays, and variables. Given by the
// command; tests give their own.
// A compilation reads the outside world through this value alone, so that a test can give a
// manifest any folder, file or variable. Nothing here is written.

import FoundationEssentials
import OpClusterModel

/// Folders, files and variables around a manifest.
public struct Surroundings: Sendable {
  /// Absolute path from which relative paths in the manifest start: the manifest's folder, or the
  /// submitter's for a manifest from stdin.
  public var baseFolder: String
  /// Absolute path where commands without `workdir` run: the submitter's folder.
  public var workingFolder: String
  /// Reached for arrays, secrets and `env_file`; a file is read once per compilation
  /// (`Findings.file`).
  public var files: FileAccess
  /// Returns a variable of the submitter's environment. Used only for variables that the manifest
  /// declares secret or inherits.
  public var variable: @Sendable (String) -> String?
  /// `workingFolder` defaults to the manifest's folder, which suits tests and embedded use;
  /// commands give the folder in which they were started.
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

  /// Joins texts and looks at no disk: `..` and links stay as they are. Only a beginning `./` is
  /// taken off, so that two ways to write a file share one cache entry.
  func absolute(_ path: String) -> String {
    if path.hasPrefix("/") { return path }
    let trimmed = path.after("./") ?? path
    if trimmed.isEmpty || trimmed == "." { return baseFolder }
    return baseFolder.hasSuffix("/") ? baseFolder + trimmed : baseFolder + "/" + trimmed
  }
}

/// File access of a manifest.
/// A command gives the disk, a test a dictionary.
public struct FileAccess: Sendable {
  /// Maximum size of a file that is read, in bytes.
  /// The same as that of a manifest; a longer list of items would not fit a submission anyway.
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

  /// Size and kind are looked at before reading, so that a device or a pipe is never opened. The
  /// size is looked at again afterwards, since the file may have grown.
  public static let disk = FileAccess(
    // Attributes are those of a link itself, hence the walk to its target.
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
  /// A chain that is longer, or a circle, ends at a link, and is then refused as no regular file.
  private static func followed(_ path: String) -> String {
    var path = path
    for _ in 0..<16 {
      guard let next = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else {
        return path
      }
      // A relative link starts from the folder in which the link is.
      let folder = path.split(separator: "/").dropLast().joined(separator: "/")
      path = next.hasPrefix("/") ? next : "/\(folder)/\(next)"
    }
    return path
  }
}
