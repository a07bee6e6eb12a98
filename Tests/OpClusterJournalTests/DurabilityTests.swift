// What a journal in SQLite says about durability holds on disk: while it runs, after a crash at
// any commit, and after a write that failed.

import FoundationEssentials
import Glibc
import OpClusterJournal
import Synchronization
import Testing

@Suite struct DurabilityTests {
  @Test("onDurable comes after the commit: another connection sees the turn (G1, G3)")
  func commitsBeforeItSpeaks() throws {
    let folder = try TestFolder()
    let recorder = Recorder()
    let seen = Mutex<[(told: UInt64, found: Result<UInt64, any Error>)]>([])
    let observer = recorder.observer { through in
      let found = Result { try JournalTools.read(folder: folder.path) { $0.lastSequence } }
      seen.withLock { $0.append((through, found)) }
    }
    let journal = try SQLiteJournal.open(folder: folder.path, observer: observer).journal
    for sequence in UInt64(1)...200 {
      #expect(journal.append(turn(sequence)) == .accepted)
      if sequence % 20 == 0 { recorder.waitDurable(sequence) }
    }
    journal.close()
    let pairs = seen.withLock { $0 }
    #expect(pairs.count >= 10)
    for (told, found) in pairs { #expect(try found.get() == told) }
  }

  @Test("a crash at any commit loses nothing that was reported, whatever else runs (G1, G9, F2)")
  func survivesCrashes() throws {
    let folder = try TestFolder()
    let recorder = Recorder()
    let copies = Mutex<[(told: UInt64, copy: TestFolder)]>([])
    let observer = recorder.observer { through in
      // The journal's thread waits here, so the copy is what a kill at this moment leaves.
      guard let copy = try? TestFolder(), (try? folder.copyFiles(to: copy)) != nil else { return }
      copies.withLock { $0.append((through, copy)) }
    }
    var settings = JournalSettings()
    settings.checkpointPages = 20
    settings.snapshotSliceBytes = 1_000
    let journal = try SQLiteJournal.open(
      folder: folder.path, settings: settings, observer: observer
    ).journal
    for sequence in UInt64(1)...120 {
      let event = Row.stream(first: sequence, count: 1, body: [1])
      #expect(journal.append(turn(sequence, [event])) == .accepted)
      if sequence % 3 == 0 { recorder.waitDurable(sequence) }
      if sequence % 40 == 0 {
        let part = [UInt8](repeating: 5, count: 900)
        #expect(
          journal.snapshot(through: sequence, parts: Array(repeating: part, count: 6)) == .accepted)
      }
    }
    journal.close()
    let all = copies.withLock { $0 }
    #expect(all.count >= 40)
    for (told, copy) in all {
      #expect(try remains(of: copy).get() == told)
      let (again, recovered) = try SQLiteJournal.open(
        folder: copy.path, observer: Recorder().observer())
      #expect(again.append(turn(recovered.lastSequence + 1)) == .accepted)
      again.close()
      #expect(try JournalTools.verify(folder: copy.path).lastSequence == told + 1)
    }
  }

  @Test(
    "a full disk fails once, acknowledges nothing more, and keeps what it acknowledged (G7)")
  func failsOnce() throws {
    let folder = try TestFolder()
    let recorder = Recorder()
    var settings = JournalSettings()
    settings.maximumDatabaseBytes = 200_000
    let journal = try SQLiteJournal.open(
      folder: folder.path, settings: settings, observer: recorder.observer()
    ).journal
    var sequence: UInt64 = 1
    while sequence < 100_000, journal.append(turn(sequence)) != .closed {
      sequence += 1
      if sequence % 50 == 0 {
        recorder.wait { ($0.durable.last ?? 0) >= sequence - 1 || !$0.failures.isEmpty }
      }
    }
    recorder.wait { !$0.failures.isEmpty }
    #expect(journal.append(turn(sequence)) == .closed)
    #expect(journal.snapshot(through: 1, parts: [[1]]) == .closed)
    journal.close()
    let told = recorder.told
    #expect(told.failures.map(\.kind) == [.diskFull])
    #expect(told.failures.first?.exitStatus == 74)
    let acknowledged = try #require(told.durable.last)
    let copy = try TestFolder()
    try folder.copyFiles(to: copy)
    #expect(try remains(of: copy).get() == acknowledged)
  }

  @Test("what finds the disk full is written once more with the room of the reserve (G8)")
  func reserveIsGivenUp() throws {
    let folder = try TestFolder()
    let recorder = Recorder()
    var settings = JournalSettings()
    settings.maximumDatabaseBytes = 200_000
    settings.reserveBytes = 1 << 20
    let journal = try SQLiteJournal.open(
      folder: folder.path, settings: settings, observer: recorder.observer()
    ).journal
    #expect(bytes(folder.path + "/journal.reserve").count == 1 << 20)
    var sequence: UInt64 = 1
    while sequence < 100_000, journal.append(turn(sequence)) != .closed { sequence += 1 }
    recorder.wait { !$0.failures.isEmpty }
    journal.close()
    // It was tried twice: the bound of this test is not one that a reserve helps against.
    #expect(recorder.told.reserves == 1)
    #expect(bytes(folder.path + "/journal.reserve").isEmpty)
    let copy = try TestFolder()
    try folder.copyFiles(to: copy)
    #expect(try remains(of: copy).get() == recorder.told.durable.last)
  }

  @Test("a write that SQLite refuses is not retried and nothing of its transaction stays (G2, G7)")
  func refusedWrite() throws {
    let folder = try TestFolder()
    let recorder = Recorder()
    let journal = try SQLiteJournal.open(folder: folder.path, observer: recorder.observer()).journal
    let event = Row.stream(first: 5, count: 1, body: [1])
    _ = journal.append(turn(1, [event]))
    recorder.waitDurable(1)
    _ = journal.append(turn(2, [event]))
    recorder.wait { !$0.failures.isEmpty }
    journal.close()
    #expect(recorder.told.durable == [1])
    #expect(recorder.told.failures.map(\.kind) == [.storage])
    let copy = try TestFolder()
    try folder.copyFiles(to: copy)
    #expect(try remains(of: copy).get() == 1)
  }

  @Test("the folder is for its owner only, and a second opener is told who has it (G39, F31)")
  func guardsFolder() throws {
    let outer = try TestFolder()
    let path = outer.path + "/state"
    let journal = try SQLiteJournal.open(folder: path, observer: Recorder().observer()).journal
    let manager = FileManager.default
    for name in try manager.contentsOfDirectory(atPath: path) {
      #expect(mode(of: path + "/" + name) == 0o600, "\(name)")
    }
    #expect(mode(of: path) == 0o700)
    let second = #expect(throws: JournalError.self) {
      try SQLiteJournal.open(folder: path, observer: Recorder().observer())
    }
    #expect(second?.kind == .inUse(process: getpid()))
    #expect(second?.exitStatus == 73)
    #expect((journal.freeBytes() ?? 0) > 0)
    journal.close()
    withExtendedLifetime(journal) {}
  }

  private func mode(of path: String) -> mode_t {
    var status = stat()
    _ = unsafe stat(path, &status)
    return status.st_mode & 0o777
  }

  @Test("a folder that others can write to is refused (F59)")
  func refusesOpenFolder() throws {
    let folder = try TestFolder()
    _ = unsafe chmod(folder.path, 0o777)
    let error = #expect(throws: JournalError.self) {
      try SQLiteJournal.open(folder: folder.path, observer: Recorder().observer())
    }
    #expect(error?.kind == .unsafeFolder)
  }
}
