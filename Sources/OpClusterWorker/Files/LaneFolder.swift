// The folder of a `CommandLane`, below the folder for temporary files: for one process, and removed
// by it; where that process did not live to do it, or just ended, by the next one. Blocking.

import OpClusterProcesses

enum LaneFolder {
  private static let prefix = "opcluster-"

  static var fresh: String {
    let given = OwnProcess.variable("TMPDIR") ?? ""
    let base = given.hasPrefix("/") ? given : "/tmp"
    return "\(base)/\(prefix)\(MachineResources.processNumber)-"
      + String(UInt64.random(in: 0...UInt64.max), radix: 36)
  }

  /// Removes what processes of this user have left beside a folder and use no more. Costs a look at
  /// each name there, once in the life of a lane.
  static func removeAbandoned(beside folder: String) {
    guard let slash = folder.lastIndex(of: "/") else { return }
    let base = String(folder[..<slash])
    for name in Folders.names(in: base) where isName(name) && "\(base)/\(name)" != folder {
      if isAbandoned("\(base)/\(name)") { _ = Folders.removeTree("\(base)/\(name)") }
    }
  }

  /// `opcluster-PROCESS-RANDOM`
  private static func isName(_ name: String) -> Bool {
    guard name.hasPrefix(prefix) else { return false }
    let parts = name.dropFirst(prefix.count).split(
      separator: "-", omittingEmptySubsequences: false)
    return parts.count == 2 && !parts[0].isEmpty && parts[0].allSatisfy(\.isWholeNumber)
  }

  /// Long enough to be made and locked: nobody looks at one that is just being made.
  private static let youngest: Int64 = 60

  /// Of nobody else, not young, and locked neither by its process nor by a tree of processes.
  private static func isAbandoned(_ path: String) -> Bool {
    Folders.isOwnFolder(path) && Folders.age(of: path) ?? 0 > youngest
      && ["lock", "trees"].allSatisfy { Folders.isUnlocked("\(path)/\($0)") }
  }
}
