// Which cuts a journal allows: never one that leaves nothing to read, and a refusal changes nothing
// (G5, G6, G9). Real files, with and without a snapshot.

import Testing

@testable import OpClusterJournal

@Suite struct CutTests {
  /// A journal at rest of turns with an event each, and perhaps a snapshot.
  /// - Parameter isSwept: Whether the turns that the snapshot replaces are gone already.
  private func journal(
    turns: UInt64, snapshot: UInt64? = nil, isSwept: Bool = true
  ) throws -> TestFolder {
    let folder = try TestFolder()
    let recorder = Recorder()
    let journal = try SQLiteJournal.open(folder: folder.path, observer: recorder.observer()).journal
    for sequence in UInt64(1)...turns {
      _ = journal.append(turn(sequence, [.stream(first: sequence, count: 1, body: [1])]))
    }
    recorder.waitDurable(turns)
    if let snapshot { _ = journal.snapshot(through: snapshot, parts: [[1, 2, 3], [4]]) }
    journal.close()
    if snapshot != nil, isSwept { try JournalTools.compact(folder: folder.path) }
    return folder
  }

  /// Cuts and expects a refusal that has left every byte as it was.
  private func refusal(
    _ folder: TestFolder, at last: UInt64, _ place: SourceLocation = #_sourceLocation
  ) throws -> JournalError {
    let (database, log) = (bytes(folder.database), bytes(folder.log))
    let error = #expect(throws: JournalError.self, sourceLocation: place) {
      try JournalTools.cut(folder: folder.path, after: last)
    }
    #expect(bytes(folder.database) == database && bytes(folder.log) == log, sourceLocation: place)
    return try #require(error, sourceLocation: place)
  }

  private func flip(_ wanted: [UInt8], in folder: TestFolder) throws {
    var database = bytes(folder.database)
    let start = try #require(database.indices.first { database[$0...].starts(with: wanted) })
    database[start] ^= 1
    try write(database, to: folder.database)
  }

  @Test("a cut below the snapshot is refused: its turns are gone (G6, G9)")
  func belowTheSnapshot() throws {
    let folder = try journal(turns: 62, snapshot: 40)
    for last in [UInt64(0), 1, 21, 39] {
      let error = try refusal(folder, at: last)
      #expect(error.kind == .impossibleCut(earliest: 40) && error.exitStatus == 64)
      #expect(
        error.advice.contains("the earliest possible cut is --at 40, the last turn is 62"),
        "\(error)")
    }
    #expect(try JournalTools.verify(folder: folder.path).lastSequence == 62)
    let cut = try JournalTools.cut(folder: folder.path, after: 50)
    #expect(cut.lastSequence == 50 && cut.droppedTurns == 12 && cut.isChanged)
    #expect(try remains(of: folder).get() == 50)
    #expect(try JournalTools.read(folder: folder.path) { $0.nextEvent } == 51)
    #expect(try JournalTools.cut(folder: folder.path, after: 40).droppedTurns == 10)
    let left = try JournalTools.verify(folder: folder.path)
    #expect(left.snapshotSequence == 40 && left.lastSequence == 40 && left.streamRows == 40)
  }

  @Test("a journal of a snapshot alone cannot be cut before it (G6, G9)")
  func snapshotAlone() throws {
    let folder = try journal(turns: 62, snapshot: 62)
    let error = try refusal(folder, at: 21)
    #expect(error.kind == .impossibleCut(earliest: 62))
    #expect(try JournalTools.verify(folder: folder.path).snapshotSequence == 62)
  }

  @Test("without a snapshot every turn but none can be the last one (G6)")
  func withoutSnapshot() throws {
    let folder = try journal(turns: 62)
    let error = try refusal(folder, at: 0)
    #expect(error.kind == .impossibleCut(earliest: 1), "\(error)")
    let cut = try JournalTools.cut(folder: folder.path, after: 21)
    #expect(cut.lastSequence == 21 && cut.droppedTurns == 41)
    #expect(try remains(of: folder).get() == 21)
    #expect(try JournalTools.cut(folder: folder.path, after: 1).droppedTurns == 20)
    #expect(try remains(of: folder).get() == 1)
  }

  @Test("a cut at or beyond the last turn changes nothing and says so (G6)")
  func nothingBehind() throws {
    for snapshot in [nil, UInt64(40), 62] {
      let folder = try journal(turns: 62, snapshot: snapshot)
      let before = bytes(folder.database)
      for last in [UInt64(62), 63, .max] {
        let cut = try JournalTools.cut(folder: folder.path, after: last)
        #expect(!cut.isChanged && cut.lastSequence == 62 && cut.droppedTurns == 0)
        #expect(bytes(folder.database) == before)
      }
      #expect(try JournalTools.read(folder: folder.path) { $0.isAtHome })
    }
  }

  @Test("turns that a snapshot has not yet replaced allow a cut before it (G6, G9)")
  func beforeTheSweep() throws {
    let folder = try journal(turns: 62, snapshot: 40, isSwept: false)
    let cut = try JournalTools.cut(folder: folder.path, after: 21)
    #expect(cut.droppedTurns == 41)
    #expect(try JournalTools.verify(folder: folder.path).snapshotSequence == nil)
    #expect(try remains(of: folder).get() == 21)
  }

  @Test("a cut behind damage is refused and names the latest one before it (G6)")
  func behindDamage() throws {
    for snapshot in [nil, UInt64(40)] {
      let folder = try journal(turns: 62, snapshot: snapshot)
      try flip(turn(50).body, in: folder)
      let found = #expect(throws: JournalError.self) {
        try JournalTools.verify(folder: folder.path)
      }
      #expect(found?.advice.hasSuffix("'opcoord journal cut --at 49'") == true, "\(found as Any)")
      for last in [UInt64(50), 55, 99] {
        let error = try refusal(folder, at: last)
        #expect(error.kind == .impossibleCut(earliest: snapshot ?? 1))
        #expect(error.message.contains("turn 50 is damaged"), "\(error)")
        #expect(error.advice.contains("the latest before the damage --at 49"), "\(error)")
      }
      #expect(try JournalTools.cut(folder: folder.path, after: 49).droppedTurns == 13)
      #expect(try JournalTools.verify(folder: folder.path).lastSequence == 49)
    }
  }

  @Test("where the snapshot is damaged only turns that are still there help (G6)")
  func damagedSnapshot() throws {
    for isSwept in [true, false] {
      let folder = try journal(turns: 62, snapshot: 40, isSwept: isSwept)
      try Connection(path: folder.database, access: .readWrite)
        .execute("UPDATE snapshots SET body = x'010204' WHERE part = 0")
      let found = #expect(throws: JournalError.self) {
        try JournalTools.verify(folder: folder.path)
      }
      #expect(found?.kind == .damaged(record: "snapshot 40 part 0"))
      if isSwept {
        for last in [UInt64(39), 40, 50, 62] {
          let error = try refusal(folder, at: last)
          #expect(error.kind == .impossibleCut(earliest: nil) && error.exitStatus == 65)
          #expect(error.advice == "nothing was changed; restore a backup")
        }
      } else {
        #expect(try JournalTools.cut(folder: folder.path, after: 39).droppedTurns == 23)
        #expect(try remains(of: folder).get() == 39)
      }
    }
  }

  @Test("what the owner cannot read is not left behind by a cut: nothing is changed (G6)")
  func refusedByItsOwner() throws {
    struct Meaningless: Error {}
    let folder = try journal(turns: 62)
    let before = bytes(folder.database)
    var seen: [UInt64] = []
    #expect(throws: Meaningless.self) {
      try JournalTools.cut(folder: folder.path, after: 21) { recovered in
        seen = try recovered.allTurns().map(\.sequence)
        #expect(recovered.lastSequence == 21 && recovered.nextEvent == 22)
        throw Meaningless()
      }
    }
    #expect(seen == Array(1...21))
    #expect(bytes(folder.database) == before)
  }

  @Test("a damaged write-ahead log can be cut at the last turn before the damage (G6)")
  func damagedLog() throws {
    let (copy, sizes) = try crashedJournal(turns: 9)
    var log = bytes(copy.log)
    log[sizes[4] + 100] ^= 1
    try write(log, to: copy.log)
    let found = #expect(throws: JournalError.self) { try JournalTools.verify(folder: copy.path) }
    #expect(found?.advice.contains("the last turn that 'opcoord journal export'") == true)
    _ = try refusal(copy, at: 0)
    let cut = try JournalTools.cut(folder: copy.path, after: 5)
    #expect(cut.lastSequence == 5 && cut.droppedTurns == 0 && cut.droppedLog)
    #expect(try remains(of: copy).get() == 5)
  }
}
