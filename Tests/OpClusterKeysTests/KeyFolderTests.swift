// Keys at rest: made once, read only when nobody else can, changed as a whole (G39, F59).

import Citations
import FoundationEssentials
import Glibc
import OpClusterFolders
import OpClusterModel
import OpClusterZeroMQ
import Testing

@testable import OpClusterKeys

@Suite struct KeyFolderTests {
  private let now = WallTime(milliseconds: 1_000)

  @Test func firstStart() throws {
    let folder = try TestFolder()
    let keys = KeyFolder("\(folder.path)/a/keys")
    #expect(try keys.own() == nil)
    #expect(try keys.server() == nil)
    let made = try keys.prepareServer(at: now)
    #expect(made.areNew)
    let own = try #require(try keys.own())
    #expect(own.name == "local")
    #expect(own.role == .admin)
    #expect(own.server == made.pair.publicKey)
    #expect(made.allowed.keys.map(\.key) == [own.pair.publicKey])
    #expect(try keys.allowed() == made.allowed)
    #expect(try keys.clientKeys().name == "local")
    for name in ["own.key", "server.key", "allowed"] {
      #expect(folder.mode(of: "a/keys/\(name)") == 0o600, "\(name)")
    }
    #expect(folder.mode(of: "a/keys") == 0o700)
    // The second start finds what the first has made.
    let again = try keys.prepareServer(at: now)
    #expect(!again.areNew)
    #expect(again.pair.publicKey == made.pair.publicKey)
  }

  @Test func anotherClustersFolder() throws {
    let folder = try TestFolder()
    let keys = KeyFolder(folder.path)
    try keys.keep(OwnKey(name: "anna", server: KeyPair.random().publicKey))
    let error = #expect(throws: KeyError.self) { _ = try keys.prepareServer(at: now) }
    #expect(error?.status == 78)
    #expect(error?.description.contains(folder.path) == true)
    #expect(throws: KeyError.self) { try keys.keep(OwnKey(name: "bert")) }
    #expect(try keys.own()?.name == "anna")
  }

  // One account submits and has workers; each finds its own key, whichever was first.
  @Test(arguments: [true, false]) func bothOfOneAccount(isWorkerFirst: Bool) throws {
    let folder = try TestFolder()
    let keys = KeyFolder(folder.path)
    let server = KeyPair.random().publicKey
    let client = OwnKey(name: "anna", role: .submitter, server: server)
    let worker = OwnKey(name: "w1", role: .worker, server: server)
    if isWorkerFirst { try keys.keep(worker, for: .worker) }
    try keys.keep(client)
    if !isWorkerFirst {
      #expect(try keys.own(for: .worker) == nil)
      let error = #expect(throws: KeyError.self) { _ = try keys.clientKeys(for: .worker) }
      #expect(error?.message.contains("own.key is no worker's") == true)
      try keys.keep(worker, for: .worker)
    }
    #expect(try keys.clientKeys().name == "anna")
    #expect(try keys.clientKeys(for: .worker).name == "w1")
    for bearer in KeyFolder.Bearer.allCases {
      let error = #expect(throws: KeyError.self) { try keys.keep(worker, for: bearer) }
      #expect(error?.hint.contains(keys.file(of: bearer)) == true)
    }
  }

  // What earlier releases left: a worker's key in own.key. It goes on serving, and says where it
  // belongs when a client wants the place.
  @Test func aWorkersKeyInTheClientsFile() throws {
    let folder = try TestFolder()
    let keys = KeyFolder(folder.path)
    try keys.keep(OwnKey(name: "w1", role: .worker, server: KeyPair.random().publicKey))
    #expect(try keys.clientKeys(for: .worker).name == "w1")
    let error = #expect(throws: KeyError.self) { try keys.checkVacant(for: .client) }
    #expect(error?.hint.contains("mv \(folder.path)/own.key \(folder.path)/worker.key") == true)
    #expect(throws: KeyError.self) { try keys.checkVacant(for: .worker) }
  }

  // As the others are.
  @Test(.checks("G39")) func anOpenKeyOfAWorker() throws {
    let folder = try TestFolder()
    let keys = KeyFolder(folder.path)
    try keys.keep(OwnKey(name: "w1", role: .worker), for: .worker)
    #expect(folder.mode(of: "worker.key") == 0o600)
    #expect(unsafe chmod("\(folder.path)/worker.key", 0o640) == 0)
    let error = #expect(throws: KeyError.self) { _ = try keys.own(for: .worker) }
    #expect(error?.message.contains("worker.key has mode 0640") == true)
  }

  // An admin's serves both; of one whose role is not known here a worker with an invitation makes
  // no use.
  @Test func oneForBoth() throws {
    let folder = try TestFolder()
    let admin = KeyFolder("\(folder.path)/a")
    try admin.keep(OwnKey(name: "root", role: .admin), for: .worker)
    #expect(try admin.own()?.name == "root")
    let unknown = KeyFolder("\(folder.path)/b")
    try unknown.keep(OwnKey(name: "added"))
    #expect(try unknown.own(for: .worker)?.name == "added")
    #expect(try unknown.own(for: .worker, isCertain: true) == nil)
    try unknown.keep(OwnKey(name: "w1", role: .worker), for: .worker)
    #expect(try unknown.own(for: .worker)?.name == "w1")
  }

  @Test func missing() throws {
    let folder = try TestFolder()
    let error = #expect(throws: KeyError.self) { _ = try KeyFolder(folder.path).clientKeys() }
    #expect(error?.status == 78)
    #expect(error?.hint.contains("opcoord key invite") == true)
    try KeyFolder(folder.path).keep(OwnKey(name: "anna"))
    let other = #expect(throws: KeyError.self) { _ = try KeyFolder(folder.path).clientKeys() }
    #expect(other?.description.contains("coordinator") == true)
  }

  // The path, what is wrong, and what to do; and nothing of the content.
  @Test(.checks("F59"), arguments: [0o644, 0o640, 0o660, 0o604, 0o700, 0o4600] as [mode_t])
  func openFiles(mode: mode_t) throws {
    let folder = try TestFolder()
    let keys = KeyFolder(folder.path)
    _ = try keys.prepareServer(at: now)
    for name in ["own.key", "server.key", "allowed"] {
      let path = "\(folder.path)/\(name)"
      #expect(unsafe chmod(path, mode) == 0)
      let error = #expect(throws: KeyError.self) {
        _ = try keys.own()
        _ = try keys.server()
        _ = try keys.allowed()
      }
      #expect(error?.status == 78)
      #expect(error?.message.contains("\(path) has mode 0\(String(mode, radix: 8))") == true)
      #expect(error?.hint == "chmod 0600 \(path)")
      #expect(unsafe chmod(path, 0o600) == 0)
    }
    #expect(try keys.own() != nil)
  }

  @Test func openFolders() throws {
    let folder = try TestFolder()
    let keys = KeyFolder(folder.path)
    _ = try keys.prepareServer(at: now)
    for mode in [0o777, 0o755, 0o710] as [mode_t] {
      #expect(unsafe chmod(folder.path, mode) == 0)
      let error = #expect(throws: KeyError.self) { _ = try keys.own() }
      #expect(error?.hint == "chmod 0700 \(folder.path)")
      #expect(throws: KeyError.self) { _ = try keys.prepareServer(at: now) }
    }
  }

  @Test func linksAndOtherThings() throws {
    let folder = try TestFolder()
    let keys = KeyFolder(folder.path)
    let path = "\(folder.path)/own.key"
    try keys.keep(OwnKey(name: "anna"))
    #expect(unsafe rename(path, "\(folder.path)/elsewhere") == 0)
    #expect(unsafe symlink("\(folder.path)/elsewhere", path) == 0)
    let link = #expect(throws: KeyError.self) { _ = try keys.own() }
    #expect(link?.message == "\(path) is a link")
    #expect(unsafe unlink(path) == 0)
    #expect(unsafe mkdir(path, 0o700) == 0)
    #expect(throws: KeyError.self) { _ = try keys.own() }
    #expect(unsafe rmdir(path) == 0)
    #expect(unsafe mkfifo(path, 0o600) == 0)
    let pipe = #expect(throws: KeyError.self) { _ = try keys.own() }
    #expect(pipe?.message == "\(path) is not a file")
  }

  // Only the owner's files are used. Only root can make one of somebody else's.
  @Test(.enabled(if: geteuid() == 0)) func somebodyElses() throws {
    let folder = try TestFolder()
    let keys = KeyFolder(folder.path)
    try keys.keep(OwnKey(name: "anna"))
    #expect(unsafe chown("\(folder.path)/own.key", 12_345, 12_345) == 0)
    let error = #expect(throws: KeyError.self) { _ = try keys.own() }
    #expect(error?.message.contains("own.key belongs to user 12345") == true)
  }

  @Test func damagedFiles() throws {
    let folder = try TestFolder()
    let keys = KeyFolder(folder.path)
    let secret = KeyPair.random().secretKey.revealedText
    for text in [
      "", "name anna\n", "name anna\nsecret short\n", "name an/na\nsecret \(secret)\n",
      "name anna\nsecret \(secret)\nsecret \(secret)\n", "name anna\nsecret \(secret) x\n",
      "name anna\npublic \(KeyPair.random().publicKey)\nsecret \(secret)\n",
      "name anna\nsecret \(secret)\nserver 12\n", "colour red\n",
    ] {
      let error = #expect(throws: KeyError.self, "\(text)") {
        _ = try OwnKey(parsing: text, "/f/own.key")
      }
      #expect(error?.description.contains("/f/own.key") == true)
      #expect(error?.description.contains(secret) == false)
      #expect(error?.status == 78)
    }
    let files = PrivateFolder(folder.path)
    try files.replace("server.key", with: Array("secret 1\n".utf8))
    #expect(throws: KeyError.self) { _ = try keys.server() }
    try files.replace("allowed", with: Array("key a b c d\n".utf8))
    let list = #expect(throws: KeyError.self) { _ = try keys.allowed() }
    #expect(list?.message == "\(folder.path)/allowed, line 1: not understood")
    let long = [UInt8](repeating: 0x23, count: Limits.keyFileBytes)
    try files.replace("allowed", with: long)
    #expect(try keys.allowed() == AllowList())
    try files.replace("allowed", with: long + [0x23])
    #expect(throws: KeyError.self) { _ = try keys.allowed() }
  }

  // A failed change changes nothing, and changes of many leave no gap and no rest.
  @Test func changes() async throws {
    let folder = try TestFolder()
    let keys = KeyFolder(folder.path)
    _ = try keys.prepareServer(at: now)
    let now = now
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<20 {
        group.addTask {
          try keys.changeAllowed { list throws(KeyError) in
            try list.add(
              AllowedKey(
                name: "w\(number)", role: .worker, key: KeyPair.random().publicKey, addedAt: now))
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try Set(keys.allowed().keys.map(\.name)).count == 21)
    #expect(throws: KeyError.self) {
      try keys.changeAllowed { list throws(KeyError) in
        _ = try list.remove(named: "w1")
        _ = try list.remove(named: "nobody")
      }
    }
    #expect(try keys.allowed().keys.contains { $0.name == "w1" })
    #expect(folder.files == [".lock", "allowed", "own.key", "server.key"])
    // One that was lost is not begun anew with one entry, which would put out everybody else.
    try FileManager.default.removeItem(atPath: "\(keys.path)/allowed")
    let lost = #expect(throws: KeyError.self) {
      try keys.changeAllowed { list throws(KeyError) in _ = try list.remove(named: "w1") }
    }
    #expect(lost?.kind == .missing)
    #expect(folder.files == [".lock", "own.key", "server.key"])
  }

  @Test func watching() throws {
    let folder = try TestFolder()
    let keys = KeyFolder(folder.path)
    _ = try keys.prepareServer(at: now)
    let watch = keys.watch()
    #expect(!watch.takeChanges())
    try keys.changeAllowed { list throws(KeyError) in _ = try list.remove(named: "local") }
    #expect(watch.takeChanges())
    #expect(!watch.takeChanges())
  }
}
