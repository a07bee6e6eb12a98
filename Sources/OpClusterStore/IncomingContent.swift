// A content on its way into a store. Blocking; one thread at a time.

import Glibc
package import OpClusterModel
import OpClusterSystem

/// A file that becomes a content once all of its bytes have come. It is removed with this object
/// unless it was finished.
package final class IncomingContent {
  private let store: ContentStore
  private let path: String
  /// −1 until the first bytes come: many contents may wait for theirs.
  private var descriptor: Int32 = -1
  private let expected: StoredContent?
  private var hash = ContentHash()
  private var promised: Int64
  private var isFinished = false
  /// The number of bytes that have come.
  package private(set) var size: Int64 = 0

  init(
    for store: ContentStore, at path: String, _ expected: StoredContent?, promised: Int64
  ) {
    self.store = store
    self.path = path
    self.expected = expected
    self.promised = promised
  }

  deinit {
    if descriptor >= 0 {
      close(descriptor)
      if !isFinished { _ = unsafe unlink(path) }
    }
    if !isFinished { store.release(promised) }
  }

  private func openFile() throws(StoreError) {
    if descriptor >= 0 { return }
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    descriptor = unsafe open(path, flags, 0o600)
    if descriptor < 0 { throw .machine(SystemError(action: "make \(path)", code: errno)) }
  }

  /// Adds the next bytes.
  ///
  /// - Throws: `different` as soon as there are more than announced; `full` if they were not
  ///   announced and there is no room for them.
  package func append(_ bytes: Swift.Span<UInt8>) throws(StoreError) {
    let total = size + Int64(bytes.count)
    if let expected, total > expected.size {
      throw .different(
        expected: expected, found: StoredContent(digest: expected.digest, size: total))
    }
    if total > promised {
      // In steps, so that small pieces do not each ask.
      let more = max(total - promised, Self.step)
      do throws(StoreError) {
        try store.promise(more, isNew: false)
        promised += more
      } catch {
        try store.promise(total - promised, isNew: false)
        promised = total
      }
    }
    try openFile()
    try write(bytes)
    hash.add(bytes)
    size = total
  }

  private static let step: Int64 = 1 << 20

  private func write(_ bytes: Swift.Span<UInt8>) throws(StoreError) {
    var written = 0
    while written < bytes.count {
      let rest = bytes.extracting(written...)
      let count = unsafe rest.withUnsafeBufferPointer { buffer in
        unsafe Glibc.write(descriptor, buffer.baseAddress, buffer.count)
      }
      if count > 0 {
        written += count
      } else if count == 0 || errno != EINTR {
        throw .machine(SystemError(action: "write \(path)", code: count == 0 ? EIO : errno))
      }
    }
  }

  /// Makes it a content of the store, which has to stay until `letGo`.
  ///
  /// - Throws: `different` if what came is not what was announced.
  package func finish() throws(StoreError) -> StoredContent {
    precondition(!isFinished, "a content is finished once")
    var hash = ContentHash()
    swap(&hash, &self.hash)
    let found = StoredContent(digest: hash.digest(), size: size)
    if let expected, expected != found { throw .different(expected: expected, found: found) }
    try openFile()
    // Nobody writes to it again; operations that get a link to it can read it.
    guard fchmod(descriptor, 0o444) == 0 else {
      throw .machine(SystemError(action: "protect \(path)", code: errno))
    }
    try store.take(found, from: path, FileStamp(descriptor: descriptor))
    isFinished = true
    store.release(promised)
    return found
  }
}
