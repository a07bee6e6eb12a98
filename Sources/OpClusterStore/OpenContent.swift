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

  /// Writes the bytes to a file, which appears as a whole: what was there stays until then.
  func copy(_ copy: ContentCopy) throws(StoreError) {
    do throws(StoreError) {
      try write(to: copy)
      if let code = copy.appear() {
        throw .machine(SystemError(action: "make \(copy.path)", code: code))
      }
    } catch {
      _ = unsafe unlink(copy.temporary)
      throw error
    }
  }

  private func write(to copy: ContentCopy) throws(StoreError) {
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let target = unsafe open(copy.temporary, flags, copy.obeysMask ? copy.mode : 0o600)
    guard target >= 0 else {
      throw .machine(SystemError(action: "make \(copy.path)", code: errno))
    }
    defer { close(target) }
    var offset: Int64 = 0
    while offset < content.size {
      guard copy.goesOn() else {
        throw .machine(SystemError(action: "write \(copy.path)", code: ECANCELED))
      }
      let bytes = try read(at: offset, most: Self.piece)
      if let error = FileDescriptor(target).writeAll(bytes) {
        throw .machine(SystemError(action: "write \(copy.path)", code: error.code))
      }
      offset += Int64(bytes.count)
    }
    if copy.obeysMask { return }
    guard fchmod(target, copy.mode) == 0 else {
      throw .machine(SystemError(action: "protect \(copy.path)", code: errno))
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
