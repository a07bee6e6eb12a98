// Where a coordinator serves, for commands of the same user on the same machine that are told of
// no other. Kept in the folder of its journal. Blocking; any thread.

import Glibc

/// What `opcoord serve` leaves in the folder of its journal while it serves.
public struct CoordinatorRecord: Hashable, Sendable {
  /// Where clients on this machine connect to.
  public var client: String
  /// Which start of which machine: a home may be on many.
  var machine: String

  public init(client: String) {
    self.client = client
    machine = Self.thisMachine
  }

  /// Where the journal of a user's coordinator is, unless somebody says otherwise.
  public static var defaultFolder: String { "\(UserFolders.state)/opcluster/coordinator" }

  private static let name = "serving"
  private static let longest = 4_096

  /// Says so for as long as the value lives, and no longer than the process does.
  public func keep(in folder: String) throws(FolderError) -> FolderLock {
    try PrivateFolder(folder).hold(Self.name, with: Array("\(client)\n\(machine)\n".utf8))
  }

  /// What is said by a process of this user that still runs, on this machine; nil if there is none.
  ///
  /// - Throws: where others could have written it.
  public static func current(
    in folder: String = defaultFolder
  ) throws(FolderError) -> CoordinatorRecord? {
    // The folder is the journal's, and looked at as that is: links of ours lead on.
    let place = PrivateFolder(folder)
    guard case .success = FileFacts.of(place.file(name)) else { return nil }
    if let problem = TrustedPath.problem(ofFolder: folder) { throw problem }
    let path = place.file(name)
    guard let bytes = try OwnFiles.contents(ofPrivate: path, limit: longest), place.isHeld(name)
    else { return nil }
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    guard lines.count == 2, !thisMachine.isEmpty, lines[1] == thisMachine else { return nil }
    return CoordinatorRecord(client: lines[0])
  }

  /// Its start, and its network: containers share the one and not the other. Empty where nobody
  /// can tell.
  private static let thisMachine: String = {
    var name = [CChar](repeating: 0, count: 64)
    let length = unsafe readlink("/proc/self/ns/net", &name, name.count)
    let descriptor = unsafe open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
    guard length > 0, descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    var buffer = [UInt8](repeating: 0, count: 64)
    let count = unsafe read(descriptor, &buffer, buffer.count)
    let start = buffer.prefix(max(count, 0)).prefix { $0 > 0x20 }
    let network = name.prefix(length).map(UInt8.init(bitPattern:))
    return String(decoding: start + [UInt8(ascii: "/")] + network, as: UTF8.self)
  }()
}
