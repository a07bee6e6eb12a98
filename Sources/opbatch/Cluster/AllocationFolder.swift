// An allocation on disk: a private folder with its settings, its status, its log and the output of
// its jobs. Commands and follower talk through it.

import FoundationEssentials
import OpClusterAllocation
import OpClusterFolders
import OpClusterModel
import OpClusterPresentation

/// The folder of an allocation of this user.
struct AllocationFolder {
  /// What a command asks of the follower.
  enum Request: String {
    case start
    /// Take back what waits, let workers drain, and forget the allocation.
    case remove
    /// The same, without a drain.
    case removeAtOnce = "remove-at-once"
  }

  let name: String
  let folder: PrivateFolder

  /// The folder of this user's allocations.
  static var ownParent: String { UserFolders.stateOrTemporary + "/allocations" }
  private static let settingsName = "settings.json"
  private static let statusName = "status.json"
  private static let requestName = "request"
  static let logName = "allocation.log"

  private let parent: PrivateFolder

  init(_ name: String, in parent: String = ownParent) {
    self.name = name
    self.parent = PrivateFolder(parent)
    folder = PrivateFolder("\(parent)/\(name)")
  }

  /// All of this user, by name.
  static func listAll(in parent: String = ownParent) throws -> [AllocationFolder] {
    let folder = PrivateFolder(parent)
    guard folder.exists else { return [] }
    try folder.check()
    let names = (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
    return names.sorted().map { AllocationFolder($0, in: parent) }
      .filter { (try? $0.readSettings()) != nil }
  }

  /// The one of a name.
  static func existing(
    _ name: String, in parent: String = ownParent
  ) throws -> AllocationFolder {
    let names = try listAll(in: parent).map(\.name)
    guard names.contains(name) else {
      throw Failure(
        .nothingSelected, code: "unknown_allocation", "there is no allocation '\(safe(name))'",
        hint: names.isEmpty
          ? "'opbatch alloc add slurm' makes one" : "there are \(names.joined(separator: ", "))")
    }
    return AllocationFolder(name, in: parent)
  }

  /// Whether a follower is at work.
  var isFollowed: Bool { folder.isInUse }

  func readSettings() throws -> AllocationSettings {
    guard let bytes = try folder.read(Self.settingsName, limit: Limits.allocationFileBytes),
      let settings = try? JSONDecoder().decode(AllocationSettings.self, from: Data(bytes))
    else {
      throw Failure(
        .internal, code: "bad_allocation", "the settings of '\(safe(name))' cannot be read",
        hint: "remove the folder \(safe(folder.path)) and add it again")
    }
    return settings
  }

  func record(_ settings: AllocationSettings) throws {
    try parent.make()
    try folder.make()
    try folder.replace(Self.settingsName, with: Array(try JSONEncoder().encode(settings)))
  }

  /// The newest status; a fresh one if there is none, or none that can be read.
  func readStatus() throws -> AllocationStatus {
    guard let bytes = try folder.read(Self.statusName, limit: Limits.allocationFileBytes),
      let status = try? JSONDecoder().decode(AllocationStatus.self, from: Data(bytes))
    else { return AllocationStatus() }
    return status
  }

  func record(_ status: AllocationStatus) throws {
    try folder.replace(Self.statusName, with: Array(try JSONEncoder().encode(status)))
  }

  /// What a job, or the follower, wrote; nil: nothing.
  func readLog(named file: String) throws -> String? {
    let bytes = try OpClusterFolders.OwnFiles.contents(
      ofTrusted: folder.file(file), limit: Limits.allocationLogBytes)
    return bytes.map { String(decoding: $0, as: UTF8.self) }
  }

  func leaveRequest(_ request: Request) throws {
    try folder.replace(Self.requestName, with: Array(request.rawValue.utf8))
  }

  /// Takes the request that waits, if there is one.
  func takeRequest() throws -> Request? {
    guard let bytes = try folder.read(Self.requestName, limit: 64) else { return nil }
    folder.remove(Self.requestName)
    return Request(rawValue: String(decoding: bytes, as: UTF8.self))
  }

  /// Removes it with the output of its jobs.
  func removeFolder() throws {
    try folder.check()
    try FileManager.default.removeItem(atPath: folder.path)
  }
}
