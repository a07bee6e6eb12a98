// A coordinator is found by its own user on its own machine while it serves, and not after.

import FoundationEssentials
import Glibc
import Testing

@testable import OpClusterFolders

@Suite struct CoordinatorRecordTests {
  @Test func countsWhileItIsKept() throws {
    let room = try Room()
    let folder = room.folder("journal")
    #expect(try CoordinatorRecord.current(in: folder) == nil)
    let record = CoordinatorRecord(client: "tcp://127.0.0.1:7420")
    var lock: FolderLock? = try record.keep(in: folder)
    #expect(lock != nil)
    for _ in 0..<2 { #expect(try CoordinatorRecord.current(in: folder) == record) }
    // Its process has ended, however that was.
    lock = nil
    #expect(try CoordinatorRecord.current(in: folder) == nil)
    #expect(FileManager.default.fileExists(atPath: "\(folder)/serving"))
    lock = try record.keep(in: folder)
    #expect(try CoordinatorRecord.current(in: folder) == record)
    withExtendedLifetime(lock) {}
  }

  @Test("Where a journal can be, it can be found; without one nothing is looked at")
  func foldersOfJournals() throws {
    let room = try Room()
    let record = CoordinatorRecord(client: "tcp://127.0.0.1:7420")
    let folder = room.folder("readable", 0o755)
    let link = "\(room.path)/link"
    #expect(unsafe symlink(folder, link) == 0)
    let lock = try record.keep(in: folder)
    #expect(try CoordinatorRecord.current(in: folder) == record)
    #expect(try CoordinatorRecord.current(in: link) == record)
    withExtendedLifetime(lock) {}
    #expect(try CoordinatorRecord.current(in: room.folder("open", 0o777)) == nil)
    #expect(try CoordinatorRecord.current(in: "\(room.path)/none") == nil)
  }

  @Test("A home may be on many machines") func isOfThisMachine() throws {
    let room = try Room()
    let folder = room.folder("journal")
    var record = CoordinatorRecord(client: "tcp://127.0.0.1:7420")
    record.machine = "another"
    let lock = try record.keep(in: folder)
    #expect(try CoordinatorRecord.current(in: folder) == nil)
    withExtendedLifetime(lock) {}
  }

  @Test("G39: nothing is believed that others can have written") func others() throws {
    let room = try Room()
    let open = room.folder("open", 0o777)
    _ = room.file("open/serving", "tcp://10.0.0.1:1\nx\n")
    #expect(throws: FolderError.self) { try CoordinatorRecord.current(in: open) }
    let folder = room.folder("journal")
    let readable = room.file("journal/serving", "tcp://10.0.0.1:1\nx\n", 0o644)
    #expect(throws: FolderError.self) { try CoordinatorRecord.current(in: folder) }
    #expect(unsafe unlink(readable) == 0)
    #expect(unsafe mkfifo(readable, 0o600) == 0)
    #expect(throws: FolderError.self) { try CoordinatorRecord.current(in: folder) }
  }
}
