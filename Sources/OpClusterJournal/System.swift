// The system calls of a journal: folder, lock, files and free space. Used
// while opening, and by the inbox of the journal's thread.

import Glibc
import OpClusterFolders

enum SystemCode {
  static let noSpace = ENOSPC
  static let quota = EDQUOT
}

/// Holds the journal's lock file for one process; the system releases it when the process ends.
final class LockFile: Sendable {
  private let descriptor: Int32

  /// Throws `.inUse` with the holder's process id if another opener has it (F31).
  init(path: String) throws(JournalError) {
    // From here on a failed initializer ends in `deinit`, which closes it: a second close would
    // close what another thread has opened meanwhile.
    descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw .system("open", path, errno: errno) }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      let code = errno
      let holder = LockFile.holder(descriptor)
      if code == EWOULDBLOCK { throw .inUse(process: holder, path: path) }
      throw .system("flock", path, errno: code)
    }
    let text = Array("\(getpid())\n".utf8)
    guard ftruncate(descriptor, 0) == 0,
      unsafe text.withUnsafeBytes({ unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) })
        == text.count
    else { throw .system("write", path, errno: errno) }
  }

  deinit {
    if descriptor >= 0 { Glibc.close(descriptor) }
  }

  /// Releases the lock for the next opener.
  func release() {
    _ = flock(descriptor, LOCK_UN)
  }

  private static func holder(_ descriptor: Int32) -> Int32 {
    var text = [UInt8](repeating: 0, count: 16)
    let count = unsafe text.withUnsafeMutableBytes {
      unsafe pread(descriptor, $0.baseAddress, $0.count, 0)
    }
    let digits = text.prefix(max(0, count)).prefix { $0 >= 48 && $0 <= 57 }
    return Int32(String(decoding: digits, as: UTF8.self)) ?? 0
  }
}

/// Identifies a file regardless of its name, as long as the system runs.
struct FileIdentity: Sendable, Equatable {
  let device: UInt64
  let number: UInt64
}

/// A small file whose beginning is overwritten repeatedly.
final class WrittenFile {
  private let path: String
  private let descriptor: Int32

  /// Makes the file, or opens an existing one.
  init(_ path: String) throws(JournalError) {
    self.path = path
    descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw .system("open", path, errno: errno) }
  }

  deinit {
    Glibc.close(descriptor)
  }

  func write(_ bytes: [UInt8]) throws(JournalError) {
    let count = unsafe bytes.withUnsafeBytes {
      unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0)
    }
    guard count == bytes.count else {
      throw .system("write", path, errno: count < 0 ? errno : ENOSPC)
    }
  }
}

enum FileSystem {
  /// Makes the folder with mode 0700, or checks that only its owner can write to it, and that
  /// nobody can replace it (F59).
  static func makeFolder(_ path: String) throws(JournalError) {
    try checkPlace(path)
    if unsafe mkdir(path, 0o700) == 0 { return }
    guard errno == EEXIST else { throw .system("mkdir", path, errno: errno) }
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { throw .system("stat", path, errno: errno) }
    guard status.st_mode & S_IFMT == S_IFDIR else { throw .system("open", path, errno: ENOTDIR) }
    // Another process may have made it first.
    try checkPlace(path)
  }

  private static func checkPlace(_ path: String) throws(JournalError) {
    guard let error = TrustedPath.problem(ofFolder: path) else { return }
    throw .unsafeFolder(path, because: error.message, advice: error.hint)
  }

  /// Returns the size of a file in bytes; nil if there is none.
  static func size(_ path: String) -> UInt64? {
    var status = stat()
    return unsafe stat(path, &status) == 0 ? UInt64(status.st_size) : nil
  }

  /// The same, where a file that cannot be looked at must not pass for none; nil if there is none.
  static func knownSize(_ path: String) throws(JournalError) -> UInt64? {
    var status = stat()
    if unsafe stat(path, &status) == 0 { return UInt64(clamping: status.st_size) }
    if errno == ENOENT { return nil }
    throw .system("stat", path, errno: errno)
  }

  /// Returns a number of the file itself, regardless of its name. It stays the same after a restart
  /// of the machine; a copy has another. nil if there is no file.
  static func place(_ path: String) -> Int64? {
    var (status, disk) = (stat(), statvfs())
    guard unsafe stat(path, &status) == 0, unsafe statvfs(path, &disk) == 0 else { return nil }
    let mixed = UInt64(status.st_ino) &+ UInt64(disk.f_fsid) &* 0x9E37_79B9_7F4A_7C15
    return Int64(truncatingIfNeeded: mixed)
  }

  /// Identifies the file that has this name at present; nil if there is none.
  static func identity(_ path: String) -> FileIdentity? {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return nil }
    return FileIdentity(device: UInt64(status.st_dev), number: UInt64(status.st_ino))
  }

  /// Returns the first bytes of a file: fewer if it is shorter, none if it cannot be read.
  static func begin(of path: String, bytes: Int) -> [UInt8] {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return [] }
    defer { Glibc.close(descriptor) }
    var found = [UInt8](repeating: 0, count: bytes)
    let count = unsafe found.withUnsafeMutableBytes {
      unsafe read(descriptor, $0.baseAddress, $0.count)
    }
    return Array(found.prefix(max(0, count)))
  }

  /// Makes an empty file with mode 0600; empties an existing one.
  static func makeFile(_ path: String) throws(JournalError) {
    let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw .system("open", path, errno: errno) }
    Glibc.close(descriptor)
  }

  static func move(_ source: String, to target: String) throws(JournalError) {
    guard unsafe rename(source, target) == 0 else { throw .system("rename", target, errno: errno) }
  }

  /// Makes a file with preallocated room; false if the system cannot do that.
  static func allocate(_ path: String, bytes: UInt64) -> Bool {
    let flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW
    let descriptor = unsafe open(path, flags, 0o600)
    guard descriptor >= 0 else { return false }
    defer { Glibc.close(descriptor) }
    if posix_fallocate(descriptor, 0, off_t(clamping: bytes)) == 0 { return true }
    remove(path)
    return false
  }

  static func remove(_ path: String) {
    _ = unsafe unlink(path)
  }

  /// Removes a folder if it is empty.
  static func removeFolder(_ path: String) {
    _ = unsafe rmdir(path)
  }

  /// Makes a file's content, or a folder's names, survive a power loss.
  static func synchronize(_ path: String) throws(JournalError) {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .system("open", path, errno: errno) }
    defer { Glibc.close(descriptor) }
    guard fsync(descriptor) == 0 else { throw .system("fsync", path, errno: errno) }
  }

  /// Returns the bytes available to this user on the disk of `path`; nil if unknown.
  static func freeBytes(_ path: String) -> UInt64? {
    var status = statvfs()
    guard unsafe statvfs(path, &status) == 0 else { return nil }
    // A file system may report any numbers.
    let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(
      by: UInt64(status.f_frsize))
    return overflow ? .max : bytes
  }

  /// Lets the thread sleep.
  static func pause(milliseconds: Int) { usleep(UInt32(clamping: milliseconds * 1_000)) }

  /// Passes a file to `visit` in pieces. The first piece has `first` bytes; the answer of `visit`
  /// is the size of the next one, and nil ends the reading. The last piece may be shorter. Does
  /// nothing if the file does not exist.
  static func forEachPiece(
    of path: String, first: Int, _ visit: ([UInt8]) -> Int?
  ) throws(JournalError) {
    guard let file = unsafe fopen(path, "re") else {
      if errno == ENOENT { return }
      throw .system("open", path, errno: errno)
    }
    defer { unsafe fclose(file) }
    var next: Int? = first
    while let wanted = next {
      var piece = [UInt8](repeating: 0, count: wanted)
      let count = unsafe piece.withUnsafeMutableBytes {
        unsafe fread($0.baseAddress!, 1, wanted, file)
      }
      if unsafe ferror(file) != 0 { throw .system("read", path, errno: EIO) }
      if count == 0 { return }
      if count < wanted { piece.removeLast(wanted - count) }
      next = visit(piece)
      if count < wanted { return }
    }
  }
}
