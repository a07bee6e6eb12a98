// The look through the history that a coordinator takes while it serves: whatever page has lost its
// entries is noticed, what is whole is not called damaged, and no look is long.

import FoundationEssentials
import Testing

@testable import OpClusterJournal

@Suite struct HistoryInspectionTests {
  private static let page = 4_096

  /// Enough rows for trees of two floors in every table, at rest.
  private func journal(turns: UInt64 = 800, retained: Int? = nil) throws -> TestFolder {
    let folder = try TestFolder()
    let recorder = Recorder()
    let journal = try SQLiteJournal.open(folder: folder.path, observer: recorder.observer()).journal
    let body = [UInt8](repeating: 9, count: 40)
    for sequence in UInt64(1)...turns {
      _ = journal.append(
        turn(
          sequence,
          [
            .stream(first: sequence * 3, count: 3, body: body),
            .chapter(subject: sequence / 3, first: 0, last: 4, body: body),
            .document(subject: sequence, kind: 1, body: body),
            .document(subject: sequence, kind: 2, body: body),
          ]))
    }
    recorder.waitDurable(turns)
    if let retained { _ = journal.retainStream(rows: retained, bytes: 1 << 30) }
    journal.close()
    return folder
  }

  /// What a look through everything comes across, the ends first.
  private func findings(
    _ folder: TestFolder, endsOnly: Bool = false
  ) throws -> [(HistoryTable, JournalError)] {
    let reader = try JournalReader(folder: folder.path)
    var inspection = HistoryInspection()
    var found: [(HistoryTable, JournalError)] = []
    var isOver = false
    var looks = 0
    while !isOver, !(endsOnly && inspection.hasSeenEnds) {
      let table = inspection.table
      do throws(JournalError) {
        isOver = try reader.inspect(&inspection)
        if let error = inspection.damagedRow { found.append((table, error)) }
        inspection.damagedRow = nil
      } catch {
        found.append((table, error))
        isOver = inspection.skip()
      }
      looks += 1
      #expect(looks < 100)
    }
    return found
  }

  @Test("what is whole is sound, also after retention, a forgotten graph, a cut and a start (G6)")
  func whole() throws {
    for folder in [
      try journal(), try journal(turns: 1), try journal(turns: 20, retained: 0),
      try journal(retained: 100),
    ] {
      #expect(try findings(folder).isEmpty)
      let recorder = Recorder()
      let (journal, recovered) = try SQLiteJournal.open(
        folder: folder.path, observer: recorder.observer())
      #expect(try findings(folder).isEmpty)
      let next = recovered.lastSequence + 1
      _ = journal.append(turn(next, [.stream(first: next * 3, count: 3, body: [1])]))
      _ = journal.forget(subject: 1)
      recorder.waitDurable(next)
      #expect(try findings(folder).isEmpty)
      journal.close()
      #expect(try JournalTools.verify(folder: folder.path).lastSequence == next)
      try JournalTools.cut(folder: folder.path, after: next - 1)
      #expect(try findings(folder).isEmpty)
    }
  }

  @Test("it goes on beside a writer that appends and deletes (G6)")
  func besideAWriter() throws {
    let folder = try TestFolder()
    let recorder = Recorder()
    let journal = try SQLiteJournal.open(folder: folder.path, observer: recorder.observer()).journal
    let reader = try journal.makeReader()
    var inspection = HistoryInspection()
    for sequence in UInt64(1)...2_000 {
      _ = journal.append(
        turn(
          sequence,
          [
            .stream(first: sequence, count: 1, body: [1]),
            .chapter(subject: sequence / 50, first: 0, last: 1, body: [2]),
            .document(subject: sequence / 2, kind: 1, body: [3]),
          ]))
      if sequence % 100 == 0 {
        _ = journal.retainStream(rows: 150, bytes: 1 << 20)
        _ = journal.retainChapters(rows: 170, bytes: 1 << 20)
        _ = journal.forget(subject: sequence / 100)
      }
      if sequence % 5 == 0 {
        if try reader.inspect(&inspection) { inspection = HistoryInspection() }
        #expect(inspection.damagedRow == nil)
      }
    }
    journal.close()
    #expect(try findings(folder).isEmpty)
  }

  /// The pages of the tree with this name, its root first.
  private func pages(of name: String, _ folder: TestFolder) throws -> [Int] {
    let database = bytes(folder.database)
    let root = try Connection(path: folder.database, access: .readOnly)
      .number("SELECT rootpage FROM sqlite_schema WHERE name = '\(name)'")
    var found = [Int(try #require(root))]
    var next = 0
    func number(_ place: Int, _ size: Int) -> Int {
      database[place..<(place + size)].reduce(0) { $0 << 8 | Int($1) }
    }
    while next < found.count {
      let start = (found[next] - 1) * Self.page
      next += 1
      // Inner pages have children left of each cell, and a last one.
      guard [2, 5].contains(database[start]) else { continue }
      for cell in 0..<number(start + 3, 2) {
        found.append(number(start + number(start + 12 + cell * 2, 2), 4))
      }
      found.append(number(start + 8, 4))
    }
    return found
  }

  @Test("a page that has lost its cells is noticed, whichever it is; at a root at once (G6)")
  func everyPage() throws {
    let folder = try journal()
    let database = bytes(folder.database)
    let trees: [(name: String, table: HistoryTable)] = [
      ("stream", .stream), ("chapters", .chapters), ("chapters_of_subject", .chapters),
      ("documents", .documents), ("sqlite_autoindex_documents_1", .documents),
    ]
    for (name, table) in trees {
      let pages = try pages(of: name, folder)
      #expect(pages.count > 2, "\(name)")
      for page in pages {
        var damaged = database
        let start = (page - 1) * Self.page
        (damaged[start + 3], damaged[start + 4]) = (0, 0)
        try write(damaged, to: folder.database)
        let found = try findings(folder, endsOnly: page == pages[0])
        #expect(found.contains { $0.0 == table }, "page \(page) of \(name)")
        #expect(found.allSatisfy { $0.1.exitStatus == 65 })
        #expect(throws: JournalError.self) { try JournalTools.verify(folder: folder.path) }
      }
      try write(database, to: folder.database)
    }
  }

  @Test("a row that does not hold is named, and the look goes on (G6)")
  func damagedRows() throws {
    let folder = try journal()
    try Connection(path: folder.database, access: .readWrite).execute(
      """
      UPDATE documents SET body = x'00' WHERE subject = 200 AND kind = 1;
      UPDATE chapters SET last = 70000000000 WHERE row = 300;
      UPDATE stream SET checksum = 1 WHERE first = 300;
      """)
    #expect(try findings(folder).map(\.0) == [.stream, .chapters, .documents])
    let reader = try JournalReader(folder: folder.path)
    #expect(throws: JournalError.self) {
      try reader.chapters(subject: 100, overlapping: 0...9, after: 0, limit: ReadLimit(rows: 9))
    }
  }
}
