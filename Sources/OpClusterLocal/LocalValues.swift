// Values that are too large for a message, in the memory of this process, and files that commands
// leave, in a folder of it: what the stores of workers are for a cluster of machines. Any thread.

import DequeModule
import FoundationEssentials
import OpClusterAttempts
import OpClusterModel
import OpClusterOperations
import OpClusterSystem
import Synchronization

/// The values, and which of them may be dropped.
final class LocalValues: Sendable {
  fileprivate struct Value {
    /// Of a file: mapped.
    var bytes: Data
    var path: String?
    /// No unfinished operation needs it.
    var isReleased = false
  }
  fileprivate struct State {
    var values: [ContentDigest: Value] = [:]
    /// In the order of their releases; some are retained again since.
    var line: Deque<ContentDigest> = []
    var releasedBytes = 0
    var lastNumber: UInt64 = 0
    /// The folder of the files; nil: there are none yet.
    var folder: String?
  }
  private let state = Mutex(State())
  /// Bytes of released values that are kept all the same, for programs that read outputs late.
  private let limit: Int

  init(limit: Int = Limits.releasedValueBytes) { self.limit = limit }

  deinit {
    state.withLock { state in
      guard let folder = state.folder else { return }
      Folders.removeTree(folder)
    }
  }

  /// Keeps a value under a name of its own. Nobody outside of this process hears the name, so that
  /// it need not follow from the bytes.
  func keep(_ bytes: [UInt8]) -> StoredContent {
    state.withLock { state in
      let digest = state.nextName()
      state.values[digest] = Value(bytes: Data(bytes))
      return StoredContent(digest: digest, size: Int64(bytes.count))
    }
  }

  /// Keeps a copy of an open file. It is not held in memory.
  private func keep(file descriptor: Int32) throws -> StoredContent {
    let (digest, path) = try state.withLock { state in
      let folder = try state.folder ?? TemporaryFolder.make(named: "opcluster-files")
      state.folder = folder
      return (state.nextName(), "\(folder)/\(state.lastNumber)")
    }
    do {
      try Folders.copy(descriptor, to: path)
      let bytes = try Data(contentsOf: URL(filePath: path), options: .alwaysMapped)
      state.withLock { $0.values[digest] = Value(bytes: bytes, path: path) }
      return StoredContent(digest: digest, size: Int64(bytes.count))
    } catch {
      Folders.removeFile(path)
      throw error
    }
  }

  func find(_ digest: ContentDigest) -> Data? { state.withLock { $0.values[digest]?.bytes } }

  /// The path of a file; nil: it is none, or has been dropped.
  func path(of digest: ContentDigest) -> String? { state.withLock { $0.values[digest]?.path } }

  /// The values as operations of this process read them.
  var contents: OperationContents {
    OperationContents({ [self] in find($0) }, at: { [self] in path(of: $0) })
  }

  /// Takes the files of operations of this process.
  var files: OperationFileStore { forAttempts.files }

  /// Lets go what nobody has heard of.
  func drop(_ digests: [ContentDigest]) {
    if digests.isEmpty { return }
    let paths = state.withLock { state in
      digests.compactMap { state.values.removeValue(forKey: $0)?.path }
    }
    for path in paths { Folders.removeFile(path) }
  }

  /// The values as processes of their own use them: through files.
  var forAttempts: AttemptStore {
    let store = AttemptStore(
      keepBytes: { [self] in keep($0) },
      keepFile: { [self] in try keep(file: $0) },
      link: { [self] digest, path, isExecutable in
        guard let value = find(digest) else { throw Dropped() }
        try value.write(to: URL(filePath: path), options: .withoutOverwriting)
        guard isExecutable else { return }
        try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: path)
      })
    store.mark(told: true)
    return store
  }

  private struct Dropped: Error, CustomStringConvertible {
    let description = "the value has been dropped"
  }

  /// Lets values go when there are more than the limit; returns those that have gone.
  func release(_ digests: [ContentDigest]) -> [ContentDigest] {
    state.withLock { state in
      for digest in digests {
        guard let value = state.values[digest], !value.isReleased else { continue }
        state.values[digest]?.isReleased = true
        state.line.append(digest)
        state.releasedBytes += value.bytes.count
      }
      var gone: [ContentDigest] = []
      while state.releasedBytes > limit, let first = state.line.popFirst() {
        guard let value = state.values[first], value.isReleased else { continue }
        state.values[first] = nil
        if let path = value.path { Folders.removeFile(path) }
        state.releasedBytes -= value.bytes.count
        gone.append(first)
      }
      return gone
    }
  }

  /// Keeps values that were released: something needs them again.
  func retain(_ digests: [ContentDigest]) {
    state.withLock { state in
      for digest in digests {
        guard let value = state.values[digest], value.isReleased else { continue }
        state.values[digest]?.isReleased = false
        state.releasedBytes -= value.bytes.count
      }
    }
  }
}

extension LocalValues.State {
  /// A name that follows from nothing: nobody outside of this process hears it.
  fileprivate mutating func nextName() -> ContentDigest {
    lastNumber += 1
    let number = (0..<8).map { UInt8(truncatingIfNeeded: lastNumber >> (56 - $0 * 8)) }
    let name = [UInt8](repeating: 0, count: ContentDigest.byteCount - 8) + number
    guard let digest = ContentDigest(bytes: name) else {
      preconditionFailure("a digest has \(ContentDigest.byteCount) bytes")
    }
    return digest
  }
}
