// Finds this process's place in the cgroup hierarchies of versions 2 and 1, from the kernel's
// tables. Pure except for reading them. Used by `ProcessGroups` when a host is made.

import Glibc

/// This process's folder in one hierarchy.
struct CgroupHierarchy: Equatable {
  /// The controllers of a version 1 hierarchy that are used here.
  enum Controller: String, CaseIterable {
    case memory, pids, freezer
  }

  /// The controllers of version 1; empty for version 2.
  var controllers: [Controller]
  /// The absolute path of this process's folder.
  var home: String

  /// The hierarchy of version 2; nil if there is none.
  static func unified() -> CgroupHierarchy? {
    tables().flatMap { unified(mounts: $0, memberships: $1) }
  }

  /// The hierarchies of version 1 that have one of the controllers.
  static func legacy() -> [CgroupHierarchy] {
    tables().map { legacy(mounts: $0, memberships: $1) } ?? []
  }

  private static func tables() -> (mounts: String, memberships: String)? {
    guard let mounts = Descriptor.open("/proc/self/mountinfo", O_RDONLY)?.read(upTo: 1 << 20),
      let memberships = Descriptor.open("/proc/self/cgroup", O_RDONLY)?.read(upTo: 64 << 10)
    else { return nil }
    return (String(decoding: mounts, as: UTF8.self), String(decoding: memberships, as: UTF8.self))
  }

  /// Finds it in the text of /proc/self/mountinfo and /proc/self/cgroup.
  static func unified(mounts: String, memberships: String) -> CgroupHierarchy? {
    guard let line = memberships.split(separator: "\n").first(where: { $0.hasPrefix("0::/") })
    else { return nil }
    return home(of: line.dropFirst(3), mounts) { $0.type == "cgroup2" }
      .map { CgroupHierarchy(controllers: [], home: $0) }
  }

  static func legacy(mounts: String, memberships: String) -> [CgroupHierarchy] {
    memberships.split(separator: "\n").compactMap { line in
      // The form of a line: 8:pids:/user.slice
      let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard fields.count == 3, fields[2].hasPrefix("/") else { return nil }
      let names = fields[1].split(separator: ",")
      let known = Controller.allCases.filter { names.contains(Substring($0.rawValue)) }
      guard let first = known.first else { return nil }
      let home = home(of: fields[2], mounts) {
        $0.type == "cgroup"
          && $0.options.split(separator: ",").contains(Substring(first.rawValue))
      }
      return home.map { CgroupHierarchy(controllers: known, home: $0) }
    }
  }

  private struct Mount {
    var root: Substring
    var path: Substring
    var type: Substring
    var options: Substring

    /// A line of mountinfo.
    init?(_ line: Substring) {
      let fields = line.split(separator: " ")
      guard let dash = fields.firstIndex(of: "-"), dash > 4, dash + 3 < fields.count else {
        return nil
      }
      root = fields[3]
      path = fields[4]
      type = fields[dash + 1]
      options = fields[dash + 3]
    }
  }

  /// Returns the path of the hierarchy's folder `own` as visible from here.
  private static func home(
    of own: Substring, _ mounts: String, where isWanted: (Mount) -> Bool
  ) -> String? {
    for line in mounts.split(separator: "\n") {
      guard let mount = Mount(line), isWanted(mount) else { continue }
      let root = mount.root == "/" ? "" : String(mount.root)
      guard own == root || own.hasPrefix(root + "/") else { continue }
      let inside = own.dropFirst(root.utf8.count)
      return unescaped(mount.path) + (inside == "/" ? "" : inside)
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
