// Owns the worker's folder in the cgroup v2 hierarchy and the pool of leaf groups in it, one per
// running operation. Used by `ProcessHost` on the loop thread.
//
// A leaf is made once and used again when it is empty: a start then pays for no mkdir, and
// being born in a group (CLONE_INTO_CGROUP) costs nothing measurable.

import CProcess
import Glibc

/// The cgroup of one operation: knows all its processes, racing forks included, and kills them
/// with one write.
final class ProcessGroup {
  let folder: Descriptor
  fileprivate let name: String
  /// Kernels kill at birth what is born into a group that was ever killed as a whole.
  fileprivate var wasKilled = false
  private let events: Descriptor

  fileprivate init?(_ name: String, in parent: borrowing Descriptor) {
    guard unsafe mkdirat(parent.number, name, 0o755) == 0 || errno == EEXIST,
      let folder = parent.open(name, O_RDONLY | O_DIRECTORY),
      let events = folder.open("cgroup.events", O_RDONLY)
    else { return nil }
    self.name = name
    self.folder = folder
    self.events = events
  }

  /// Whether any process, other than ended ones, is in the group. True when in doubt.
  var isPopulated: Bool { op_group_is_populated(events.number) }

  /// The processes of the group itself, at most some 9,000 of them.
  var processes: [Int32] {
    guard let file = folder.open("cgroup.procs", O_RDONLY) else { return [] }
    return numbers(file.read(upTo: 64 << 10) ?? [])
  }

  /// Sends SIGKILL to all, those that are just being forked too.
  func kill() {
    wasKilled = true
    _ = folder.open("cgroup.kill", O_WRONLY)?.write(Array("1".utf8))
  }
}

/// The worker's own part of the hierarchy.
final class ProcessGroups {
  /// The folder of this run of the worker, for the guard.
  let path: String
  private let folder: Descriptor
  private var free: [ProcessGroup] = []
  private var made = 0

  /// Nil if there is no cgroup v2 hierarchy that this process may write and that can kill.
  init?(fence: ProcessFence) {
    guard let home = Self.home() else { return nil }
    path = home + "/" + fence.groupName
    guard unsafe mkdir(path, 0o755) == 0 || errno == EEXIST else { return nil }
    guard let folder = Descriptor.open(path, O_RDONLY | O_DIRECTORY),
      folder.open("cgroup.kill", O_WRONLY) != nil
    else {
      unsafe rmdir(path)
      return nil
    }
    self.folder = folder
  }

  deinit {
    _ = unsafe op_group_remove(path)
  }

  /// An empty group; nil if none can be made.
  func take() -> ProcessGroup? {
    if let group = free.popLast() { return group }
    guard let group = ProcessGroup(String(made), in: folder) else { return nil }
    made += 1
    return group
  }

  /// Takes back a group that is empty, for use again unless it was killed.
  func give(_ group: ProcessGroup) {
    if group.wasKilled {
      // A folder that is still busy is removed together with its parent.
      _ = unsafe unlinkat(folder.number, group.name, AT_REMOVEDIR)
    } else {
      free.append(group)
    }
  }

  /// Kills and removes what earlier runs of the worker left in the hierarchy.
  static func removeLeftovers(worker: String) {
    guard let home = home() else { return }
    let prefix = ProcessFence.groupPrefix(worker)
    for name in namesOfFolder(home) where name.hasPrefix(prefix) {
      guard name.utf8.count == prefix.utf8.count + 16 else { continue }
      _ = unsafe op_group_kill(home + "/" + name)
      _ = unsafe op_group_remove(home + "/" + name)
    }
  }

  /// This process's own folder in the cgroup v2 hierarchy, wherever that is mounted.
  static func home() -> String? {
    guard let mounts = Descriptor.open("/proc/self/mountinfo", O_RDONLY)?.read(upTo: 1 << 20),
      let memberships = Descriptor.open("/proc/self/cgroup", O_RDONLY)?.read(upTo: 64 << 10)
    else { return nil }
    return home(
      mounts: String(decoding: mounts, as: UTF8.self),
      memberships: String(decoding: memberships, as: UTF8.self))
  }

  /// The same from the text of /proc/self/mountinfo and /proc/self/cgroup.
  static func home(mounts: String, memberships: String) -> String? {
    guard let line = memberships.split(separator: "\n").first(where: { $0.hasPrefix("0::/") })
    else { return nil }
    let own = String(line.dropFirst(3))
    for mount in mounts.split(separator: "\n") {
      let fields = mount.split(separator: " ")
      guard let dash = fields.firstIndex(of: "-"), dash > 4, dash + 1 < fields.count,
        fields[dash + 1] == "cgroup2"
      else { continue }
      let root = fields[3] == "/" ? "" : String(fields[3])
      guard own == root || own.hasPrefix(root + "/") else { continue }
      let inside = own.dropFirst(root.utf8.count)
      return unescaped(fields[4]) + (inside == "/" ? "" : inside)
    }
    return nil
  }

  /// Undoes the octal escapes of mountinfo, such as `\040` for a space.
  private static func unescaped(_ text: Substring) -> String {
    var result: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\\"), rest.count >= 3,
        let code = UInt8(String(decoding: rest.prefix(3), as: UTF8.self), radix: 8)
      {
        result.append(code)
        rest = rest.dropFirst(3)
      } else {
        result.append(byte)
      }
    }
    return String(decoding: result, as: UTF8.self)
  }
}
