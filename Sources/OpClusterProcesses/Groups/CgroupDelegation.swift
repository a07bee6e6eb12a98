// Prepares a cgroup v2 folder to limit its children. The kernel allows that only if the folder has
// no process of its own, so the worker has to move aside. Used once, when a host is made.

import CProcess
import Glibc

package enum CgroupDelegation {
  typealias Controller = CgroupHierarchy.Controller

  /// Enables the wanted controllers of the parent folder `home` in `path` and in its folder for
  /// exclusive operations. Returns the enabled ones.
  static func enable(
    _ wanted: [Controller], from home: String, _ path: String, movesSelf: Bool
  ) -> [Controller] {
    let names = enable(
      wanted.map(\.rawValue), from: home, movesSelf: movesSelf,
      in: [path, path + "/" + ProcessGroups.exclusiveName])
    return wanted.filter { names.contains($0.rawValue) }
  }

  /// Enables controllers by the kernel's names.
  package static func enable(
    _ wanted: [String], from home: String, movesSelf: Bool, in folders: [String]
  ) -> [String] {
    let given = words(in: home + "/cgroup.controllers")
    let names = wanted.filter(given.contains)
    guard !names.isEmpty else { return [] }
    let text = names.map { "+" + $0 }.joined(separator: " ")
    let switches = [home] + folders
    guard turnOn(text, in: home, movesSelf: movesSelf) else { return [] }
    for folder in folders where !write(text, folder + "/cgroup.subtree_control") { return [] }
    return names.filter { name in
      switches.allSatisfy { words(in: $0 + "/cgroup.subtree_control").contains(name) }
    }
  }

  private static func turnOn(_ text: String, in home: String, movesSelf: Bool) -> Bool {
    if write(text, home + "/cgroup.subtree_control") { return true }
    guard errno == EBUSY, movesSelf else { return false }
    let own = home + "/" + ProcessGroups.ownName
    guard unsafe mkdir(own, 0o755) == 0 || errno == EEXIST,
      write("\(getpid())", own + "/cgroup.procs")
    else { return false }
    if write(text, home + "/cgroup.subtree_control") { return true }
    // Other processes are in the folder, so the worker may not divide it.
    _ = write("\(getpid())", home + "/cgroup.procs")
    unsafe rmdir(own)
    return false
  }

  private static func write(_ text: String, _ path: String) -> Bool {
    Descriptor.open(path, O_WRONLY)?.write(Array(text.utf8)) ?? false
  }

  private static func words(in path: String) -> [String] {
    let bytes = Descriptor.open(path, O_RDONLY)?.read(upTo: 4_096) ?? []
    return String(decoding: bytes, as: UTF8.self).split { $0 == " " || $0 == "\n" }
      .map(String.init)
  }
}
