// Snapshots beside live appends, and what a person does to a journal from outside.

import Citations
import FoundationEssentials
import OpClusterJournal
import Synchronization
import Testing

@Suite struct SnapshotTests {
  @Test("appends go on while snapshots are written and turns are deleted (G9)")
  func snapshotsWhileAppending() throws {
    let folder = try TestFolder()
    let recorder = Recorder()
    let journal = try SQLiteJournal.open(folder: folder.path, observer: recorder.observer()).journal
    var snapshot: UInt64 = 0
    for sequence in UInt64(1)...6_000 {
      while journal.append(turn(sequence)) == .full { recorder.waitDurable(sequence - 1) }
      if sequence % 1_000 == 0 {
        let through = sequence
        #expect(
          journal.snapshot(through: through, parts: 20) {
            [UInt8](repeating: UInt8(truncatingIfNeeded: $0), count: 100_000 + Int(through))
          } == .accepted)
        recorder.wait { $0.snapshots.last == through }
        snapshot = through
      }
    }
    journal.close()
    try JournalTools.read(folder: folder.path) { recovered in
      #expect(recovered.snapshotSequence == snapshot)
      #expect(recovered.lastSequence == 6_000)
      let parts = try recovered.allParts()
      #expect(parts.map(\.count) == Array(repeating: 106_000, count: 20))
      #expect(parts[7].allSatisfy { $0 == 7 })
      #expect(try recovered.allTurns().isEmpty)
    }
  }

  @Test("a snapshot cut short by a crash does not count, and its number can be used again (G9)")
  func unfinishedSnapshot() throws {
    let folder = try TestFolder()
    let copy = try TestFolder()
    let recorder = Recorder()
    var settings = JournalSettings()
    settings.snapshotSliceBytes = 1
    let journal = try SQLiteJournal.open(
      folder: folder.path, settings: settings, observer: recorder.observer()
    ).journal
    for sequence in UInt64(1)...10 { _ = journal.append(turn(sequence)) }
    recorder.waitDurable(10)
    // Three parts are committed when the fourth is asked for.
    _ = journal.snapshot(through: 10, parts: 6) { part in
      if part == 3 { try? folder.copyFiles(to: copy) }
      return [UInt8(part)]
    }
    recorder.wait { $0.snapshots == [10] }
    journal.close()
    #expect(try remains(of: copy).get() == 10)
    let again = Recorder()
    let (second, recovered) = try SQLiteJournal.open(folder: copy.path, observer: again.observer())
    #expect(recovered.snapshotSequence == nil)
    _ = second.snapshot(through: 10, parts: [[1], [2]])
    second.close()
    #expect(again.told.snapshots == [10])
    #expect(try JournalTools.read(folder: copy.path) { try $0.allParts() } == [[1], [2]])
  }

  @Test("backup and compaction keep everything; the backup is a journal of its own", .checks("G9"))
  func backsUp() throws {
    let folder = try TestFolder()
    let target = try TestFolder()
    let recorder = Recorder()
    let journal = try SQLiteJournal.open(folder: folder.path, observer: recorder.observer()).journal
    for sequence in UInt64(1)...500 {
      let rows: [Row] = [
        .stream(first: sequence, count: 1, body: [1]),
        .document(subject: sequence, kind: 1, body: [2]),
        .chapter(subject: sequence, first: 0, last: 5, body: [3]),
      ]
      _ = journal.append(turn(sequence, rows))
    }
    recorder.waitDurable(500)
    let copy = target.path + "/copy"
    try JournalTools.backup(folder: folder.path, to: copy)
    #expect(throws: JournalError.self) {
      try JournalTools.backup(folder: folder.path, to: copy)
    }
    #expect(throws: JournalError.self) { try JournalTools.compact(folder: folder.path) }
    journal.close()
    try JournalTools.compact(folder: folder.path)
    let report = try JournalTools.verify(folder: folder.path)
    #expect(report == (try JournalTools.verify(folder: copy)))
    #expect(report.lastSequence == 500 && report.documentRows == 500)
    #expect(report.streamRows == 500 && report.chapterRows == 500)
    let (second, recovered) = try SQLiteJournal.open(folder: copy, observer: Recorder().observer())
    #expect(recovered.nextEvent == 501)
    second.close()
  }

  @Test("a damaged journal can be cut before the damage by an explicit order (G6)")
  func cuts() throws {
    let folder = try TestFolder()
    let journal = try SQLiteJournal.open(folder: folder.path, observer: Recorder().observer())
      .journal
    for sequence in UInt64(1)...60 {
      _ = journal.append(turn(sequence, [.stream(first: sequence, count: 1, body: [1])]))
    }
    journal.close()
    var database = bytes(folder.database)
    let body = turn(50).body
    let start = try #require(database.indices.first { database[$0...].starts(with: body) })
    database[start] ^= 1
    try write(database, to: folder.database)
    let error = #expect(throws: JournalError.self) {
      try JournalTools.verify(folder: folder.path)
    }
    #expect(error?.kind == .damaged(record: "turn 50"))
    let report = try JournalTools.cut(folder: folder.path, after: 49)
    #expect(report.lastSequence == 49 && report.droppedTurns == 11 && !report.droppedLog)
    #expect(try remains(of: folder).get() == 49)
    #expect(try JournalTools.verify(folder: folder.path).streamRows == 49)
  }
}
