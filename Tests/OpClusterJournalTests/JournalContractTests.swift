// The contract of every journal, run against each implementation. A new implementation gets a
// case of `Implementation` and nothing else.

import OpClusterJournal
import Testing

enum Implementation: String, CaseIterable, Sendable {
  case sqlite
  case memory
}

/// One journal under test that can be settled, closed and opened again.
final class Contract {
  let recorder = Recorder()
  private let implementation: Implementation
  private let settings: JournalSettings
  private let folder: TestFolder
  private let disk = MemoryDisk()
  private(set) var journal: any Journal
  private(set) var recovered: Recovered

  init(_ implementation: Implementation, _ settings: JournalSettings = JournalSettings()) throws {
    self.implementation = implementation
    self.settings = settings
    folder = try TestFolder()
    (journal, recovered) = try Contract.open(
      implementation, folder, disk, settings, recorder.observer())
  }

  private static func open(
    _ implementation: Implementation, _ folder: TestFolder, _ disk: MemoryDisk,
    _ settings: JournalSettings, _ observer: JournalObserver
  ) throws -> (any Journal, Recovered) {
    switch implementation {
    case .sqlite:
      return try SQLiteJournal.open(folder: folder.path, settings: settings, observer: observer)
    case .memory:
      return MemoryJournal.open(disk: disk, settings: settings, observer: observer)
    }
  }

  /// Lets a journal that commits only when told do so.
  func advance() {
    (journal as? MemoryJournal)?.commit()
  }

  func reopen() throws {
    journal.close()
    (journal, recovered) = try Contract.open(
      implementation, folder, disk, settings, recorder.observer())
  }

  func append(_ sequences: ClosedRange<UInt64>, _ attachments: (UInt64) -> [Row] = { _ in [] }) {
    for sequence in sequences {
      #expect(journal.append(turn(sequence, attachments(sequence))) == .accepted)
    }
    advance()
    recorder.waitDurable(sequences.upperBound)
  }
}

@Suite struct JournalContractTests {
  @Test(
    "a new journal stands at 0 and keeps what it said was durable (G1)",
    arguments: Implementation.allCases)
  func keeps(_ implementation: Implementation) throws {
    let contract = try Contract(implementation)
    #expect(contract.recovered.lastSequence == 0)
    #expect(contract.recovered.snapshotSequence == nil)
    #expect(try contract.recovered.allTurns().isEmpty)
    contract.append(1...300)
    try contract.reopen()
    #expect(contract.recovered.lastSequence == 300)
    #expect(contract.recovered.lastEpoch == 7)
    #expect(try contract.recovered.allTurns() == (1...300).map { turn($0) })
    contract.append(301...301)
    let durable = contract.recorder.told.durable
    #expect(zip(durable, durable.dropFirst()).allSatisfy { $0 < $1 })
  }

  @Test("a gap or a repetition in the sequence never gets in", arguments: Implementation.allCases)
  func refusesGaps(_ implementation: Implementation) throws {
    let contract = try Contract(implementation)
    #expect(contract.journal.append(turn(2)) == .outOfOrder(expected: 1))
    contract.append(1...2)
    #expect(contract.journal.append(turn(2)) == .outOfOrder(expected: 3))
    let large = Row.document(subject: .max, kind: 1, body: [])
    #expect(contract.journal.append(turn(3, [large])) == .refused)
    try contract.reopen()
    #expect(contract.recovered.lastSequence == 2)
  }

  @Test(
    "closing makes durable what was accepted, and takes nothing more",
    arguments: Implementation.allCases)
  func closes(_ implementation: Implementation) throws {
    let contract = try Contract(implementation)
    for sequence in UInt64(1)...50 { _ = contract.journal.append(turn(sequence)) }
    contract.journal.close()
    #expect(contract.recorder.told.durable.last == 50)
    #expect(contract.journal.append(turn(51)) == .closed)
    #expect(contract.journal.forget(subject: 1) == .closed)
    try contract.reopen()
    #expect(try contract.recovered.allTurns().count == 50)
    #expect(contract.recorder.told.failures.isEmpty)
  }

  @Test(
    "a snapshot replaces the turns it includes, and only those (G9)",
    arguments: Implementation.allCases)
  func snapshots(_ implementation: Implementation) throws {
    let contract = try Contract(implementation)
    contract.append(1...40) { [.stream(first: $0 * 2, count: 2, body: [UInt8($0)])] }
    let parts: [[UInt8]] = [[1, 2, 3], [], [UInt8](repeating: 9, count: 5_000)]
    #expect(contract.journal.snapshot(through: 41, parts: parts) == .refused)
    #expect(contract.journal.snapshot(through: 30, parts: parts) == .accepted)
    #expect(contract.journal.snapshot(through: 30, parts: parts) == .refused)
    contract.advance()
    contract.recorder.wait { $0.snapshots == [30] }
    contract.append(41...45)
    try contract.reopen()
    #expect(contract.recovered.snapshotSequence == 30)
    #expect(contract.recovered.snapshotParts == 3)
    #expect(try contract.recovered.allParts() == parts)
    #expect(try contract.recovered.allTurns() == (31...45).map { turn($0) })
    #expect(contract.recovered.nextEvent == 82)
    #expect(try contract.journal.makeReader().streamBounds() == 2..<82)
    #expect(contract.journal.snapshot(through: 45, parts: [[4]]) == .accepted)
    try contract.reopen()
    #expect(contract.recovered.lastSequence == 45)
    #expect(try contract.recovered.allParts() == [[4]])
    #expect(try contract.recovered.allTurns().isEmpty)
    contract.append(46...46)
  }

  @Test(
    "the event stream is read from any event on, within limits (G27, S116)",
    arguments: Implementation.allCases)
  func readsStream(_ implementation: Implementation) throws {
    let contract = try Contract(implementation)
    contract.append(1...20) { [.stream(first: ($0 - 1) * 3, count: 3, body: [UInt8($0), 0])] }
    let reader = try contract.journal.makeReader()
    #expect(try reader.streamBounds() == 0..<60)
    #expect(try reader.stream(from: 0, limit: ReadLimit(rows: 100)).count == 20)
    let middle = try reader.stream(from: 10, limit: ReadLimit(rows: 2))
    #expect(middle.map(\.first) == [9, 12])
    #expect(middle.first?.body == [4, 0])
    #expect(try reader.stream(from: 0, limit: ReadLimit(rows: 100, bytes: 5)).count == 3)
    #expect(try reader.stream(from: 60, limit: ReadLimit(rows: 100)).isEmpty)
  }

  @Test("chapters overlap, page, and belong to their subject", arguments: Implementation.allCases)
  func readsChapters(_ implementation: Implementation) throws {
    let contract = try Contract(implementation)
    contract.append(1...10) { (number: UInt64) -> [Row] in
      let first = UInt32(number) * 10
      return [
        .chapter(subject: 5, first: first, last: first + 14, body: [UInt8(number)]),
        .chapter(subject: 6, first: 0, last: 1_000, body: []),
      ]
    }
    let reader = try contract.journal.makeReader()
    let limit = ReadLimit(rows: 100)
    let found = try reader.chapters(subject: 5, overlapping: 31...40, after: 0, limit: limit)
    #expect(found.map(\.sequence) == [2, 3, 4])
    #expect(found.map(\.body) == [[2], [3], [4]])
    let page = try reader.chapters(
      subject: 5, overlapping: 31...40, after: found[0].row, limit: ReadLimit(rows: 1))
    #expect(page == [found[1]])
    #expect(
      try reader.chapters(subject: 7, overlapping: 0...9, after: 0, limit: limit).isEmpty)
  }

  @Test(
    "a document is replaced, listed newest first, and forgotten with its subject",
    arguments: Implementation.allCases)
  func readsDocuments(_ implementation: Implementation) throws {
    let contract = try Contract(implementation)
    contract.append(1...30) { (number: UInt64) -> [Row] in
      [
        .document(subject: number % 10, kind: 1, body: [UInt8(number)]),
        .document(subject: number % 10, kind: 2, body: []),
        .chapter(subject: number % 10, first: 0, last: 1, body: [1]),
      ]
    }
    let reader = try contract.journal.makeReader()
    #expect(try reader.document(subject: 3, kind: 1) == [23])
    #expect(try reader.document(subject: 3, kind: 3) == nil)
    let newest = try reader.documents(kind: 1, before: nil, limit: ReadLimit(rows: 2))
    #expect(newest.map(\.subject) == [9, 8])
    let next = try reader.documents(kind: 1, before: 8, limit: ReadLimit(rows: 2))
    #expect(next.map(\.body) == [[27], [26]])
    #expect(contract.journal.forget(subject: 9) == .accepted)
    #expect(contract.journal.snapshot(through: 30, parts: [[0]]) == .accepted)
    contract.advance()
    contract.recorder.wait { $0.snapshots == [30] }
    #expect(try reader.document(subject: 9, kind: 1) == nil)
    let chapters = try reader.chapters(
      subject: 9, overlapping: 0...1, after: 0, limit: ReadLimit(rows: 9))
    #expect(chapters.isEmpty)
    #expect(try reader.document(subject: 8, kind: 2) == [])
  }

  @Test(
    "an erasure takes the documents of a subject with the turn that says so",
    arguments: Implementation.allCases)
  func erases(_ implementation: Implementation) throws {
    let contract = try Contract(implementation)
    contract.append(1...4) { (number: UInt64) -> [Row] in
      number == 4
        ? [.erasure(subject: 1)]
        : [
          .document(subject: number, kind: 1, body: [1]),
          .document(subject: number, kind: 2, body: [2]),
          .chapter(subject: number, first: 0, last: 0, body: [3]),
        ]
    }
    let reader = try contract.journal.makeReader()
    for kind in 1...2 { #expect(try reader.document(subject: 1, kind: kind) == nil) }
    #expect(try reader.document(subject: 2, kind: 1) == [1])
    let limit = ReadLimit(rows: 9)
    let chapters = try reader.chapters(subject: 1, overlapping: 0...0, after: 0, limit: limit)
    #expect(chapters.count == 1, "its chapters go by 'forget'")
  }

  @Test(
    "retention drops the oldest rows down to its bounds, across openings",
    arguments: Implementation.allCases)
  func retains(_ implementation: Implementation) throws {
    let contract = try Contract(implementation)
    contract.append(1...1_000) { (number: UInt64) -> [Row] in
      [
        .stream(first: number, count: 1, body: [1, 2]),
        .chapter(subject: 1, first: 0, last: 0, body: [3]),
      ]
    }
    try contract.reopen()
    #expect(contract.journal.retainStream(rows: 100, bytes: 50) == .accepted)
    #expect(contract.journal.retainChapters(rows: 7, bytes: 1_000) == .accepted)
    #expect(contract.journal.snapshot(through: 1_000, parts: [[0]]) == .accepted)
    contract.advance()
    contract.recorder.wait { $0.snapshots == [1_000] }
    let reader = try contract.journal.makeReader()
    #expect(try reader.streamBounds() == 976..<1_001)
    let chapters = try reader.chapters(
      subject: 1, overlapping: 0...0, after: 0, limit: ReadLimit(rows: 1_000))
    #expect(chapters.map(\.sequence) == Array(994...1_000))
  }

  @Test(
    "a full queue says so, and takes again what is durable by then (G27)",
    arguments: Implementation.allCases)
  func saysFull(_ implementation: Implementation) throws {
    var settings = JournalSettings()
    settings.queueBytes = 100
    let contract = try Contract(implementation, settings)
    var isFull = false
    var sequence: UInt64 = 1
    while !isFull, sequence < 10_000 {
      let answer = contract.journal.append(turn(sequence))
      isFull = answer == .full
      if answer == .accepted { sequence += 1 }
    }
    #expect(isFull)
    contract.advance()
    contract.recorder.waitDurable(sequence - 1)
    contract.append(sequence...sequence)
  }
}
