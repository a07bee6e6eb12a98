// After every kind of refusal the files are what they were: all that is looked at is looked at
// before the first write, the owner's own look included.

import FoundationEssentials
import Glibc
import Testing

@testable import OpClusterJournal

@Suite struct RefusalTests {
  private struct Meaningless: Error {}

  /// A killed journal with all there is: turns in the database and in the log, a mark, a reserve.
  private func killed(turns: UInt64 = 33) throws -> TestFolder {
    var settings = JournalSettings()
    settings.checkpointPages = 12
    settings.reserveBytes = 1 << 16
    let folder = try killedJournal(turns: turns, settings: settings)
    #expect(bytes(folder.path + "/journal.reserve").count == 1 << 16)
    return folder
  }

  /// Opens as an owner that takes what `accept` lets pass; the files must not change by a refusal.
  private func refusal(
    _ folder: TestFolder, _ what: String, accept: (Recovered) throws -> Void = { _ in }
  ) throws -> (any Error)? {
    let before = try content(of: folder)
    #expect(before.count >= 3, "\(what)")
    var settings = JournalSettings()
    settings.reserveBytes = 1 << 16
    do {
      let opened = try SQLiteJournal.open(
        folder: folder.path, settings: settings, observer: Recorder().observer(), accept: accept)
      opened.journal.close()
      return nil
    } catch {
      #expect(try content(of: folder) == before, "\(what)")
      return error
    }
  }

  @Test("what its owner cannot read is not touched (G6)")
  func byTheOwner() throws {
    let folder = try killed()
    let error = try refusal(folder, "owner") { recovered in
      #expect(recovered.lastSequence == 33)
      throw Meaningless()
    }
    #expect(error is Meaningless)
    #expect(try refusal(folder, "nobody") == nil)
    #expect(try JournalTools.verify(folder: folder.path).lastSequence == 33)
  }

  @Test("damage is refused before anything is written (G6, F27)")
  func byDamage() throws {
    let changes: [(what: String, change: (TestFolder) throws -> Void)] = [
      (
        "a turn in the database",
        { folder in
          var database = bytes(folder.database)
          // Where the tree has grown, a copy is left in a page that is no longer used.
          for place in database.indices where database[place...].starts(with: turn(3).body) {
            database[place] ^= 1
          }
          try write(database, to: folder.database)
        }
      ),
      (
        "the log",
        { folder in
          var log = bytes(folder.log)
          log[32 + 24 + 100] ^= 1
          try write(log, to: folder.log)
        }
      ),
      ("no log", { try FileManager.default.removeItem(atPath: $0.log) }),
      ("an empty log", { try write([], to: $0.log) }),
      (
        "the journal mode",
        { folder in
          var database = bytes(folder.database)
          database[18] = 1
          database[19] = 1
          try write(database, to: folder.database)
        }
      ),
      ("no database", { try FileManager.default.removeItem(atPath: $0.database) }),
    ]
    for (what, change) in changes {
      let folder = try killed(turns: 120)
      try change(folder)
      let error = try #require(try refusal(folder, what) as? JournalError, "\(what)")
      #expect(error.exitStatus == 65, "\(what): \(error)")
    }
  }

  @Test("a folder that is in use or open to others is not touched either (F31, F59)")
  func byItsFolder() throws {
    let folder = try killed()
    let journal = try SQLiteJournal.open(folder: folder.path, observer: Recorder().observer())
      .journal
    #expect((try refusal(folder, "in use") as? JournalError)?.exitStatus == 73)
    journal.close()
    _ = unsafe chmod(folder.path, 0o777)
    #expect((try refusal(folder, "open") as? JournalError)?.kind == .unsafeFolder)
  }

  @Test("another journal mode is named with what sets it back (G6)")
  func journalMode() throws {
    let folder = try TestFolder()
    try SQLiteJournal.open(folder: folder.path, observer: Recorder().observer()).journal.close()
    func execute(_ text: String) throws {
      try Connection(path: folder.database, access: .readWrite).execute(text)
    }
    try execute("PRAGMA journal_mode = DELETE")
    for _ in 0..<2 {
      let error = try #require(try refusal(folder, "mode") as? JournalError)
      #expect(error.exitStatus == 65, "\(error)")
      #expect(error.advice.contains("PRAGMA journal_mode = WAL"), "\(error)")
    }
    #expect(throws: JournalError.self) { try JournalTools.verify(folder: folder.path) }
    #expect(throws: JournalError.self) {
      try JournalTools.readUntilDamage(folder: folder.path) { _ in }
    }
    #expect(throws: JournalError.self) { try JournalTools.cut(folder: folder.path, after: 1) }
    try execute("PRAGMA journal_mode = WAL")
    #expect(try refusal(folder, "set back") == nil)
    // What a program that was killed while it wrote in that mode leaves.
    try write([0xD9, 0xD5, 0x05, 0xF9], to: folder.path + "/journal.db-journal")
    #expect((try refusal(folder, "rollback journal") as? JournalError)?.exitStatus == 65)
  }
}
