// A store on a real disk: what it takes, what it gives, what it refuses, what a crash leaves.

import Citations
import FoundationEssentials
import Glibc
import OpClusterFolders
import OpClusterModel
import Testing

@testable import OpClusterStore

@Suite struct ContentStoreTests {
  @Test("Digests are SHA-256, as text and as bytes, and in the order of their text")
  func digests() {
    let abc = ContentHash.digest(of: Array("abc".utf8))
    #expect(
      abc.description == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(ContentDigest(abc.description) == abc)
    #expect(ContentDigest(bytes: abc.bytes) == abc)
    #expect(ContentDigest(bytes: abc.bytes.dropLast()) == nil)
    #expect(ContentDigest(String(abc.description.dropLast()) + "G") == nil)
    #expect(ContentDigest(abc.description.uppercased()) == nil)
    let empty = ContentHash.digest(of: [])
    #expect((empty < abc) == (empty.description < abc.description))
  }

  @Test("What comes in pieces is read in pieces, is there once, and can be had by its path")
  func roundTrip() throws {
    let folder = Folder()
    let store = try ContentStore(folder: folder.path, limit: 10 << 20)
    let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    let incoming = try store.begin()
    for start in stride(from: 0, to: bytes.count, by: 700_001) {
      try incoming.append(Array(bytes[start..<min(start + 700_001, bytes.count)]).span)
    }
    let content = try incoming.finish()
    #expect(try store.add(bytes) == content)
    #expect(store.list == [content])
    #expect(store.usage.bytes == content.size)
    let open = try store.open(content.digest)
    #expect(try open.read(at: 0, most: 4_000_000) == bytes)
    #expect(try open.read(at: 2_999_990, most: 100) == Array(bytes.suffix(10)))
    #expect(try open.read(at: 3_000_000, most: 100) == [])
    #expect(FileManager.default.contents(atPath: store.path(of: content.digest)) == Data(bytes))
  }

  @Test("What is announced must come: not more, not less, nothing else; nothing of it stays")
  func expectations() throws {
    let folder = Folder()
    let store = try ContentStore(folder: folder.path, limit: 1_000)
    let right = [UInt8](repeating: 7, count: 100)
    let content = StoredContent(digest: ContentHash.digest(of: right), size: 100)
    for wrong in [[UInt8](repeating: 7, count: 99), [UInt8](repeating: 8, count: 100)] {
      #expect {
        let incoming = try store.begin(content)
        try incoming.append(wrong.span)
        _ = try incoming.finish()
      } throws: { error in
        if case .different = error as? StoreError { true } else { false }
      }
    }
    #expect {
      try store.begin(content).append([UInt8](repeating: 7, count: 101).span)
    } throws: { error in
      if case .different = error as? StoreError { true } else { false }
    }
    #expect(store.list.isEmpty)
    #expect(store.usage.promised == 0)
    #expect(folder.files(ContentStore.incoming).isEmpty)
  }

  @Test("A full store refuses with its figures, whether the size was announced or not")
  func full() throws {
    let folder = Folder()
    let store = try ContentStore(folder: folder.path, limit: 1_000)
    let first = try store.add([UInt8](repeating: 1, count: 600))
    let refused = StoreError.full(wanted: 401, limit: 1_000, kept: 600)
    #expect(throws: refused) { try store.begin(content(1, size: 401)) }
    let incoming = try store.begin()
    try incoming.append([UInt8](repeating: 2, count: 400).span)
    #expect { try incoming.append([9].span) } throws: { error in
      if case .full = error as? StoreError { true } else { false }
    }
    _ = try incoming.finish()
    store.letGo(first.digest)
    _ = try store.add([UInt8](repeating: 3, count: 300))
    #expect(!store.has(first.digest))
    #expect(folder.files(ContentStore.contents).count == 2)
  }

  @Test("A content that was open before it left is read to its end")
  func openLeaves() throws {
    let folder = Folder()
    let store = try ContentStore(folder: folder.path, limit: 1_000)
    let content = try store.add([UInt8](repeating: 1, count: 900))
    let open = try store.open(content.digest)
    store.letGo(content.digest)
    _ = try store.add([UInt8](repeating: 2, count: 900))
    #expect(try open.read(at: 890, most: 100) == [UInt8](repeating: 1, count: 10))
    #expect(throws: StoreError.absent(content.digest)) { try store.open(content.digest) }
  }

  @Test("After a restart contents are there and kept; halves, links and foreign names are gone")
  func restart() throws {
    let folder = Folder()
    let content: StoredContent
    do {
      let store = try ContentStore(folder: folder.path, limit: 1_000)
      content = try store.add([UInt8](repeating: 1, count: 500))
      let half = try store.begin()
      try half.append([1, 2, 3].span)
      // As a crash leaves it.
      try FileManager.default.copyItem(
        atPath: folder.path + "/incoming/" + folder.files(ContentStore.incoming)[0],
        toPath: folder.path + "/incoming/left")
    }
    let other = ContentHash.digest(of: [9])
    try FileManager.default.createSymbolicLink(
      atPath: folder.path + "/contents/\(other)", withDestinationPath: "/etc/hostname")
    try Data([1]).write(to: URL(filePath: folder.path + "/contents/readme"))
    let store = try ContentStore(folder: folder.path, limit: 1_000)
    #expect(store.list == [content])
    #expect(store.usage.kept == 500)
    #expect(folder.files(ContentStore.incoming).isEmpty)
    #expect(folder.files(ContentStore.contents) == ["\(content.digest)"])
    #expect(try store.open(content.digest).read(at: 0, most: 1) == [1])
  }

  @Test("Bytes that changed on disk are noticed before anybody reads them, and are dropped")
  func damage() throws {
    let folder = Folder()
    let bytes = [UInt8](repeating: 1, count: 500)
    let digest: ContentDigest
    do {
      let store = try ContentStore(folder: folder.path, limit: 1_000)
      digest = try store.add(bytes).digest
      _ = try store.open(digest)
      try folder.flip(digest, at: 499)
      #expect(throws: StoreError.damaged(digest)) { try store.open(digest) }
      #expect(!store.has(digest))
      #expect(throws: StoreError.absent(digest)) { try store.open(digest) }
      _ = try store.add(bytes)
    }
    // And what changed while nobody looked; a crash may also leave less than was written.
    try folder.flip(digest, at: 0)
    do {
      let store = try ContentStore(folder: folder.path, limit: 1_000)
      #expect(throws: StoreError.damaged(digest)) { try store.open(digest) }
      _ = try store.add(bytes)
      _ = unsafe chmod(store.path(of: digest), 0o600)
      #expect(unsafe truncate(store.path(of: digest), 10) == 0)
      #expect(throws: StoreError.damaged(digest)) { try store.open(digest) }
      _ = try store.add(bytes)
      #expect(unsafe unlink(store.path(of: digest)) == 0)
      #expect(throws: StoreError.damaged(digest)) { try store.open(digest) }
    }
    #expect(folder.files(ContentStore.contents).isEmpty)
  }

  @Test("What an earlier life has left counts as here only as a whole; else it comes again")
  func leftDamaged() throws {
    let folder = Folder()
    let large = [UInt8](repeating: 2, count: Int(Limits.contentBytesCheckedAtOnce) + 1)
    let (whole, short, flipped, unread): (
      StoredContent, StoredContent, StoredContent, StoredContent
    )
    do {
      let store = try ContentStore(folder: folder.path, limit: 1 << 30)
      whole = try store.add([1, 2, 3])
      short = try store.add([UInt8](repeating: 7, count: 500))
      flipped = try store.add([UInt8](repeating: 8, count: 500))
      unread = try store.add(large)
      _ = unsafe chmod(store.path(of: short.digest), 0o600)
      #expect(unsafe truncate(store.path(of: short.digest), 10) == 0)
      try folder.flip(flipped.digest, at: 3)
    }
    let store = try ContentStore(folder: folder.path, limit: 1 << 30)
    #expect(store.keep(whole: whole))
    #expect(!store.keep(whole: short) && !store.keep(whole: flipped))
    #expect(store.has(short.digest) && !store.has(flipped.digest))
    #expect(!store.keep(whole: unread), "others would wait for it")
    let found = try store.open(unread.digest)
    #expect(store.keep(whole: unread))
    // What comes takes its place, with its own size; what was open is read to its end.
    for (content, bytes) in [(short, [UInt8](repeating: 7, count: 500)), (unread, large)] {
      let incoming = try store.begin(content)
      try incoming.append(bytes.span)
      _ = try incoming.finish()
      #expect(store.keep(whole: content))
      #expect(try store.open(content.digest).read(at: 0, most: bytes.count) == bytes)
    }
    #expect(try found.read(at: 0, most: 1) == [2])
    let all = 3 + 500 + Int64(large.count)
    #expect(store.usage.bytes == all && store.usage.kept == all && store.usage.promised == 0)
  }

  @Test("A copy appears as a whole, or leaves what was there as it was, and nothing beside it")
  func copies() throws {
    let (folder, out) = (Folder(), Folder())
    let store = try ContentStore(folder: folder.path + "/store", limit: 1 << 30)
    let bytes = [UInt8](repeating: 3, count: 5 << 20)
    let digest = try store.add(bytes).digest
    let path = "\(out.path)/all"
    func files() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: out.path)
    }
    for way in [nil, folder.path, "/proc"] {
      var pieces = 0
      let broken = ContentCopy(to: path, mode: 0o644, by: way) {
        pieces += 1
        return pieces < 3
      }
      #expect(throws: StoreError.self) { try store.copy(digest, to: broken) }
      #expect(pieces == 3)
      #expect(try files().isEmpty)
      try store.copy(digest, to: ContentCopy(to: path, mode: 0o640, by: way))
      #expect(try Data(contentsOf: URL(filePath: path)) == Data(bytes))
      var facts = stat()
      #expect(unsafe stat(path, &facts) == 0 && facts.st_mode & 0o777 == 0o640)
      try Data([1]).write(to: URL(filePath: path))
      #expect(throws: StoreError.self) {
        try store.copy(digest, to: ContentCopy(to: path, mode: 0o644, by: way))
      }
      let stopped = ContentCopy(to: path, mode: 0o644, replaces: true, by: way) { false }
      #expect(throws: StoreError.self) { try store.copy(digest, to: stopped) }
      #expect(try Data(contentsOf: URL(filePath: path)) == Data([1]))
      let masked = ContentCopy(
        to: path, mode: 0o666, obeysMask: true, replaces: true, by: way)
      try store.copy(digest, to: masked)
      #expect(try Data(contentsOf: URL(filePath: path)) == Data(bytes))
      #expect(unsafe stat(path, &facts) == 0 && facts.st_mode & 0o777 == 0o644)
      #expect(try files() == ["all"])
      #expect(folder.files("") == ["store"])
      #expect(unsafe unlink(path) == 0)
    }
  }

  @Test("A folder that others can enter is no store")
  func privacy() throws {
    let folder = Folder()
    _ = unsafe chmod(folder.path, 0o755)
    #expect { _ = try ContentStore(folder: folder.path, limit: 1_000) } throws: { error in
      if case .folder(let error) = error as? StoreError { error.isExposed } else { false }
    }
  }

  @Test("Many threads add, read and let go of the same contents: nobody reads a wrong byte")
  func threads() async throws {
    let folder = Folder()
    let store = try ContentStore(folder: folder.path, limit: 40_000)
    await withTaskGroup(of: Void.self) { group in
      for seed in 0..<4 as Range<UInt64> {
        group.addTask {
          var chance = Chance(seed: seed)
          for _ in 0..<400 {
            let number = UInt8(chance.next() % 12)
            let bytes = [UInt8](repeating: number, count: 5_000)
            do {
              let content = try store.add(bytes)
              if let open = try? store.open(content.digest) {
                #expect(try open.read(at: 0, most: 5_000) == bytes)
              }
              store.letGo(content.digest)
            } catch StoreError.full {
              continue
            } catch {
              Issue.record("\(error)")
            }
          }
        }
      }
    }
    #expect(store.usage.promised == 0)
    #expect(
      Set(folder.files(ContentStore.contents)) == Set(store.list.map { "\($0.digest)" }))
    #expect(folder.files(ContentStore.incoming).isEmpty)
  }
}

/// A folder of its own for a test, removed with it.
final class Folder: Sendable {
  let path: String

  init() {
    var template = Array("/tmp/opcluster-store-XXXXXX".utf8CString)
    path = unsafe template.withUnsafeMutableBufferPointer { buffer in
      unsafe String(cString: mkdtemp(buffer.baseAddress!))
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func files(_ part: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: "\(path)/\(part)")) ?? []).sorted()
  }

  /// Changes one bit of a content.
  func flip(_ digest: ContentDigest, at offset: Int) throws {
    let file = "\(path)/contents/\(digest)"
    _ = unsafe chmod(file, 0o600)
    var bytes = try Data(contentsOf: URL(filePath: file))
    bytes[offset] ^= 4
    // Into the same file, as a disk would do it.
    let descriptor = unsafe open(file, O_WRONLY)
    defer { close(descriptor) }
    let count = unsafe bytes.withUnsafeBytes { buffer in
      unsafe write(descriptor, buffer.baseAddress, buffer.count)
    }
    #expect(count == bytes.count)
  }
}
