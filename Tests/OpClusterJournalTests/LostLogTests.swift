// A write-ahead log that is lost, emptied or cut short after a kill: turns that were acknowledged
// do not vanish without a word. What only a loss of power could have done is no loss.

import FoundationEssentials
import Testing

@testable import OpClusterJournal

@Suite struct LostLogTests {
  private func refusal(of folder: TestFolder) -> JournalError? {
    do {
      try SQLiteJournal.open(folder: folder.path, observer: Recorder().observer()).journal.close()
      return nil
    } catch {
      return error
    }
  }

  /// The log without what an older one has left behind it.
  private func ownLog(of folder: TestFolder) -> [UInt8] {
    let log = bytes(folder.log)
    let begins = stride(from: 32, to: log.count, by: 24 + 4_096)
    let end = begins.first { log[($0 + 8)..<($0 + 16)] != log[16..<24] }
    return Array(log[..<(end ?? log.count)])
  }

  /// What a refusal must be like, and that the cut which it advises works.
  private func expectRefusal(_ folder: TestFolder, _ what: String) throws {
    let before = try content(of: folder)
    let error = try #require(refusal(of: folder), "\(what)")
    #expect(error.exitStatus == 65 && error.advice.hasPrefix("nothing was changed"), "\(what)")
    #expect(throws: JournalError.self, "\(what)") { try JournalTools.verify(folder: folder.path) }
    // What is left is printed, and then it is said that it is not all.
    var printed: UInt64 = 0
    #expect(throws: JournalError.self, "\(what)") {
      try JournalTools.readUntilDamage(folder: folder.path) { left in
        try left.forEachTurn { printed = $0.sequence }
      }
    }
    #expect(try content(of: folder) == before, "\(what)")
    #expect(error.advice.contains("'opcoord journal cut --at \(printed)'"), "\(what): \(error)")
    let cut = try JournalTools.cut(folder: folder.path, after: printed)
    #expect(cut.droppedLog && cut.lastSequence == printed, "\(what)")
    #expect(refusal(of: folder) == nil)
    #expect(try JournalTools.verify(folder: folder.path).lastSequence == printed)
  }

  @Test("a log that is missing, empty, or shorter than what was told is refused (G1, G6)")
  func afterAKill() throws {
    let killed = try killedJournal(turns: 33)
    let log = ownLog(of: killed)
    #expect(log.count > 4 * 4_120)
    for length in [nil, 0, 31, 32, 56, 100, 32 + 4_120, log.count - 4_120, log.count - 1] {
      let folder = try TestFolder()
      try killed.copyFiles(to: folder, isKill: true)
      try FileManager.default.removeItem(atPath: folder.log)
      if let length { try write(Array(log[..<length]), to: folder.log) }
      try expectRefusal(folder, "log of \(length.map { "\($0)" } ?? "no") bytes")
    }
    #expect(refusal(of: killed) == nil, "with its log it is whole")
    #expect(try JournalTools.verify(folder: killed.path).lastSequence == 33)
  }

  @Test("a database alone, copied from a journal in use, is refused (G6)")
  func databaseAlone() throws {
    let killed = try killedJournal(turns: 33)
    for isEmptied in [false, true] {
      let folder = try TestFolder()
      try killed.copyFiles(to: folder)
      try FileManager.default.removeItem(atPath: folder.log)
      if isEmptied { try write([], to: folder.log) }
      try expectRefusal(folder, "no mark, emptied: \(isEmptied)")
    }
  }

  @Test("after a loss of power the mark may be behind, the log's torn end is dropped (G5)")
  func afterALossOfPower() throws {
    let killed = try killedJournal(turns: 33)
    let log = ownLog(of: killed)
    var mark = try #require(LifeMark(bytes(killed.mark)))
    #expect(mark.turn == 33 && mark.boot == Boot.current)
    mark.turn = 20
    mark.boot ^= 1
    for length in [log.count - 100, log.count] {
      let folder = try TestFolder()
      try killed.copyFiles(to: folder, isKill: true)
      try write(mark.bytes, to: folder.mark)
      try write(Array(log[..<length]), to: folder.log)
      #expect(refusal(of: folder) == nil, "\(length) of \(log.count) bytes")
    }
    // But a log was there.
    let folder = try TestFolder()
    try killed.copyFiles(to: folder, isKill: true)
    mark.turn = 1
    try write(mark.bytes, to: folder.mark)
    try write([], to: folder.log)
    try expectRefusal(folder, "an old mark")
  }

  @Test("a log that another program has merged into the database is no loss (G1, G6)")
  func mergedByOthers() throws {
    let folder = try killedJournal(turns: 33)
    do {
      let other = try Connection(path: folder.database, access: .readWrite)
      _ = try other.number("SELECT count(*) FROM turns")
    }
    #expect(bytes(folder.log).isEmpty, "the last one that closes a database merges its log")
    #expect(refusal(of: folder) == nil)
    #expect(try JournalTools.verify(folder: folder.path).lastSequence == 33)
  }

  @Test("a life that ended in good order needs no log, and no mark of another life counts (G6)")
  func otherLives() throws {
    let folder = try TestFolder()
    let recorder = Recorder()
    let journal = try SQLiteJournal.open(folder: folder.path, observer: recorder.observer()).journal
    for sequence in UInt64(1)...5 { _ = journal.append(turn(sequence)) }
    journal.close()
    #expect(bytes(folder.log).isEmpty)
    #expect(refusal(of: folder) == nil)
    try write(LifeMark(life: 3, boot: Boot.current, turn: 99).bytes, to: folder.mark)
    #expect(refusal(of: folder) == nil)
    try write([1, 2, 3], to: folder.mark)
    #expect(refusal(of: folder) == nil)
    try FileManager.default.removeItem(atPath: folder.mark)
    #expect(refusal(of: folder) == nil)
    #expect(try JournalTools.verify(folder: folder.path).lastSequence == 5)
  }

  @Test func theMarkIsWhatWasWritten() {
    let mark = LifeMark(life: .max, boot: .min, turn: 0x1234_5678_9ABC)
    #expect(mark.bytes.count == LifeMark.size && LifeMark(mark.bytes) == mark)
    for place in mark.bytes.indices {
      var damaged = mark.bytes
      damaged[place] ^= 4
      #expect(LifeMark(damaged) == nil, "byte \(place)")
    }
    #expect(LifeMark([]) == nil && LifeMark(Array(mark.bytes.dropLast())) == nil)
  }
}
