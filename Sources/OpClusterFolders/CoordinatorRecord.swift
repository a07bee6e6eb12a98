// The address of a running coordinator, for commands of the same user on the same machine without a
// configured one. Stored in the folder of its journal. Blocking; any thread.

import Glibc
import OpClusterSystem

/// The record that `opcoord serve` keeps in the folder of its journal while it serves.
public struct CoordinatorRecord: Hashable, Sendable {
  /// The address for clients on this machine.
  public var client: String
  /// The machine and its boot: a home may be shared by many machines.
  var machine: String

  public init(client: String) {
    self.client = client
    machine = Self.thisMachine
  }

  /// The default folder of the journal of a user's coordinator.
  public static var defaultFolder: String { "\(UserFolders.state)/opcluster/coordinator" }

  private static let name = "serving"
  private static let longest = 4_096

  /// Keeps the record while the value lives, and no longer than the process.
  public func keep(in folder: String) throws(FolderError) -> FolderLock {
    try PrivateFolder(folder).hold(Self.name, with: Array("\(client)\n\(machine)\n".utf8))
  }

  /// The record of a running process of this user on this machine; nil if there is none.
  ///
  /// - Throws: An error if others could have written it.
  public static func current(
    in folder: String = defaultFolder
  ) throws(FolderError) -> CoordinatorRecord? {
    // The folder is the journal's, and is checked as such: own links are followed.
    let place = PrivateFolder(folder)
    guard case .success = FileFacts.of(place.file(name)) else { return nil }
    if let problem = TrustedPath.problem(ofFolder: folder) { throw problem }
    let path = place.file(name)
    guard let bytes = try OwnFiles.contents(ofPrivate: path, limit: longest), place.isLocked(name)
    else { return nil }
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    guard lines.count == 2, !thisMachine.isEmpty, lines[1] == thisMachine else { return nil }
    return CoordinatorRecord(client: lines[0])
  }

  /// The boot and the network of this machine: containers share the former and not the latter.
  /// Empty if they are unknown.
  private static let thisMachine: String = {
    var name = [CChar](repeating: 0, count: 64)
    let length = unsafe readlink("/proc/self/ns/net", &name, name.count)
    let identity = FileDescriptor.text(ofKernelFile: "/proc/sys/kernel/random/boot_id")
    guard length > 0, let start = identity?.prefix(while: { $0 > " " }) else { return "" }
    let network = name.prefix(length).map(UInt8.init(bitPattern:))
    return "\(start)/\(String(decoding: network, as: UTF8.self))"
  }()
}
