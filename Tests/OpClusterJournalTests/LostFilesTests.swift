// The folder or a file of a journal taken away while it is written: nothing is acknowledged into
// what nobody will find.

import FoundationEssentials
import OpClusterJournal
import Testing

@Suite struct LostFilesTests {
  private static let changes: [(what: String, change: @Sendable (TestFolder) throws -> Void)] = [
    ("the folder removed", { try FileManager.default.removeItem(atPath: $0.path) }),
    (
      "the folder moved",
      { try FileManager.default.moveItem(atPath: $0.path, toPath: $0.path + "-away") }
    ),
    ("the database removed", { try FileManager.default.removeItem(atPath: $0.database) }),
    ("the log removed", { try FileManager.default.removeItem(atPath: $0.log) }),
    (
      "the database replaced",
      { folder in
        let copy = folder.path + "/copy"
        try FileManager.default.copyItem(atPath: folder.database, toPath: copy)
        try FileManager.default.removeItem(atPath: folder.database)
        try FileManager.default.moveItem(atPath: copy, toPath: folder.database)
      }
    ),
  ]

  @Test("nothing is acknowledged into files that were taken away (G1, G7)")
  func endsIt() throws {
    for (what, change) in Self.changes {
      let folder = try TestFolder()
      defer { try? FileManager.default.removeItem(atPath: folder.path + "-away") }
      let recorder = Recorder()
      let journal = try SQLiteJournal.open(folder: folder.path, observer: recorder.observer())
        .journal
      _ = journal.append(turn(1))
      recorder.waitDurable(1)
      #expect(journal.lostFiles() == nil)
      try change(folder)
      // Noticed by whoever looks, and at the latest before the next acknowledgement.
      #expect(journal.lostFiles()?.exitStatus == 74, "\(what)")
      _ = journal.append(turn(2))
      recorder.wait { !$0.failures.isEmpty }
      #expect(recorder.told.durable == [1], "\(what)")
      #expect(recorder.told.failures.map(\.exitStatus) == [74], "\(what)")
      #expect(journal.append(turn(3)) == .closed)
      journal.close()
    }
  }

  @Test("an end in good order says so, too (G7)")
  func atTheEnd() throws {
    let folder = try TestFolder()
    let recorder = Recorder()
    let journal = try SQLiteJournal.open(folder: folder.path, observer: recorder.observer()).journal
    try FileManager.default.removeItem(atPath: folder.path)
    journal.close()
    #expect(recorder.told.failures.map(\.kind) == [.storage])
  }
}
