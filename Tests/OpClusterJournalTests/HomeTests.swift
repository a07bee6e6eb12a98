// Whether a journal is where it was left: a copy, a backup and a cut are not, and may be older than
// what others were told (G12 to G14, G16).

import FoundationEssentials
import OpClusterJournal
import Testing

@Suite struct HomeTests {
  /// Opens it, does what is asked for, and says whether it was at home.
  @discardableResult
  private func isAtHome(
    _ folder: String, _ work: (SQLiteJournal) -> Void = { _ in }
  ) throws -> Bool {
    let recorder = Recorder()
    let (journal, recovered) = try SQLiteJournal.open(
      folder: folder, observer: recorder.observer())
    work(journal)
    journal.close()
    return recovered.isAtHome
  }

  @Test func copiesAreNotAtHomeUntilTheySettle() throws {
    let folder = try TestFolder()
    let copy = try TestFolder()
    #expect(try isAtHome(folder.path) { _ = $0.append(turn(1)) }, "a new one is")
    #expect(try isAtHome(folder.path))
    try folder.copyFiles(to: copy)
    #expect(try !isAtHome(copy.path))
    #expect(try !isAtHome(copy.path), "a life that ended before it had settled")
    var answer: JournalAnswer?
    let before = try isAtHome(copy.path) { answer = $0.settle() }
    #expect(!before && answer == .accepted)
    #expect(try isAtHome(copy.path))
    #expect(try isAtHome(folder.path), "the copied one was not touched")
  }

  @Test func backupsAndCutsAreNotAtHome() throws {
    let folder = try TestFolder()
    let target = try TestFolder()
    #expect(
      try isAtHome(folder.path) { for number in UInt64(1)...9 { _ = $0.append(turn(number)) } })
    try JournalTools.backup(folder: folder.path, to: "\(target.path)/copy")
    #expect(try !isAtHome("\(target.path)/copy"))
    try JournalTools.compact(folder: folder.path)
    #expect(try isAtHome(folder.path), "compaction loses nothing")
    try JournalTools.cut(folder: folder.path, after: 5)
    #expect(try !isAtHome(folder.path))
  }

  // Whoever restores by `cp backup/* journal/` leaves the file the same and changes what is in it.
  @Test func aBackupOverTheSameFileIsNotAtHome() throws {
    let folder = try TestFolder()
    let target = try TestFolder()
    try isAtHome(folder.path) { _ = $0.append(turn(1)) }
    let copy = "\(target.path)/copy"
    try JournalTools.backup(folder: folder.path, to: copy)
    try isAtHome(folder.path) { _ = $0.append(turn(2)) }
    let files = FileManager.default
    for name in try files.contentsOfDirectory(atPath: folder.path) where name.contains("-") {
      try files.removeItem(atPath: "\(folder.path)/\(name)")
    }
    for name in try files.contentsOfDirectory(atPath: copy) {
      let bytes = try Data(contentsOf: URL(filePath: "\(copy)/\(name)"))
      try bytes.write(to: URL(filePath: "\(folder.path)/\(name)"))
    }
    #expect(try !isAtHome(folder.path))
    #expect(try isAtHome(folder.path) { _ = $0.settle() } == false)
    #expect(try isAtHome(folder.path))
  }

  // Moving the folder on one disk is no copy.
  @Test func movedOnOneDisk() throws {
    let folder = try TestFolder()
    try isAtHome("\(folder.path)/here")
    try FileManager.default.moveItem(atPath: "\(folder.path)/here", toPath: "\(folder.path)/there")
    #expect(try isAtHome("\(folder.path)/there"))
  }
}
