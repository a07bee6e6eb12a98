// The folder of a `CommandExecutor`, below the folder for temporary files. Its process removes it;
// if that process died first, a later one does. Blocking.

import OpClusterProcesses
import OpClusterSystem

enum ExecutorFolder {
  private static let prefix = "opcluster-"

  static var fresh: String {
    let given = OwnProcess.variable("TMPDIR") ?? ""
    let base = given.hasPrefix("/") ? given : "/tmp"
    return "\(base)/\(prefix)\(OwnProcess.number)-"
      + String(UInt64.random(in: 0...UInt64.max), radix: 36)
  }

  /// Returns the folders that ended processes of this user left beside a folder. Looks at each name
  /// there, once in the life of an executor.
  static func abandoned(beside folder: String) -> [String] {
    guard let slash = folder.lastIndex(of: "/") else { return [] }
    let base = String(folder[..<slash])
    return Folders.names(in: base).filter(isName).map { "\(base)/\($0)" }
      .filter { $0 != folder && isAbandoned($0) }
  }

  /// `opcluster-PROCESS-RANDOM`
  private static func isName(_ name: String) -> Bool {
    guard name.hasPrefix(prefix) else { return false }
    let parts = name.dropFirst(prefix.count).split(
      separator: "-", omittingEmptySubsequences: false)
    return parts.count == 2 && !parts[0].isEmpty && parts[0].allSatisfy(\.isWholeNumber)
  }

  /// In seconds. Without cgroups, a descendant of a killed program may still use the folder, and
  /// nobody can tell.
  private static let youngest: Int64 = 24 * 3_600

  /// Whether the folder is ours, old, and not locked by its process.
  private static func isAbandoned(_ path: String) -> Bool {
    Folders.isOwnFolder(path) && Folders.age(of: path) ?? 0 > youngest
      && Folders.isUnlocked("\(path)/lock")
  }
}
