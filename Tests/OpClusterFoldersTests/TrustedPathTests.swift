// Whether others can put something else in the place of a path (G39): real folders, links, pipes
// and owners below /tmp, whose being open to all and sticky is no danger.

import FoundationEssentials
import Glibc
import Testing

@testable import OpClusterFolders

/// A folder that goes with the test.
final class Room {
  let path: String

  init() throws {
    path = "/tmp/folders-test-\(String(UInt64.random(in: 0...(.max)), radix: 36))"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Makes a folder of this mode, whatever the mask says.
  func folder(_ name: String, _ mode: mode_t = 0o700) -> String {
    let made = "\(path)/\(name)"
    #expect(unsafe mkdir(made, 0o700) == 0)
    #expect(unsafe chmod(made, mode) == 0)
    return made
  }

  func file(_ name: String, _ text: String, _ mode: mode_t = 0o600) -> String {
    let made = "\(path)/\(name)"
    #expect(FileManager.default.createFile(atPath: made, contents: Data(text.utf8)))
    #expect(unsafe chmod(made, mode) == 0)
    return made
  }
}

/// Nobody in particular, who is not root.
private let stranger: uid_t = 54_321
let isRoot = geteuid() == 0

@Suite struct TrustedPathTests {
  private func problem(_ path: String) -> String? {
    do throws(FolderError) {
      _ = try TrustedPath.resolve(path)
      return nil
    } catch {
      #expect(error.isExposed && !error.hint.isEmpty, "\(error)")
      return error.message
    }
  }

  @Test("G39: /tmp is open to all, but sticky") func ordinaryPaths() throws {
    let room = try Room()
    #expect(try TrustedPath.resolve("/") == "/")
    #expect(try TrustedPath.resolve("\(room.path)/.//a/./b/") == "\(room.path)/a/b")
    let inner = room.folder("inner")
    #expect(try TrustedPath.resolve("\(inner)/../inner") == inner)
    #expect(try TrustedPath.resolve("nothing-of-this-name").hasSuffix("/nothing-of-this-name"))
    #expect(throws: FolderError.self) { try TrustedPath.resolve("/tmp\0x") }
  }

  @Test(
    "G39: a folder above, of every mode that lets others write",
    arguments: [
      0o777, 0o722, 0o770, 0o702, 0o2775,
    ] as [mode_t])
  func openFolderAbove(mode: mode_t) throws {
    let room = try Room()
    let open = room.folder("open", mode)
    // Whether the rest is there or not, and however deep it is.
    for path in ["\(open)/keys", "\(open)/a/b/c"] {
      #expect(problem(path)?.contains("the folder \(open) above it has mode 0") == true, "\(path)")
    }
    #expect(unsafe mkdir("\(open)/keys", 0o700) == 0)
    #expect(problem("\(open)/keys/x") != nil)
    #expect(unsafe chmod(open, 0o1777) == 0)
    #expect(problem("\(open)/keys/x") == nil)
    #expect(unsafe chmod(open, 0o755) == 0)
    #expect(problem("\(open)/keys/x") == nil)
  }

  @Test("G39: a folder above that is somebody else's", .enabled(if: isRoot, "owners take root"))
  func foreignFolderAbove() throws {
    let room = try Room()
    let foreign = room.folder("foreign", 0o755)
    #expect(unsafe mkdir("\(foreign)/ours", 0o700) == 0)
    #expect(unsafe chown(foreign, stranger, stranger) == 0)
    for path in ["\(foreign)/ours", "\(foreign)/missing"] {
      #expect(problem(path)?.contains("\(foreign) above it belongs to user \(stranger)") == true)
    }
  }

  @Test("G39: links of ours lead on, those of others do not") func links() throws {
    let room = try Room()
    let real = room.folder("real")
    #expect(unsafe symlink("real", "\(room.path)/link") == 0)
    #expect(unsafe symlink("\(room.path)/link/../link", "\(room.path)/far") == 0)
    #expect(try TrustedPath.resolve("\(room.path)/far/x") == "\(real)/x")
    #expect(try TrustedPath.resolve("\(room.path)/far") == real)
    let last = #expect(throws: FolderError.self) {
      try TrustedPath.resolve("\(room.path)/far", lastLink: .refused)
    }
    #expect(last?.message == "\(room.path)/far is a link")
    // What a link leads through is looked at as well.
    #expect(unsafe chmod(real, 0o777) == 0)
    #expect(problem("\(room.path)/far/x") != nil)
    #expect(unsafe chmod(real, 0o700) == 0)
    #expect(unsafe symlink("loop", "\(room.path)/loop") == 0)
    let loop = #expect(throws: FolderError.self) { try TrustedPath.resolve("\(room.path)/loop/x") }
    #expect(loop?.kind == .machine(code: ELOOP))
    guard isRoot else { return }
    #expect(unsafe lchown("\(room.path)/link", stranger, stranger) == 0)
    #expect(problem("\(room.path)/far/x")?.contains("link belongs to user \(stranger)") == true)
  }

  @Test("G39: missing folders are made for us alone, and only in safe places") func making() throws
  {
    let room = try Room()
    try TrustedPath.makeFolders("\(room.path)/a/b")
    try TrustedPath.makeFolders("\(room.path)/a/b")
    for name in ["a", "a/b"] {
      var found = stat()
      #expect(unsafe stat("\(room.path)/\(name)", &found) == 0)
      #expect(found.st_mode & 0o777 == 0o700)
    }
    let open = room.folder("open", 0o777)
    #expect(throws: FolderError.self) { try TrustedPath.makeFolders("\(open)/a/b") }
    #expect(try FileManager.default.contentsOfDirectory(atPath: open) == [])
  }
}

@Suite struct PrivateFolderTests {
  @Test("G39: a folder that is not ours alone is not read") func unsafeFolders() throws {
    let room = try Room()
    let folder = PrivateFolder(room.folder("f"))
    try folder.replace("record", with: Array("here".utf8))
    let text = Array("here".utf8)
    #expect(try folder.read("record", limit: 4) == text)
    #expect(throws: FolderError.self) { try folder.read("record", limit: 3) }
    for mode: mode_t in [0o777, 0o755, 0o710, 0o1777] {
      #expect(unsafe chmod(folder.path, mode) == 0)
      let error = #expect(throws: FolderError.self) { try folder.read("record", limit: 4) }
      #expect(error?.hint == "chmod 0700 \(folder.path)")
    }
    #expect(unsafe chmod(folder.path, 0o700) == 0)
    #expect(unsafe symlink(folder.path, "\(room.path)/link") == 0)
    let link = PrivateFolder("\(room.path)/link")
    #expect(throws: FolderError.self) { try link.read("record", limit: 4) }
    #expect(throws: FolderError.self) { try link.make() }
    #expect(throws: FolderError.self) { try link.makeNew() }
    #expect(try PrivateFolder("\(room.path)/none").read("record", limit: 4) == nil)
    if isRoot {
      #expect(unsafe chown(folder.path, stranger, stranger) == 0)
      #expect(throws: FolderError.self) { try folder.read("record", limit: 4) }
      #expect(throws: FolderError.self) { try folder.make() }
    }
  }

  @Test("G39: a folder in one that others can write to is not read") func unsafeParents() throws {
    let room = try Room()
    let open = room.folder("open")
    let folder = PrivateFolder("\(open)/f")
    try folder.make()
    try folder.replace("record", with: [1])
    #expect(unsafe chmod(open, 0o777) == 0)
    #expect(throws: FolderError.self) { try folder.read("record", limit: 4) }
    #expect(throws: FolderError.self) { try folder.make() }
  }

  /// A pipe that nobody writes to would be waited for; a link would lead to what others chose.
  @Test("G39: pipes, links and sockets in place of a file", .timeLimit(.minutes(30)))
  func filesThatAreNone() throws {
    let room = try Room()
    let folder = PrivateFolder(room.folder("f"))
    let path = folder.file("record")
    let other = room.file("other", "secret")
    for make in [
      { unsafe mkfifo(path, 0o600) }, { unsafe symlink(other, path) },
      { unsafe mkdir(path, 0o700) },
    ] {
      #expect(make() == 0)
      let error = #expect(throws: FolderError.self) { try folder.read("record", limit: 99) }
      #expect(error?.isExposed == true && error?.message.contains(path) == true)
      let trusted = path == other ? nil : try? OwnFiles.contents(ofTrusted: path, limit: 99)
      // A configuration may be behind a link of ours.
      #expect(trusted == nil || trusted.flatMap { $0 } == Array("secret".utf8))
      if unsafe unlink(path) != 0 { #expect(unsafe rmdir(path) == 0) }
    }
  }

  @Test("G39: a configuration that others can change is not read") func configurations() throws {
    let room = try Room()
    let path = room.file("config", "a: b", 0o644)
    let text = Array("a: b".utf8)
    #expect(try OwnFiles.contents(ofTrusted: path, limit: 4) == text)
    #expect(try OwnFiles.contents(ofTrusted: "\(path).none", limit: 4) == nil)
    let long = #expect(throws: FolderError.self) {
      try OwnFiles.contents(ofTrusted: path, limit: 3)
    }
    #expect(long?.kind == .tooLong)
    for mode: mode_t in [0o666, 0o664, 0o646] {
      #expect(unsafe chmod(path, mode) == 0)
      let error = #expect(throws: FolderError.self) {
        try OwnFiles.contents(ofTrusted: path, limit: 4)
      }
      #expect(error?.hint == "chmod go-w \(path)")
    }
    #expect(unsafe chmod(path, 0o644) == 0)
    #expect(unsafe chmod(room.path, 0o777) == 0)
    #expect(throws: FolderError.self) { try OwnFiles.contents(ofTrusted: path, limit: 4) }
    #expect(unsafe chmod(room.path, 0o700) == 0)
    if isRoot {
      #expect(unsafe chown(path, stranger, stranger) == 0)
      #expect(throws: FolderError.self) { try OwnFiles.contents(ofTrusted: path, limit: 4) }
    }
  }

  @Test func whatIsLeftOver() throws {
    let room = try Room()
    let folder = PrivateFolder(room.folder("run-1"))
    #expect(!folder.isLeftOver, "nobody has said yet that it is used")
    var use: FolderLock? = try folder.use()
    #expect(!folder.isLeftOver)
    withExtendedLifetime(use) {}
    use = nil
    #expect(folder.isLeftOver)
    #expect(unsafe chmod(folder.path, 0o777) == 0)
    #expect(!folder.isLeftOver, "others may have put the mark there")
  }
}
