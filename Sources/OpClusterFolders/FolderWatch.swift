// Reports changes in a folder, as far as the kernel does. Any thread.

import Glibc

/// Whether a folder may have changed since the last check, without frequent polling.
///
/// The kernel reports changes at once; where it cannot (network folders, no watches left), the
/// owner must check from time to time.
public final class FolderWatch: Sendable {
  /// Readable after a change; -1 if the kernel does not report changes.
  public let descriptor: Int32

  /// Watches for files that are moved into the folder, written or removed.
  public init(_ folder: PrivateFolder) {
    let watch = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
    let changes = IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE | IN_ATTRIB
    if watch >= 0, unsafe inotify_add_watch(watch, folder.path, UInt32(changes)) < 0 {
      // Usually no watches are left: a descriptor that never reports would be trusted.
      close(watch)
      descriptor = -1
    } else {
      descriptor = watch
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Takes the kernel's reports; true if there were any.
  public func takeChanges() -> Bool {
    guard descriptor >= 0 else { return false }
    var buffer = [UInt8](repeating: 0, count: 4_096)
    var hasChanged = false
    while unsafe read(descriptor, &buffer, buffer.count) > 0 { hasChanged = true }
    return hasChanged
  }
}
