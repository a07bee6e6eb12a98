// The contents that a worker has on its disk: files in a folder of its own, named by their digests.
// Blocking; any thread. `StoreIndex` says what may leave; `IncomingContent` writes; `OpenContent`
// reads.

import Glibc
import OpClusterFolders
package import OpClusterModel
import OpClusterSystem
import Synchronization

/// A folder of contents with a limit of bytes. A content appears as a whole, after its bytes were
/// compared with its digest, and its file is never written to again.
///
/// What lies in the folder at the start has to stay until `letGo`: the coordinator knows who needs
/// it. A crash leaves no half content under a digest that counts: what was there before this life
/// is compared with its digest before it is read.
package final class ContentStore: Sendable {
  private let folder: PrivateFolder
  private let index: Mutex<StoreIndex>
  private let lastName = Atomic<UInt64>(0)
  private let onLoss: @Sendable ([ContentDigest]) -> Void

  /// Opens the folder, makes it if there is none, and removes what is no content. Costs a look at
  /// each file. The folder must be this process's own: two stores in one would remove each other's
  /// files.
  ///
  /// - Parameter onLoss: Told of contents that have left, on the thread that made them leave.
  package init(
    folder path: String, limit: Int64, mostContents: Int = Limits.contentsPerStore,
    onLoss: @escaping @Sendable ([ContentDigest]) -> Void = { _ in }
  ) throws(StoreError) {
    self.onLoss = onLoss
    folder = PrivateFolder(path)
    do throws(FolderError) {
      try folder.make()
      try PrivateFolder(folder.file(Self.contents)).make()
      try PrivateFolder(folder.file(Self.incoming)).make()
    } catch {
      throw .folder(error)
    }
    index = Mutex(StoreIndex(limit: limit, mostContents: mostContents))
    for name in try names(in: Self.incoming) { remove("\(Self.incoming)/\(name)") }
    for name in try names(in: Self.contents) { takeIn(name) }
  }

  static let contents = "contents"
  static let incoming = "incoming"

  private func takeIn(_ name: String) {
    guard let digest = ContentDigest(name), let stamp = FileStamp(path: path(of: digest)) else {
      return remove("\(Self.contents)/\(name)")
    }
    index.withLock {
      $0.add(StoredContent(digest: digest, size: stamp.size), isKept: true, checked: nil)
    }
  }

  private func names(in part: String) throws(StoreError) -> [String] {
    let path = folder.file(part)
    guard let stream = unsafe opendir(path) else {
      throw .machine(SystemError(action: "read the folder \(path)", code: errno))
    }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while let entry = unsafe readdir(stream) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) {
          unsafe String(cString: $0)
        }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  private func remove(_ name: String) { _ = unsafe unlink(folder.file(name)) }

  /// Where the bytes of a content are, as long as it stays.
  package func path(of digest: ContentDigest) -> String {
    folder.file("\(Self.contents)/\(digest)")
  }

  // MARK: - What there is

  /// What the store has, with what it counts.
  package var list: [StoredContent] {
    index.withLock { index in
      index.entries.map { StoredContent(digest: $0.key, size: $0.value.size) }
    }
  }

  /// A content as a file that can be left elsewhere; nil: it is not here.
  package func file(_ digest: ContentDigest) -> LocalFile? {
    index.withLock { index in
      index.noteUse(digest)
      return index[digest].map {
        LocalFile(path(of: digest), StoredContent(digest: digest, size: $0.size))
      }
    }
  }

  package func has(_ digest: ContentDigest) -> Bool { index.withLock { $0[digest] != nil } }

  /// Bytes of all contents, of those that have to stay, and promised ones.
  package var usage: (bytes: Int64, kept: Int64, promised: Int64, limit: Int64) {
    index.withLock { ($0.bytes, $0.keptBytes, $0.reservedBytes, $0.limit) }
  }

  /// Keeps a content until `letGo`; false if the store does not have it.
  package func keep(_ digest: ContentDigest) -> Bool {
    index.withLock { index in
      index.keep(digest)
      return index[digest] != nil
    }
  }

  /// Keeps a content until `letGo` if it is here as a whole. What was here before this life is
  /// compared with its digest first; a large one that was not yet counts as not here, and may come
  /// again, since others would wait for it.
  package func keep(whole content: StoredContent) -> Bool {
    let known = index.withLock { $0[content.digest] }
    guard let known, known.size == content.size,
      known.checked != nil || content.size <= Limits.contentBytesCheckedAtOnce,
      (try? open(content.digest)) != nil
    else { return false }
    return keep(content.digest)
  }

  /// Lets a content leave when its room is needed.
  package func letGo(_ digest: ContentDigest) { index.withLock { $0.letGo(digest) } }

  /// Compares each content that was here before with its digest, and tells of those that are whole.
  /// Reads all of them: for a thread of its own.
  package func check(_ found: (StoredContent) -> Void) {
    for content in list.sorted(by: { $0.digest < $1.digest }) {
      if (try? open(content.digest)) != nil { found(content) }
    }
  }

  // MARK: - In

  /// Begins a content. It leaves no trace unless it is finished.
  ///
  /// - Parameter expected: What has to come; its room is promised now. nil: that is not known.
  package func begin(_ expected: StoredContent? = nil) throws(StoreError) -> IncomingContent {
    let wanted = expected?.size ?? 0
    try promise(wanted, isNew: true)
    let number = lastName.wrappingAdd(1, ordering: .relaxed).newValue
    return IncomingContent(
      for: self, at: folder.file("\(Self.incoming)/\(number)"), expected, promised: wanted)
  }

  /// Keeps these bytes, which nothing else has to know of.
  package func add(_ bytes: [UInt8]) throws(StoreError) -> StoredContent {
    let content = StoredContent(
      digest: ContentHash.digest(of: bytes), size: Int64(bytes.count))
    if keep(content.digest) { return content }
    let incoming = try begin(content)
    try incoming.append(bytes.span)
    return try incoming.finish()
  }

  func promise(_ bytes: Int64, isNew: Bool) throws(StoreError) {
    var full: StoreError?
    // Out of the way under the lock, so that nobody who adds one of them again loses its file.
    let leaving = index.withLock { index -> [(digest: ContentDigest, aside: String)] in
      guard let leaving = index.reserve(bytes, isNew: isNew) else {
        let kept = index.keptCount + index.reservedCount
        full =
          kept >= index.mostContents
          ? .crowded(limit: index.mostContents)
          : .full(wanted: bytes, limit: index.limit, kept: index.keptBytes + index.reservedBytes)
        return []
      }
      return leaving.map { ($0, setAside($0)) }
    }
    for (_, path) in leaving { _ = unsafe unlink(path) }
    if !leaving.isEmpty { onLoss(leaving.map(\.digest)) }
    if let full { throw full }
  }

  private func setAside(_ digest: ContentDigest) -> String {
    let number = lastName.wrappingAdd(1, ordering: .relaxed).newValue
    let aside = folder.file("\(Self.incoming)/\(number)")
    _ = unsafe rename(path(of: digest), aside)
    return aside
  }

  func release(_ bytes: Int64) { index.withLock { $0.release(bytes) } }

  /// Gives a checked file its name.
  func take(
    _ content: StoredContent, from path: String, _ stamp: FileStamp?
  ) throws(StoreError) {
    let code = index.withLock { index -> Int32 in
      guard unsafe rename(path, self.path(of: content.digest)) == 0 else { return errno }
      index.add(content, isKept: true, checked: stamp)
      return 0
    }
    if code != 0 { throw .machine(SystemError(action: "keep \(path)", code: code)) }
  }

  // MARK: - Out

  /// Opens a content for reading; its bytes stay readable if it leaves meanwhile.
  ///
  /// - Throws: `absent`, or `damaged`, after which the store does not have it any more.
  package func open(_ digest: ContentDigest) throws(StoreError) -> OpenContent {
    let known = index.withLock { index -> StoreIndex.Entry? in
      index.noteUse(digest)
      return index[digest]
    }
    guard let known else { throw .absent(digest) }
    let descriptor = unsafe Glibc.open(path(of: digest), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT || errno == ELOOP { throw drop(digest) }
      throw .machine(SystemError(action: "open \(path(of: digest))", code: errno))
    }
    let content = OpenContent(descriptor, StoredContent(digest: digest, size: known.size))
    let stamp = FileStamp(descriptor: descriptor)
    if let stamp, stamp.size == known.size {
      if known.checked == stamp { return content }
      if try content.computedDigest() == digest {
        index.withLock { $0.noteCheck(digest, stamp) }
        return content
      }
    }
    throw drop(digest, stamp)
  }

  /// Forgets a content whose file is not what its name says, unless another one has taken its place
  /// since it was looked at.
  private func drop(_ digest: ContentDigest, _ stamp: FileStamp? = nil) -> StoreError {
    let aside = index.withLock { index -> String? in
      if FileStamp(path: path(of: digest)) != stamp { return nil }
      index.drop(digest)
      return setAside(digest)
    }
    guard let aside else { return .absent(digest) }
    _ = unsafe unlink(aside)
    onLoss([digest])
    return .damaged(digest)
  }

  // MARK: - Files of others

  /// Keeps the bytes of an open file, from where it stands to its end. Only a plain file is read:
  /// anything else could wait, or never end.
  package func add(file descriptor: Int32) throws(StoreError) -> StoredContent {
    var facts = stat()
    guard unsafe fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
      throw .machine(
        SystemError(action: "read an output", code: EINVAL, advice: "it is no plain file"))
    }
    let incoming = try begin()
    // A small file needs no large one, which has to be cleared; a file may grow meanwhile.
    let most = Int(clamping: min(max(facts.st_size + 1, 64 << 10), 1 << 20))
    var buffer = [UInt8](repeating: 0, count: most)
    while true {
      let count = unsafe read(descriptor, &buffer, buffer.count)
      if count == 0 { return try incoming.finish() }
      if count < 0, errno == EINTR { continue }
      if count < 0 { throw .machine(SystemError(action: "read an output", code: errno)) }
      try incoming.append(buffer.span.extracting(..<count))
    }
  }

  /// Makes a content readable at a path where nothing is; it stays readable there if it leaves the
  /// store. Its bytes are checked before. An executable one is copied: its mode is not that of the
  /// store's file.
  package func link(
    _ digest: ContentDigest, to path: String, isExecutable: Bool = false
  ) throws(StoreError) {
    let content = try open(digest)
    if isExecutable { return try content.copy(ContentCopy(to: path, mode: 0o555)) }
    if unsafe Glibc.link(self.path(of: digest), path) == 0 { return }
    let code = errno
    // Another disk, or a file that has too many names already.
    guard code == EXDEV || code == EMLINK || code == EPERM else {
      throw .machine(SystemError(action: "make \(path)", code: code))
    }
    try content.copy(ContentCopy(to: path, mode: 0o444))
  }

  /// Writes the bytes of a content to a file that has nothing to do with the store.
  package func copy(_ digest: ContentDigest, to copy: ContentCopy) throws(StoreError) {
    try open(digest).copy(copy)
  }
}
