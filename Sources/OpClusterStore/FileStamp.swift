// How a file is recognised as the one that was checked before.

import Glibc

/// A file as it was at one moment: another file, and one that was written to since, has another
/// stamp. A stamp does not see a disk that changes bytes by itself.
struct FileStamp: Hashable, Sendable {
  var device: UInt64
  var inode: UInt64
  var size: Int64
  var seconds: Int64
  var nanoseconds: Int64

  private init(_ facts: stat) {
    device = UInt64(truncatingIfNeeded: facts.st_dev)
    inode = UInt64(truncatingIfNeeded: facts.st_ino)
    size = Int64(facts.st_size)
    seconds = Int64(facts.st_mtim.tv_sec)
    nanoseconds = Int64(facts.st_mtim.tv_nsec)
  }

  /// nil: it is no plain file of this user, or nothing.
  init?(descriptor: Int32) {
    var facts = stat()
    guard unsafe fstat(descriptor, &facts) == 0, Self.isOwnFile(facts) else { return nil }
    self.init(facts)
  }

  /// Of the path itself, not of what a link names; nil as above.
  init?(path: String) {
    var facts = stat()
    guard unsafe lstat(path, &facts) == 0, Self.isOwnFile(facts) else { return nil }
    self.init(facts)
  }

  private static func isOwnFile(_ facts: stat) -> Bool {
    facts.st_mode & S_IFMT == S_IFREG && facts.st_uid == geteuid()
  }
}
