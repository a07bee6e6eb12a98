// Owns a worker's folder in a cgroup hierarchy by a lock, which the kernel releases with the last
// process that had it. So the folder of an ended worker and guard can be distinguished from that of
// a living one, whatever killed them. Used when a host is made.

import CProcess
import Glibc

/// A folder of this run, made and locked as long as this object lives.
final class GroupHold {
  private let folder: Descriptor

  /// Returns nil if the folder cannot be made.
  init?(_ path: String) {
    // Between making and locking, a sweep may take the folder for an abandoned one.
    for _ in 0..<100 {
      guard Self.make(path) else { return nil }
      if let folder = Self.locked(path, LOCK_SH), Self.make(path),
        Self.place(folder.number) == Self.place(of: path)
      {
        self.folder = folder
        return
      }
      _ = poll(nil, 0, 5)
    }
    return nil
  }

  /// Opens and locks the folder; nil if another process has locked it.
  static func locked(_ path: String, _ way: Int32) -> Descriptor? {
    guard let folder = Descriptor.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW),
      flock(folder.number, way | LOCK_NB) == 0
    else { return nil }
    return folder
  }

  private static func make(_ path: String) -> Bool {
    for folder in [path, path + "/" + ProcessGroups.exclusiveName] {
      if unsafe mkdir(folder, 0o755) == 0 || errno == EEXIST { continue }
      // A sweep removed the folder in between: try again.
      if errno != ENOENT || folder == path { return false }
    }
    return true
  }

  private static func place(_ descriptor: Int32) -> UInt64? {
    var status = stat()
    return unsafe fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : nil
  }

  private static func place(of path: String) -> UInt64? {
    var status = stat()
    return unsafe stat(path, &status) == 0 ? UInt64(status.st_ino) : nil
  }
}

extension ProcessGroups {
  /// Kills and removes what earlier runs of the worker left in the hierarchies. Returns whether
  /// there was anything.
  static func removeLeftovers(worker: String) -> Bool {
    let prefix = ProcessFence.groupPrefix(worker)
    return remove {
      $0.hasPrefix(prefix) && $0.utf8.count == prefix.utf8.count + 16
    }
  }

  /// Kills and removes what ended workers of any name left if their guards have ended, too, as
  /// after the end of a container, or of a program with operations of its own. Returns whether some
  /// of it is still dying.
  static func removeAbandoned() -> Bool {
    remove(isAbandoned: true) { $0.hasPrefix(ProcessFence.groupPrefix) }
  }

  private static func remove(
    isAbandoned: Bool = false, where isWanted: (String) -> Bool
  ) -> Bool {
    var found = false
    func forEach(_ home: String, _ remove: (String) -> Int32) {
      for name in namesOfFolder(home) where isWanted(name) {
        let path = home + "/" + name
        // Keep the lock until the folder is gone, so that nobody else takes it.
        let lock = isAbandoned ? GroupHold.locked(path, LOCK_EX) : nil
        if isAbandoned, lock == nil { continue }
        let outcome = remove(path)
        // Another user's folder stays; a dying one needs another look.
        if !isAbandoned || outcome == EBUSY { found = true }
      }
    }
    if let home = CgroupHierarchy.unified()?.home {
      forEach(home) { path in
        _ = unsafe op_group_kill(path)
        return unsafe op_group_remove(path)
      }
    }
    for hierarchy in CgroupHierarchy.legacy() {
      forEach(hierarchy.home) { path in
        _ = unsafe op_legacy_kill(path)
        return unsafe op_group_remove(path)
      }
    }
    return found
  }
}
