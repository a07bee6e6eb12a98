// A sync that fails (G7): what it covered is never acknowledged, nothing is written after it, and
// what was acknowledged is on the disk, even where the system has dropped what it could not write
// and says that all is well from then on.

import OpClusterJournal
import Testing

@Suite struct FailingSyncTests {
  /// A journal on a disk of which one sync fails; what it told, and what a loss of power leaves.
  private func run(
    _ target: FailingSync.Target, at number: Int
  ) throws -> (told: Recorder.Told, disk: FailingSync, left: TestFolder) {
    let folder = try TestFolder()
    let disk = FailingSync(folder: folder.path)
    let recorder = Recorder()
    var settings = JournalSettings()
    settings.checkpointPages = 12
    let journal = try SQLiteJournal.open(
      folder: folder.path, settings: settings, observer: recorder.observer()
    ).journal
    disk.arm(target, at: number)
    var sequence: UInt64 = 0
    while sequence < 2_000, recorder.told.failures.isEmpty {
      sequence += 1
      if journal.append(turn(sequence)) == .closed { break }
      // One by one, so that each turn has a sync; every other time two at once.
      if sequence % 3 != 0 {
        recorder.wait { ($0.durable.last ?? 0) >= sequence || !$0.failures.isEmpty }
      }
    }
    recorder.wait { !$0.failures.isEmpty }
    let told = recorder.told
    // Whoever goes on is not heard.
    #expect(journal.append(turn(sequence + 1)) == .closed)
    #expect(journal.snapshot(through: 1, parts: [[1]]) == .closed)
    journal.close()
    #expect(recorder.told.durable == told.durable, "acknowledged after the failure")
    #expect(recorder.told.failures.count == 1)
    let left = try TestFolder()
    for (name, bytes) in disk.synced { try write(bytes, to: "\(left.path)/\(name)") }
    try write(
      bytes("\(folder.path)/journal.created"), to: "\(left.path)/journal.created")
    return (told, disk, left)
  }

  @Test(
    "a sync of the log that fails ends it, and its turns were never acknowledged (G1, G7)",
    arguments: 1...12)
  func ofTheLog(number: Int) throws {
    let (told, disk, left) = try run(.log, at: number)
    #expect(disk.failures == 1)
    #expect(told.failures.map(\.kind) == [.storage])
    #expect(told.failures.first?.exitStatus == 74)
    #expect(disk.callsAfterFailure == 0, "written or synced again after the failure")
    #expect(try remains(of: left).get() == told.durable.last ?? 0)
    try servesAgain(left, through: told.durable.last ?? 0)
  }

  @Test(
    "a sync of the database that fails ends it, and the log keeps what it was to hold (G1, G7)",
    arguments: 1...4)
  func ofTheDatabase(number: Int) throws {
    let (told, disk, left) = try run(.database, at: number)
    #expect(disk.failures == 1)
    #expect(told.failures.first?.exitStatus == 74)
    #expect(disk.callsAfterFailure == 0, "written or synced again after the failure")
    let acknowledged = try #require(told.durable.last)
    #expect(try remains(of: left).get() >= acknowledged)
    try servesAgain(left, through: try remains(of: left).get())
  }

  /// The next life goes on where the acknowledged one ended.
  private func servesAgain(_ folder: TestFolder, through sequence: UInt64) throws {
    let recorder = Recorder()
    let (journal, recovered) = try SQLiteJournal.open(
      folder: folder.path, observer: recorder.observer())
    #expect(recovered.lastSequence == sequence)
    #expect(journal.append(turn(sequence + 1)) == .accepted)
    recorder.waitDurable(sequence + 1)
    journal.close()
    #expect(try JournalTools.verify(folder: folder.path).lastSequence == sequence + 1)
  }
}
