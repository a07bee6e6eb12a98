// Damage in the write-ahead log against what a crash can tear: whatever is flipped, at most the
// last commit is dropped without a word, and whatever a crash leaves of it, nothing is refused.

import Citations
import Testing

@testable import OpClusterJournal

@Suite struct LogDamageTests {
  private static let frame = 24 + 4_096

  /// A log of commits of several pages each, and the number of frames after each commit.
  private func log(commits: UInt64) throws -> (folder: TestFolder, ends: [Int]) {
    let folder = try TestFolder()
    let recorder = Recorder()
    let journal = try SQLiteJournal.open(folder: folder.path, observer: recorder.observer()).journal
    let ends = append(1...commits, to: journal, in: folder, recorder)
    let copy = try TestFolder()
    try folder.copyFiles(to: copy)
    journal.close()
    return (copy, ends)
  }

  private func append(
    _ commits: ClosedRange<UInt64>, to journal: SQLiteJournal, in folder: TestFolder,
    _ recorder: Recorder
  ) -> [Int] {
    commits.map { sequence in
      let body = [UInt8](repeating: 7, count: sequence % 2 == 0 ? 9_000 : 10)
      _ = journal.append(
        turn(sequence, sequence == 3 ? [] : [.stream(first: sequence, count: 1, body: body)]))
      recorder.waitDurable(sequence)
      return (bytes(folder.log).count - 32) / Self.frame
    }
  }

  private func isRefused(_ log: [UInt8], _ path: String) throws -> Bool {
    try write(log, to: path)
    do throws(JournalError) {
      _ = try WriteAheadLog.check(path)
      return false
    } catch {
      #expect(error.exitStatus == 65, "\(error)")
      return true
    }
  }

  @Test("a flipped bit in any frame is refused, but for those of the last commit (G5, G6)")
  func everyFrame() throws {
    let (folder, ends) = try log(commits: 6)
    let whole = bytes(folder.log)
    let path = folder.path + "/flipped"
    let lastBegin = try #require(ends.dropLast().last)
    let header =
      (0..<8).flatMap { byte in (0..<8).map { (byte, $0) } }
      + (8..<24).flatMap { byte in [(byte, byte % 8), (byte, (byte + 3) % 8)] }
    let places = header + [24, 700, 2_048, 4_119].map { ($0, $0 % 8) }
    for frame in 0..<ends[5] {
      for (byte, bit) in places {
        var log = whole
        log[32 + frame * Self.frame + byte] ^= 1 << UInt8(bit)
        let isRefused = try isRefused(log, path)
        // What no crash leaves is refused in the last one, too: two frames that mark a commit.
        #expect(
          isRefused || frame >= lastBegin, "bit \(bit) of byte \(byte) of frame \(frame + 1)")
      }
    }
    // And what SQLite makes of it: with a bit of the last commit flipped, the one before it is
    // there.
    var log = whole
    log[32 + lastBegin * Self.frame + 100] ^= 1
    try write(log, to: folder.log)
    #expect(try remains(of: folder).get() == 5)
  }

  @Test("a commit that no longer looks like one is noticed by the pages written again (G6)")
  func unmarkedCommit() throws {
    let (folder, ends) = try log(commits: 6)
    let whole = bytes(folder.log)
    for end in ends.dropLast() {
      var log = whole
      for byte in 4..<8 { log[32 + (end - 1) * Self.frame + byte] = 0 }
      #expect(try isRefused(log, folder.path + "/unmarked"), "commit at frame \(end)")
    }
  }

  @Test("whatever part of the last commit a crash has kept, it is dropped and not refused (G5)")
  func everyTear() throws {
    let (folder, ends) = try log(commits: 6)
    let whole = bytes(folder.log)
    let begin = ends[4]
    let frames = ends[5] - begin
    #expect(frames > 2 && frames < 8)
    // What was never written shows nothing, or an older log.
    var older = Array(whole[(32 + Self.frame)..<(32 + 2 * Self.frame)])
    older[11] &-= 1
    older[12] ^= 0x5A
    older[13] ^= 0xC3
    for missing in 1..<(1 << frames) {
      for (kind, unwritten) in [[UInt8](repeating: 0, count: Self.frame), older].enumerated() {
        for kept in [0, 512, 2_048] {
          var log = whole
          for frame in 0..<frames where missing & (1 << frame) != 0 {
            let start = 32 + (begin + frame) * Self.frame
            log.replaceSubrange((start + kept)..<(start + Self.frame), with: unwritten[kept...])
          }
          #expect(
            try !isRefused(log, folder.path + "/torn"), "\(missing) \(kind) kept \(kept)")
          if missing == 2 {
            try write(log, to: folder.log)
            #expect(try remains(of: folder).get() == 5)
          }
        }
      }
    }
  }

  /// A name that leads through a file: `stat` fails, and says nothing about a log.
  @Test("a log that cannot be looked at is not taken for none (G6)", .checks("G6"))
  func unseenLog() throws {
    let (folder, _) = try log(commits: 1)
    let error = #expect(throws: JournalError.self) {
      try WriteAheadLog.check(folder.log + "/below")
    }
    #expect(error?.kind == .storage, "\(error as Any)")
    #expect(try WriteAheadLog.check(folder.path + "/nothing") == 0)
  }

  /// What a reader sees of a log that begins anew while it is read: the old header, the first
  /// frames of the old log, then those of the new one, and behind them the rest of the old one.
  @Test("beside a journal that works, nothing of its log seems damaged (G6)", .checks("G6"))
  func besideAWriter() throws {
    let folder = try TestFolder()
    let recorder = Recorder()
    var settings = JournalSettings()
    settings.checkpointPages = 20
    let journal = try SQLiteJournal.open(
      folder: folder.path, settings: settings, observer: recorder.observer()
    ).journal
    let ends = append(1...6, to: journal, in: folder, recorder)
    let old = bytes(folder.log)
    _ = append(7...9, to: journal, in: folder, recorder)
    // What is beyond the wished length is cut off only after the first commit.
    let begun = bytes(folder.log)
    let later = begun + old[begun.count...]
    defer { journal.close() }
    #expect(old[16..<24] != later[16..<24], "begun anew")
    for passed in 0...ends[5] {
      let place = 32 + passed * Self.frame
      var looks = [old[..<place] + later[place...], later[...]]
      let dropped = try WriteAheadLog.check(folder.log) { path, first, visit throws(JournalError) in
        Self.visit(looks.count > 1 ? looks.removeFirst() : looks[0], first, visit)
      }
      #expect(dropped == 0, "frame \(passed)")
    }
    // One frame of the end was half written when it was read, and those behind it were there.
    for frame in 0..<ends[4] {
      var torn = old[...]
      torn[32 + frame * Self.frame + 2_000] ^= 1
      var looks = [torn, old[...]]
      let dropped = try WriteAheadLog.check(folder.log) { path, first, visit throws(JournalError) in
        Self.visit(looks.count > 1 ? looks.removeFirst() : looks[0], first, visit)
      }
      #expect(dropped == 0, "frame \(frame)")
    }
    // Whoever never comes to the same end says so, and speaks of no damage.
    var number = 0
    let error = #expect(throws: JournalError.self) {
      try WriteAheadLog.check(folder.log) { path, first, visit throws(JournalError) in
        var torn = old[...]
        number += 1
        torn[32 + number % 4 * Self.frame + 2_000] ^= 1
        Self.visit(torn, first, visit)
      }
    }
    #expect(error?.kind == .storage && number <= 20)
  }

  private static func visit(
    _ bytes: ArraySlice<UInt8>, _ first: Int, _ visit: ([UInt8]) -> Int?
  ) {
    var rest = bytes
    var next: Int? = first
    while let wanted = next, !rest.isEmpty {
      next = visit(Array(rest.prefix(wanted)))
      rest = rest.dropFirst(wanted)
    }
  }
}
