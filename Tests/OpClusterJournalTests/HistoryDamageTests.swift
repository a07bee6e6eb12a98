// A flipped byte in each table of history: it is named with its turn, nothing that copies or
// changes a journal goes past it, and the next step that is told works (G6, G9).

import FoundationEssentials
import Testing

@testable import OpClusterJournal

@Suite struct HistoryDamageTests {
  /// What each table holds of turn 22, told from everything else.
  private static let bodies: [(record: String, body: [UInt8])] = [
    ("stream row 22 (events of turn 22)", Array("the events of turn 22".utf8)),
    (
      "chapters row 22 (ends of attempts of turn 22)",
      Array("the attempts of turn 22".utf8)
    ),
    (
      "documents row 22 (what is kept of a graph of turn 22)",
      Array("the document of turn 22".utf8)
    ),
  ]

  /// 62 turns at rest, each with a row in every table; one bit of `body` is flipped.
  private func damaged(_ body: [UInt8], snapshot: UInt64?) throws -> TestFolder {
    let folder = try TestFolder()
    let recorder = Recorder()
    let journal = try SQLiteJournal.open(folder: folder.path, observer: recorder.observer()).journal
    for sequence in UInt64(1)...62 {
      let rows: [Row] = [
        .stream(first: sequence, count: 1, body: Array("the events of turn \(sequence)".utf8)),
        .chapter(
          subject: sequence, first: 0, last: 5, body: Array("the attempts of turn \(sequence)".utf8)
        ),
        .document(
          subject: sequence, kind: 1, body: Array("the document of turn \(sequence)".utf8)),
      ]
      _ = journal.append(turn(sequence, rows))
    }
    recorder.waitDurable(62)
    if let snapshot { _ = journal.snapshot(through: snapshot, parts: [[1, 2, 3]]) }
    journal.close()
    guard !body.isEmpty else { return folder }
    var database = bytes(folder.database)
    let starts = database.indices.filter { database[$0] == body[0] }
    let start = try #require(starts.first { database[$0...].starts(with: body) })
    database[start] ^= 1
    try write(database, to: folder.database)
    return folder
  }

  /// Expects that `body` refuses and leaves every byte as it was.
  private func refusal(
    _ folder: TestFolder, _ record: String, _ body: () throws -> Void
  ) throws -> JournalError {
    let before = bytes(folder.database)
    let error = #expect(throws: JournalError.self) { try body() }
    #expect(error?.kind == .damaged(record: record) && error?.exitStatus == 65)
    #expect(bytes(folder.database) == before, "\(record)")
    return try #require(error)
  }

  @Test("damage in history is named with its turn, and the cut before it works (G6)")
  func isNamed() throws {
    for (record, body) in Self.bodies {
      let folder = try damaged(body, snapshot: nil)
      let error = try refusal(folder, record) { _ = try JournalTools.verify(folder: folder.path) }
      #expect(error.advice.contains("'opcoord journal cut --at 21'"), "\(error)")
      // What a cut would leave is verified before it begins.
      _ = try refusal(folder, record) { try JournalTools.cut(folder: folder.path, after: 22) }
      _ = try refusal(folder, record) { try JournalTools.cut(folder: folder.path, after: 62) }
      #expect(try JournalTools.cut(folder: folder.path, after: 21).droppedTurns == 41)
      let left = try JournalTools.verify(folder: folder.path)
      #expect(left.lastSequence == 21 && left.streamRows == 21 && left.chapterRows == 21)
    }
  }

  @Test("where a snapshot lies behind it, no cut is advised, and the journal still opens (G6)")
  func behindASnapshot() throws {
    for (record, body) in Self.bodies {
      let folder = try damaged(body, snapshot: 40)
      let error = try refusal(folder, record) { _ = try JournalTools.verify(folder: folder.path) }
      #expect(error.advice.contains("no cut reaches it: the snapshot of turn 40"), "\(error)")
      #expect(error.advice.contains("the coordinator serves"))
      let (journal, recovered) = try SQLiteJournal.open(
        folder: folder.path, observer: Recorder().observer())
      #expect(recovered.lastSequence == 62)
      journal.close()
    }
  }

  @Test("compaction verifies history before it changes anything (G6, G9)")
  func compactionRefuses() throws {
    for snapshot in [nil, UInt64(40)] {
      for (record, body) in Self.bodies {
        let folder = try damaged(body, snapshot: snapshot)
        _ = try refusal(folder, record) { try JournalTools.compact(folder: folder.path) }
      }
    }
  }

  @Test("a backup of a damaged journal leaves nothing at the target (G6)")
  func backupLeavesNothing() throws {
    for (record, body) in Self.bodies {
      let folder = try damaged(body, snapshot: 40)
      let target = try TestFolder()
      // A new folder goes away again; one that was there stays, with what it held.
      _ = try refusal(folder, record) {
        try JournalTools.backup(folder: folder.path, to: "\(target.path)/copy")
      }
      #expect(!FileManager.default.fileExists(atPath: "\(target.path)/copy"))
      try write([1], to: "\(target.path)/other")
      _ = try refusal(folder, record) {
        try JournalTools.backup(folder: folder.path, to: target.path)
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: target.path) == ["other"])
    }
  }

  @Test("a backup that the owner cannot read leaves nothing, one over a journal all of it (G6)")
  func backupOfNoUse() throws {
    struct Meaningless: Error {}
    let (folder, target) = (try TestFolder(), try TestFolder())
    try SQLiteJournal.open(folder: folder.path, observer: Recorder().observer()).journal.close()
    let copy = "\(target.path)/copy"
    #expect(throws: Meaningless.self) {
      try JournalTools.backup(folder: folder.path, to: copy) { _ in throw Meaningless() }
    }
    #expect(!FileManager.default.fileExists(atPath: copy))
    try JournalTools.backup(folder: folder.path, to: copy)
    #expect(throws: JournalError.self) {
      try JournalTools.backup(folder: folder.path, to: copy) { _ in throw Meaningless() }
    }
    #expect(try JournalTools.verify(folder: copy).lastSequence == 0)
  }

  @Test("for a damaged page of the database only a backup is advised (G6)")
  func damagedPage() throws {
    let folder = try damaged([], snapshot: nil)
    var database = bytes(folder.database)
    for place in database.indices.dropFirst(4_096) where place % 4_096 < 16 {
      database[place] = 0xAA
    }
    try write(database, to: folder.database)
    let error = #expect(throws: JournalError.self) {
      try JournalTools.verify(folder: folder.path)
    }
    #expect(error?.exitStatus == 65)
    #expect(error?.advice == "nothing was changed; restore a backup", "\(error as Any)")
  }
}
