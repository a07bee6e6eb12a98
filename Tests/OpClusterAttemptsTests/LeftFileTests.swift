// What attempts leave as files: who reads it, with whose rights, and what of it is told.

import Citations
import FoundationEssentials
import Glibc
import OpClusterModel
import OpClusterOperations
import OpClusterProcesses
import OpClusterSystem
import OpClusterWire
import Synchronization
import Testing

@testable import OpClusterAttempts

@Suite(.checks("S140")) final class LeftFileTests {
  /// A store that keeps nothing but sizes, and says what was dropped.
  private final class Sizes: Sendable {
    let dropped = Mutex<[StoredContent]>([])
    private let count = Mutex<UInt8>(0)

    func keep(_ size: Int) throws -> StoredContent {
      let number = count.withLock { count in
        count += 1
        return count
      }
      let digest = try #require(ContentDigest(bytes: [UInt8](repeating: number, count: 32)))
      return StoredContent(digest: digest, size: Int64(size))
    }

    var store: AttemptStore {
      let store = AttemptStore(
        keepBytes: { [self] in try keep($0.count) },
        keepFile: { [self] file in try keep(FileDescriptor(file).readAll(limit: 1_000).count) },
        link: { _, _, _ in },
        drop: { [self] gone in dropped.withLock { $0 += gone } })
      store.mark(told: true)
      return store
    }
  }

  private let folder = "/tmp/left-files-\(UInt64.random(in: 0 ... .max))"
  init() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
  }
  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private func write(_ text: String, to path: String) throws {
    try Data(text.utf8).write(to: URL(filePath: path))
  }

  /// The report of a child that left files, and a value that was too large.
  private func report(files: Int, value: Bool) throws -> AttemptResult {
    let unnamed = StoredContent(
      digest: try #require(ContentDigest(bytes: [UInt8](repeating: 0, count: 32))), size: 0)
    var output = OperationOutput(typeName: "T")
    output.files = (0..<files).map {
      StoredFile(name: "f\($0)", path: "", isExecutable: false, content: unnamed)
    }
    if value {
      output.contents = [unnamed]
      output.valueContent = 0
    }
    var result = AttemptResult()
    result.output = Wire.encode(output: output)
    return result
  }

  @Test("What a child has left is kept under its names, and leaves nothing behind")
  func kept() throws {
    let value = LeftValue(path: "\(folder)/part.value", account: nil)
    let files = ChildWords.filesFolder(of: value.path)
    try FileManager.default.createDirectory(atPath: files, withIntermediateDirectories: false)
    try write("value", to: value.path)
    try write("0", to: "\(files)/0")
    try write("11", to: "\(files)/1")
    let sizes = Sizes()
    let (result, kept) = sizes.store.fitting(try report(files: 2, value: true), leaving: value)
    #expect(kept.map(\.size) == [1, 2, 5])
    let output = try Wire.decodeOutput(result.output)
    #expect(output.files.map(\.content.size) == [1, 2] && output.contents.map(\.size) == [5])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    // One that is promised and not there fails it; what was kept is told all the same.
    try FileManager.default.createDirectory(atPath: files, withIntermediateDirectories: false)
    try write("0", to: "\(files)/0")
    let (failed, partly) = sizes.store.fitting(try report(files: 2, value: false), leaving: value)
    #expect(failed.cause == .badOutput && partly.count == 1)
    sizes.store.forget(kept + partly, notIn: [result, failed])
    #expect(sizes.dropped.withLock { $0 } == partly)
  }

  /// A child of another account may make its folder a link to one that it may not read itself.
  @Test("The worker follows no link to where the child could not go", .enabled(if: geteuid() == 0))
  func rights() throws {
    let closed = "\(folder)/closed"
    try FileManager.default.createDirectory(
      atPath: closed, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    try write("secret", to: "\(closed)/0")
    let open = "\(folder)/open"
    try FileManager.default.createDirectory(atPath: open, withIntermediateDirectories: false)
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: open)
    let value = LeftValue(path: "\(open)/part.value", account: LocalAccount.owner(65_534))
    try FileManager.default.createSymbolicLink(
      atPath: ChildWords.filesFolder(of: value.path), withDestinationPath: closed)
    let (result, kept) = Sizes().store.fitting(try report(files: 1, value: false), leaving: value)
    #expect(result.cause == .badOutput && kept.isEmpty, "\(result.diagnostic)")
    #expect(FileManager.default.fileExists(atPath: "\(closed)/0"), "a link is removed, no folder")
    // The worker itself could have read it.
    let own = LeftValue(path: value.path, account: nil)
    #expect(throws: Never.self) { try own.reading("\(closed)/0") { _ in try Sizes().keep(1) } }
  }

  @Test("What is no plain file is refused by name, as is a store that nobody hears of")
  func refusals() async throws {
    let sizes = Sizes()
    let store = sizes.store
    try write("there", to: "\(folder)/there")
    #expect(try await store.files.keep("\(folder)/there").content.size == 5)
    for (path, words) in [
      ("\(folder)/not", "there is no file"), (folder, "is no plain file; put a folder"),
      ("/dev/null", "is no plain file"),
    ] {
      await #expect {
        _ = try await store.files.keep(path)
      } throws: { "\($0)".contains(words) }
    }
    store.mark(told: false)
    await #expect {
      _ = try await store.files.keep("\(self.folder)/there")
    } throws: { "\($0)".contains("does not hear of this store") }
  }
}
