// Tells of changes in a folder, as far as the kernel does. Any thread.

import Glibc

/// Whether something in a folder may have changed since the last look, without looking at it often.
///
/// The kernel tells at once; where it cannot (network folders, no watches left), the owner looks
/// itself now and then.
public final class FolderWatch: Sendable {
  /// Readable when something has changed; -1 where the kernel does not tell.
  public let descriptor: Int32

  /// Watches for files that are put in place, written or removed.
  public init(_ folder: PrivateFolder) {
    let watch = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
    let changes = IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE | IN_ATTRIB
    if watch >= 0, unsafe inotify_add_watch(watch, folder.path, UInt32(changes)) < 0 {
      // None are left, as a rule: a descriptor that never tells would be believed.
      close(watch)
      descriptor = -1
    } else {
      descriptor = watch
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Takes what the kernel has to tell: whether there was anything.
  public func takeChanges() -> Bool {
    guard descriptor >= 0 else { return false }
    var buffer = [UInt8](repeating: 0, count: 4_096)
    var hasChanged = false
    while unsafe read(descriptor, &buffer, buffer.count) > 0 { hasChanged = true }
    return hasChanged
  }
}
