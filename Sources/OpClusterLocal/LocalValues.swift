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
    enum Place {
      case memory(Data)
      /// A file of the folder, mapped for each reader: a process may have so many mappings.
      case file(String)
    }
    var place: Place
    var size: Int
    /// No unfinished operation needs it.
    var isReleased = false

    var path: String? { if case .file(let path) = place { path } else { nil } }
  }
  /// Released ones, of memory or of the disk.
  fileprivate struct Line {
    /// In the order of their releases; some are retained again since.
    var digests: Deque<ContentDigest> = []
    var bytes = 0
  }
  fileprivate struct State {
    var values: [ContentDigest: Value] = [:]
    var memory = Line()
    var disk = Line()
    var lastNumber: UInt64 = 0
    /// The folder of the files; nil: there are none yet.
    var folder: String?
  }
  private let state = Mutex(State())
  /// Bytes of released values that are kept all the same, for programs that read outputs late: in
  /// memory, and in files.
  private let limit: Int
  private let fileLimit: Int

  init(limit: Int = Limits.releasedValueBytes, fileLimit: Int = Limits.releasedFileBytes) {
    self.limit = limit
    self.fileLimit = fileLimit
  }

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
      state.values[digest] = Value(place: .memory(Data(bytes)), size: bytes.count)
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
      guard let size = Folders.size(of: path) else { throw Dropped() }
      state.withLock { $0.values[digest] = Value(place: .file(path), size: Int(size)) }
      return StoredContent(digest: digest, size: size)
    } catch {
      Folders.removeFile(path)
      throw error
    }
  }

  func find(_ digest: ContentDigest) -> Data? {
    switch state.withLock({ $0.values[digest]?.place }) {
    case nil: nil
    case .memory(let bytes): bytes
    case .file(let path): try? Data(contentsOf: URL(filePath: path), options: .alwaysMapped)
    }
  }

  /// The path of a file; nil: it is none, or has been dropped.
  func path(of digest: ContentDigest) -> String? { state.withLock { $0.values[digest]?.path } }

  /// The values as this process reads them.
  var contents: OperationContents {
    OperationContents({ [self] in find($0) }, file: { [self] in file($0) })
  }

  /// A file; who looks at one that has been dropped is told.
  func file(_ content: StoredContent) -> OperationFile {
    OperationFile { [self] in
      guard let path = path(of: content.digest) else { throw Dropped() }
      return (path, nil)
    }
  }

  /// Takes the files of operations of this process. Each attempt has one, and few leave a file:
  /// what it takes is made then.
  var files: OperationFileStore {
    OperationFileStore { [self] path in try await forAttempts.files.keep(path) }
  }

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
      },
      drop: { [self] in drop($0.map(\.digest)) })
    store.mark(told: true)
    return store
  }

  private struct Dropped: Error, CustomStringConvertible {
    let description = "the value has been dropped"
  }

  /// Lets values go when there are more than the limit, but never the newest one; returns those
  /// that have gone.
  func release(_ digests: [ContentDigest]) -> [ContentDigest] {
    state.withLock { state in
      for digest in digests {
        guard let value = state.values[digest], !value.isReleased else { continue }
        state.values[digest]?.isReleased = true
        if value.path == nil {
          state.memory.add(digest, value.size)
        } else {
          state.disk.add(digest, value.size)
        }
      }
      return state.letGo(from: \.memory, beyond: limit)
        + state.letGo(from: \.disk, beyond: fileLimit)
    }
  }

  /// Keeps values that were released: something needs them again.
  func retain(_ digests: [ContentDigest]) {
    state.withLock { state in
      for digest in digests {
        guard let value = state.values[digest], value.isReleased else { continue }
        state.values[digest]?.isReleased = false
        if value.path == nil {
          state.memory.bytes -= value.size
        } else {
          state.disk.bytes -= value.size
        }
      }
    }
  }
}

extension LocalValues.Line {
  fileprivate mutating func add(_ digest: ContentDigest, _ size: Int) {
    digests.append(digest)
    bytes += size
  }
}

extension LocalValues.State {
  fileprivate mutating func letGo(
    from line: WritableKeyPath<Self, LocalValues.Line>, beyond limit: Int
  ) -> [ContentDigest] {
    var gone: [ContentDigest] = []
    while self[keyPath: line].bytes > limit, self[keyPath: line].digests.count > 1,
      let first = self[keyPath: line].digests.popFirst()
    {
      guard let value = values[first], value.isReleased else { continue }
      values[first] = nil
      if let path = value.path { Folders.removeFile(path) }
      self[keyPath: line].bytes -= value.size
      gone.append(first)
    }
    return gone
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
