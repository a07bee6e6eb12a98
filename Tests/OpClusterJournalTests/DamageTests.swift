// What truncation and flipped bits do to a journal (F26, F27): a prefix of what was committed, or
// a refusal that names the place; never other bytes, and nothing changed on disk.

import FoundationEssentials
import Testing

@testable import OpClusterJournal

@Suite struct DamageTests {
  /// A journal of 60 turns at rest: everything is in the database file.
  private func rested() throws -> TestFolder {
    let folder = try TestFolder()
    let journal = try SQLiteJournal.open(folder: folder.path, observer: Recorder().observer())
      .journal
    for sequence in UInt64(1)...60 { _ = journal.append(turn(sequence)) }
    journal.close()
    return folder
  }

  private func open(_ folder: TestFolder) -> JournalError? {
    do {
      _ = try SQLiteJournal.open(folder: folder.path, observer: Recorder().observer())
      return nil
    } catch {
      return error
    }
  }

  @Test("the log cut anywhere in its last three commits leaves exactly the whole commits (G5, F26)")
  func truncatedLog() throws {
    let (folder, sizes) = try crashedJournal(turns: 6)
    let log = bytes(folder.log)
    #expect(sizes.last == log.count)
    // Every length around the head of a frame; every eleventh within its page.
    let frame = 24 + 4_096
    for length in sizes[2]...log.count {
      let place = (length - 32) % frame
      guard place < 40 || place > frame - 4 || place % 11 == 0 else { continue }
      try write(Array(log[..<length]), to: folder.log)
      let whole = sizes.filter { $0 <= length }.count
      #expect(try remains(of: folder).get() == UInt64(whole), "cut at \(length)")
      // What lies behind the last whole commit is told, unless it is too short to be told from
      // what an earlier log left there.
      let dropped = try JournalTools.read(folder: folder.path) { $0.droppedFrames }
      let rest = length - (sizes.last { $0 <= length } ?? 0)
      #expect((dropped > 0) == (rest >= 16), "\(rest) bytes behind a commit, \(dropped) pages")
    }
  }

  @Test("a cut log opens for writing and goes on where it ended (G5, F26)")
  func continuesAfterCut() throws {
    let (folder, sizes) = try crashedJournal(turns: 6)
    try write(Array(bytes(folder.log)[..<(sizes[4] + 500)]), to: folder.log)
    let (journal, recovered) = try SQLiteJournal.open(
      folder: folder.path, observer: Recorder().observer())
    #expect(recovered.lastSequence == 5)
    #expect(journal.append(turn(6)) == .accepted)
    journal.close()
    #expect(try JournalTools.verify(folder: folder.path).lastSequence == 6)
  }

  @Test("a bit flipped in the last record of the log leaves a prefix (G5, F27)")
  func flippedEnd() throws {
    let (folder, sizes) = try crashedJournal(turns: 6)
    let log = bytes(folder.log)
    for place in sizes[4]..<log.count where (place - sizes[4]) < 300 || place % 3 == 0 {
      var damaged = log
      damaged[place] ^= 1 << UInt8(place % 8)
      try write(damaged, to: folder.log)
      #expect(try remains(of: folder).get() == 5, "byte \(place)")
    }
  }

  @Test(
    "a bit flipped ahead of synced commits is refused by name, and nothing is changed (G6, F27)")
  func flippedMiddle() throws {
    let (folder, sizes) = try crashedJournal(turns: 6)
    let log = bytes(folder.log)
    let database = bytes(folder.database)
    for place in Array(stride(from: 0, to: 32, by: 5))
      + Array(stride(from: 40, to: sizes[2], by: 977))
    {
      var damaged = log
      damaged[place] ^= 1 << UInt8(place % 8)
      try write(damaged, to: folder.log)
      let error = try #require(open(folder), "byte \(place)")
      #expect(error.exitStatus == 65)
      guard case .damaged(let record) = error.kind else {
        Issue.record("byte \(place): \(error)")
        continue
      }
      #expect(record.contains("journal.db-wal"))
      #expect(bytes(folder.log) == damaged && bytes(folder.database) == database)
    }
  }

  @Test("a bit flipped in the last record of the database is refused or leaves a prefix (G6, F27)")
  func flippedRecord() throws {
    let folder = try rested()
    let database = bytes(folder.database)
    let body = turn(60).body
    let start = try #require(database.indices.first { database[$0...].starts(with: body) })
    var refusals = 0
    for place in (start - 20)..<(start + body.count) {
      var damaged = database
      damaged[place] ^= 1 << UInt8(place % 8)
      try write(damaged, to: folder.database)
      if case .failure(let error) = try remains(of: folder) {
        refusals += 1
        if place >= start { #expect(error.kind == .damaged(record: "turn 60")) }
      }
    }
    #expect(refusals >= body.count)
  }

  @Test("bits flipped at 200 places of the database never yield other turns (G6, F27)")
  func flippedAnywhere() throws {
    let folder = try rested()
    let database = bytes(folder.database)
    var state: UInt64 = 42
    var refusals = 0
    for _ in 0..<200 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      var damaged = database
      damaged[Int(state >> 33) % database.count] ^= 1 << UInt8(state >> 29 & 7)
      try write(damaged, to: folder.database)
      if case .failure = try remains(of: folder) { refusals += 1 }
    }
    #expect(refusals > 20)
  }

  /// Found by row F27: `sequence INTEGER PRIMARY KEY` with a bit of INTEGER wrong is a column that
  /// SQLite reads as null in every row.
  @Test("a bit flipped where the tables are described hides none of them (G6, F27)")
  func flippedDescription() throws {
    let folder = try rested()
    let database = bytes(folder.database)
    var refusals = 0
    // The file's header, and the descriptions, which fill the end of its first page: each byte, and
    // two bits of each.
    for place in Array(0..<120) + Array(2_800..<4_096) {
      for bit in [place % 8, (place + 5) % 8] {
        var damaged = database
        damaged[place] ^= 1 << UInt8(bit)
        try write(damaged, to: folder.database)
        switch try remains(of: folder) {
        case .success(let turns): #expect(turns == 60, "bit \(bit) of byte \(place)")
        case .failure: refusals += 1
        }
      }
    }
    #expect(refusals > 1_000)
  }

  @Test("the last turns do not vanish while their events are there (G6)")
  func missingEnd() throws {
    let folder = try TestFolder()
    let journal = try SQLiteJournal.open(folder: folder.path, observer: Recorder().observer())
      .journal
    for sequence in UInt64(1)...9 {
      var turn = turn(sequence)
      turn.attachments.append(.stream(first: sequence, count: 1, body: [1]))
      _ = journal.append(turn)
    }
    journal.close()
    try Connection(path: folder.database, access: .readWrite).execute(
      "DELETE FROM turns WHERE sequence > 7")
    #expect(open(folder)?.kind == .damaged(record: "turn 8"))
    #expect(throws: JournalError.self) { try JournalTools.verify(folder: folder.path) }
    try JournalTools.cut(folder: folder.path, after: 7)
    #expect(open(folder) == nil)
  }

  @Test("a journal that lost its database is not taken for a new one (G6)")
  func lostDatabase() throws {
    let folder = try rested()
    try FileManager.default.removeItem(atPath: folder.database)
    #expect(open(folder)?.exitStatus == 65)
    try write([], to: folder.database)
    #expect(open(folder)?.exitStatus == 65)
    try write(Array(repeating: 7, count: 8_192), to: folder.database)
    #expect(open(folder)?.exitStatus == 65)
  }

  @Test("a missing turn, a lost part of a snapshot and a foreign format are refused by name (G6)")
  func missingRecords() throws {
    let changes: [(change: String, kind: JournalError.Kind)] = [
      ("DELETE FROM turns WHERE sequence = 30", .damaged(record: "turn 30")),
      ("DELETE FROM turns WHERE sequence = 1", .damaged(record: "turn 1")),
      ("UPDATE turns SET epoch = 8 WHERE sequence = 9", .damaged(record: "turn 9")),
      ("UPDATE meta SET value = 2 WHERE key = 'format'", .format(found: 2)),
      ("DROP TABLE documents", .damaged(record: "table documents")),
      (
        "INSERT INTO snapshots VALUES (20, 0, 1, 5, x'00')",
        .damaged(record: "snapshot 20 part 0")
      ),
    ]
    for (change, kind) in changes {
      let folder = try rested()
      try Connection(path: folder.database, access: .readWrite).execute(change)
      #expect(open(folder)?.kind == kind, "\(change)")
    }
  }
}
