// A content that is being read. Blocking; any thread.

import Glibc
package import OpClusterModel
import OpClusterSystem

/// The bytes of a content; readable as long as this object lives, whatever the store does.
package final class OpenContent: Sendable {
  private let descriptor: Int32
  package let content: StoredContent

  init(_ descriptor: Int32, _ content: StoredContent) {
    self.descriptor = descriptor
    self.content = content
  }

  deinit { close(descriptor) }

  /// At most so many bytes from a position; fewer only at the end, none behind it.
  package func read(at offset: Int64, most: Int) throws(StoreError) -> [UInt8] {
    let count = Int(clamping: min(Int64(most), max(content.size - max(offset, 0), 0)))
    var code: Int32 = 0
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let result = unsafe pread(
          descriptor, buffer.baseAddress! + filled, count - filled, Int(offset) + filled)
        if result > 0 {
          filled += result
        } else if result == 0 {
          code = EIO
          return
        } else if errno != EINTR {
          code = errno
          return
        }
      }
    }
    if code != 0 {
      throw .machine(
        SystemError(action: "read the content \(content.digest.short)", code: code))
    }
    return bytes
  }

  /// Writes the bytes to a new file, which others can read.
  func copy(to path: String, mode: mode_t) throws(StoreError) {
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let target = unsafe open(path, flags, 0o600)
    guard target >= 0 else { throw .machine(SystemError(action: "make \(path)", code: errno)) }
    defer { close(target) }
    var offset: Int64 = 0
    while offset < content.size {
      let bytes = try read(at: offset, most: Self.piece)
      if let error = FileDescriptor(target).writeAll(bytes) {
        throw .machine(SystemError(action: "write \(path)", code: error.code))
      }
      offset += Int64(bytes.count)
    }
    guard fchmod(target, mode) == 0 else {
      throw .machine(SystemError(action: "protect \(path)", code: errno))
    }
  }

  /// The digest of the bytes as they are.
  func computedDigest() throws(StoreError) -> ContentDigest {
    var hash = ContentHash()
    var offset: Int64 = 0
    while offset < content.size {
      let bytes = try read(at: offset, most: Self.piece)
      hash.add(bytes.span)
      offset += Int64(bytes.count)
    }
    return hash.digest()
  }

  private static let piece = 1 << 20
}
