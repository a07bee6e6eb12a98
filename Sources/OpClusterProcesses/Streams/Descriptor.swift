// Owns one file descriptor, with the system calls that this module needs. Used by every file of the
// module, on the thread of its owner.

import CProcess
import Glibc
import OpClusterSystem

/// An open file descriptor, closed when its owner releases it. Always close-on-exec.
struct Descriptor: ~Copyable {
  let number: Int32

  init(_ number: Int32) {
    self.number = number
  }

  deinit {
    close(number)
  }

  /// Opens a path as it is; on nil `errno` tells why.
  static func open(_ path: String, _ flags: Int32, mode: mode_t = 0) -> Descriptor? {
    opened(unsafe Glibc.open(path, flags | O_CLOEXEC, mode))
  }

  /// Opens a name in this folder.
  func open(_ name: String, _ flags: Int32, mode: mode_t = 0) -> Descriptor? {
    Self.opened(unsafe openat(number, name, flags | O_CLOEXEC, mode))
  }

  /// Writes all bytes; returns whether that succeeded.
  func write(_ bytes: [UInt8]) -> Bool {
    FileDescriptor(number).writeAll(bytes) == nil
  }

  /// Reads up to `limit` bytes from `offset`; use 0 for files of /proc and of cgroups.
  func read(upTo limit: Int, from offset: Int = 0) -> [UInt8]? {
    var count = 0
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: limit) { buffer, filled in
      while filled < limit {
        unsafe count = pread(
          number, buffer.baseAddress! + filled, limit - filled, offset + filled)
        if count < 0 && errno == EINTR { continue }
        guard count > 0 else { return }
        filled += count
      }
    }
    return count < 0 && bytes.isEmpty ? nil : bytes
  }

  /// The size in bytes of a regular file; nil for any other.
  var fileSize: Int? { regularFile.map { Int($0.st_size) } }

  /// The metadata of a regular file; nil for any other.
  var regularFile: stat? {
    var information = stat()
    guard unsafe fstat(number, &information) == 0 else { return nil }
    return information.st_mode & S_IFMT == S_IFREG ? information : nil
  }

  private static func opened(_ number: Int32) -> Descriptor? {
    number < 0 ? nil : Descriptor(number)
  }
}
