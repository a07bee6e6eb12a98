// The creation and removal of an attempt's folder. The worker has its own implementation; other
// runners use these.

import FoundationEssentials

/// Creates and removes an attempt's folder, each at most once, on the operation's thread.
public struct OperationScratch: Sendable {
  let make: @Sendable () throws -> String
  let remove: @Sendable (String) -> Void

  /// - Parameters:
  ///   - make: Creates the folder and returns its path.
  ///   - remove: Removes it with its contents.
  public init(
    make: @escaping @Sendable () throws -> String, remove: @escaping @Sendable (String) -> Void
  ) {
    self.make = make
    self.remove = remove
  }

  /// No folders.
  public static let none = OperationScratch(
    make: { throw NoScratch() }, remove: { _ in })

  /// This folder, readable only by its owner; parent folders are created as well, and stay.
  public static func folder(_ path: String) -> OperationScratch {
    OperationScratch(
      make: {
        try FileManager.default.createDirectory(
          atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return path
      },
      remove: { try? FileManager.default.removeItem(atPath: $0) })
  }

  /// A new folder among the machine's temporary files, readable only by its owner.
  public static let temporary = OperationScratch(
    make: {
      let name = "opcluster-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
      let path = FileManager.default.temporaryDirectory.appending(path: name).path
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
      return path
    },
    remove: { try? FileManager.default.removeItem(atPath: $0) })
}

struct NoScratch: Error, CustomStringConvertible {
  var description: String { "what runs this operation gives it no folder; make one of your own" }
}
