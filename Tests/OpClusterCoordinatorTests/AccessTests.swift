// What the coordinator knows of its list of keys when the kernel tells it nothing.

import Citations
import FoundationEssentials
import Logging
import OpClusterFolders
import OpClusterKeys
import OpClusterModel
import OpClusterZeroMQ
import Testing

@testable import OpClusterCoordinator

@Suite struct AccessTests {
  /// Another folder in the place of the watched one counts, though nothing in the watched one
  /// has changed.
  @Test(.checks("G37")) func aReplacedFolderIsRead() throws {
    let folder = try TestFolder()
    let path = "\(folder.path)/keys"
    let keys = KeyFolder(path)
    let server = try keys.prepareServer(at: .now).pair
    let anna = KeyPair.random().publicKey
    let added = AllowedKey(name: "anna", role: .submitter, key: anna, addedAt: .now)
    try keys.changeAllowed { list throws(KeyError) in try list.add(added) }
    var access = try Access(
      CoordinatorKeys(
        pair: server, allowed: try keys.allowed(), folder: keys, domain: "replaced"),
      admitsAll: false)
    #expect(access.principal(of: anna) == .known(name: "anna", role: .submitter))

    try FileManager.default.moveItem(atPath: path, toPath: path + ".before")
    _ = try keys.prepareServer(at: .now)
    let logger = Logger(label: "access")
    let now = Instant.now
    let isTold = access.refresh(at: now, logger)
    #expect(!isTold, "the kernel tells nothing of it")
    let isSeen = access.refresh(at: now + Access.watchedLookPause, logger)
    #expect(isSeen)
    #expect(access.principal(of: anna) == .removed)
  }

  /// A list that is being replaced may be missing or empty for a moment; nobody is put out by
  /// that. Found by row F59, which puts the file behind a link.
  @Test(.checks("G37")) func aListThatIsGoneChangesNothing() throws {
    let folder = try TestFolder()
    let keys = KeyFolder("\(folder.path)/keys")
    let server = try keys.prepareServer(at: .now).pair
    let anna = KeyPair.random().publicKey
    let added = AllowedKey(name: "anna", role: .submitter, key: anna, addedAt: .now)
    try keys.changeAllowed { list throws(KeyError) in try list.add(added) }
    var access = try Access(
      CoordinatorKeys(pair: server, allowed: try keys.allowed(), folder: keys, domain: "gone"),
      admitsAll: false)
    let logger = Logger(label: "access")
    let list = "\(keys.path)/allowed"
    let content = try #require(FileManager.default.contents(atPath: list))
    var now = Instant.now
    for isEmpty in [false, true] {
      try FileManager.default.removeItem(atPath: list)
      let private600: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
      if isEmpty {
        #expect(
          FileManager.default.createFile(atPath: list, contents: nil, attributes: private600))
      }
      now = now + Access.watchedLookPause
      let isSeen = access.refresh(at: now, logger)
      #expect(!isSeen && access.principal(of: anna) == .known(name: "anna", role: .submitter))
      #expect(
        FileManager.default.createFile(atPath: list, contents: content, attributes: private600))
    }
    try keys.changeAllowed { list throws(KeyError) in _ = try list.remove(named: "anna") }
    now = now + Access.watchedLookPause
    let isTold = access.refresh(at: now, logger)
    #expect(isTold && access.principal(of: anna) == .removed)
  }

  /// A descriptor that never tells would be believed.
  @Test func whatCannotBeWatchedHasNoDescriptor() throws {
    let folder = try TestFolder()
    #expect(KeyFolder("\(folder.path)/nowhere").watch().descriptor == -1)
    #expect(KeyFolder(folder.path).watch().descriptor >= 0)
  }
}
