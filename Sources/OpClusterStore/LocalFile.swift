// A file of somebody's own that is to be left in a store. Blocking; any thread.

import Glibc
public import OpClusterModel
import OpClusterSystem

/// A file as it was when its digest was made.
public struct LocalFile: Hashable, Sendable {
  public let path: String
  public let content: StoredContent

  init(_ path: String, _ content: StoredContent) {
    self.path = path
    self.content = content
  }

  /// Reads the whole file.
  package init(at path: String) throws(StoreError) {
    var reading = try FileReading(at: path)
    while try reading.step() > 0 {}
    self = reading.file()
  }

  /// Opens it to be read in pieces. If it has changed since, whoever gets the bytes will see it by
  /// their digest.
  package func open() throws(StoreError) -> OpenContent {
    OpenContent(try Self.descriptor(path), content)
  }

  fileprivate static func descriptor(_ path: String) throws(StoreError) -> Int32 {
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

/// Makes the digest of a file in steps, so that whoever waits for it can stop. Only a plain file is
/// read: anything else could wait, or never end.
package struct FileReading: ~Copyable {
  private let path: String
  private let descriptor: Int32
  private var hash = ContentHash()
  private var size: Int64 = 0
  private var buffer = [UInt8](repeating: 0, count: 1 << 20)

  package init(at path: String) throws(StoreError) {
    self.path = path
    descriptor = try LocalFile.descriptor(path)
  }

  deinit { close(descriptor) }

  /// Reads on, and returns the bytes that it has read; 0: the end is reached.
  package mutating func step() throws(StoreError) -> Int {
    // Taken out meanwhile: two parts of one value cannot be changed at once.
    var buffer: [UInt8] = []
    swap(&buffer, &self.buffer)
    defer { swap(&buffer, &self.buffer) }
    while true {
      let count = unsafe read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      if count < 0 { throw .machine(SystemError(action: "read \(path)", code: errno)) }
      hash.add(buffer.span.extracting(..<count))
      size += Int64(count)
      if size > Limits.contentBytes {
        throw .machine(SystemError(action: "read \(path)", code: EFBIG))
      }
      return count
    }
  }

  /// The file, once all of it has been read.
  package mutating func file() -> LocalFile {
    var read = ContentHash()
    swap(&read, &hash)
    return LocalFile(path, StoredContent(digest: read.digest(), size: size))
  }
}
