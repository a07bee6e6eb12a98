// How long the write-ahead log gets while a journal lives: as long as a checkpoint allows, longer
// only while a reader needs it.

import Glibc
import Synchronization
import Testing

@testable import OpClusterJournal

@Suite struct LogLengthTests {
  private static let most: UInt64 = 10_000_000

  /// A turn of some pages.
  private func large(_ sequence: UInt64) -> JournalTurn {
    let body = [UInt8](repeating: UInt8(truncatingIfNeeded: sequence), count: 2_000)
    return turn(sequence, [.stream(first: sequence, count: 1, body: body)])
  }

  private func append(
    _ numbers: ClosedRange<UInt64>, to journal: SQLiteJournal, _ recorder: Recorder
  ) {
    for sequence in numbers {
      while journal.append(large(sequence)) == .full { usleep(500) }
      // Small transactions and large ones.
      if sequence % 3_000 < 200 { recorder.waitDurable(sequence) }
    }
    recorder.waitDurable(numbers.upperBound)
  }

  @Test("the log stays under 10 MB over 20,000 turns, whoever has read meanwhile (G27)")
  func staysShort() throws {
    let folder = try TestFolder()
    let recorder = Recorder()
    let longest = Mutex<UInt64>(0)
    let observer = recorder.observer { _ in
      let size = FileSystem.size(folder.log) ?? 0
      longest.withLock { $0 = max($0, size) }
    }
    let journal = try SQLiteJournal.open(folder: folder.path, observer: observer).journal
    let reader = try journal.makeReader()
    append(1...9_000, to: journal, recorder)
    // A reader that has answered needs nothing any more.
    #expect(try reader.stream(from: 1, limit: ReadLimit(rows: 5)).count == 5)
    append(9_001...20_000, to: journal, recorder)
    #expect(longest.withLock { $0 } < Self.most)
    #expect(try reader.stream(from: 20_000, limit: ReadLimit(rows: 5)).count == 1)
    journal.close()
    #expect(try JournalTools.verify(folder: folder.path).lastSequence == 20_000)
  }

  @Test("a reader that stays makes the log longer, and it shrinks when the reader has gone (G27)")
  func shrinksAgain() throws {
    let folder = try TestFolder()
    let recorder = Recorder()
    let journal = try SQLiteJournal.open(folder: folder.path, observer: recorder.observer()).journal
    append(1...100, to: journal, recorder)
    for round in UInt64(0)..<2 {
      let reader = try Connection(path: folder.database, access: .readOnly)
      try reader.execute("BEGIN; SELECT count(*) FROM turns")
      let first = 101 + round * 10_000
      append(first...(first + 5_999), to: journal, recorder)
      #expect(try #require(FileSystem.size(folder.log)) > Self.most, "the reader needs it")
      try reader.execute("COMMIT")
      append((first + 6_000)...(first + 9_999), to: journal, recorder)
      #expect(try #require(FileSystem.size(folder.log)) < Self.most)
    }
    journal.close()
    #expect(try JournalTools.verify(folder: folder.path).lastSequence == 20_100)
  }
}
