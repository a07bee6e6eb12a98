// A file of somebody's own that is to be left in a store. Blocking; any thread.

import Glibc
public import OpClusterModel
import OpClusterSystem

/// A file as it was when its digest was made.
public struct LocalFile: Hashable, Sendable {
  public let path: String
  public let content: StoredContent

  /// Reads the whole file. Only a plain file is read: anything else could wait, or never end.
  package init(at path: String) throws(StoreError) {
    let descriptor = try Self.descriptor(path)
    defer { close(descriptor) }
    var hash = ContentHash()
    var size: Int64 = 0
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      let count = unsafe read(descriptor, &buffer, buffer.count)
      if count == 0 { break }
      if count < 0, errno == EINTR { continue }
      if count < 0 { throw .machine(SystemError(action: "read \(path)", code: errno)) }
      hash.add(buffer.span.extracting(..<count))
      size += Int64(count)
      if size > Limits.contentBytes {
        throw .machine(SystemError(action: "read \(path)", code: EFBIG))
      }
    }
    self.path = path
    content = StoredContent(digest: hash.digest(), size: size)
  }

  /// Opens it to be read in pieces. If it has changed since, whoever gets the bytes will see it by
  /// their digest.
  package func open() throws(StoreError) -> OpenContent {
    OpenContent(try Self.descriptor(path), content)
  }

  private static func descriptor(_ path: String) throws(StoreError) -> Int32 {
    let descriptor: Int32
    do throws(SystemError) {
      descriptor = try FileTree.descriptor(path, followsLinks: true)
    } catch {
      throw .machine(error)
    }
    var facts = stat()
    guard unsafe fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw .machine(
        SystemError(action: "read \(path)", code: EINVAL, advice: "it is no plain file"))
    }
    return descriptor
  }
}
