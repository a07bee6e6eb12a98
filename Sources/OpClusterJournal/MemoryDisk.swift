// The storage of turns and history in a MemoryDisk, and its reader. Used by MemoryJournal under the
// lock of the disk, and by tests on any thread. Every question is a scan: tests have few rows. One
// suite of tests runs against this and SQLiteJournal, so that the two mean the same.

import Synchronization

extension MemoryDisk.State {
  /// The turn and its attachments at once, as one transaction does it.
  mutating func store(_ turn: JournalTurn) {
    lastSequence = turn.sequence
    turns.append(
      JournalTurn(sequence: turn.sequence, epoch: turn.epoch, body: turn.body))
    for attachment in turn.attachments {
      switch attachment {
      case .stream(let first, let count, let body):
        stream.append(StreamRow(first: first, count: count, body: body))
      case .chapter(let subject, let first, let last, let body):
        let row = ChapterRow(
          row: nextRow, sequence: turn.sequence, first: first, last: last, body: body)
        chapters.append((subject, row))
        nextRow += 1
      case .document(let subject, let kind, let body):
        documents[kind, default: [:]][subject] = body
      case .erasure(let subject):
        for kind in documents.keys { documents[kind]?[subject] = nil }
      }
    }
  }

  /// A chore as a whole. The chores that only give room back on a disk have nothing to do.
  mutating func perform(_ chore: Chore) {
    switch chore {
    case .writeSnapshot(let sequence, let content):
      let content = content()
      snapshot = (sequence, (0..<content.count).map { content.encoded($0) })
      turns.removeAll { $0.sequence <= sequence }
    case .trim(.stream, let rows, let bytes):
      stream.removeFirst(excess(stream.map(\.body.count), rows, bytes))
    case .trim(.chapters, let rows, let bytes):
      chapters.removeFirst(excess(chapters.map(\.row.body.count), rows, bytes))
    case .forget(let subject):
      chapters.removeAll { $0.subject == subject }
      for kind in documents.keys { documents[kind]?[subject] = nil }
    case .dropSnapshots, .dropTurns, .settle:
      break
    }
  }

  /// Returns how many of the oldest rows exceed the limits.
  private func excess(_ sizes: [Int], _ rows: Int64, _ bytes: Int64) -> Int {
    var (count, size) = (Int64(sizes.count), Int64(sizes.reduce(0, +)))
    var dropped = 0
    while dropped < sizes.count, count > rows || size > bytes {
      count -= 1
      size -= Int64(sizes[dropped])
      dropped += 1
    }
    return dropped
  }
}

/// The reader of a journal in memory.
final class MemoryReader: JournalReading {
  private let disk: MemoryDisk

  init(_ disk: MemoryDisk) {
    self.disk = disk
  }

  func streamBounds() throws(JournalError) -> Range<UInt64>? {
    disk.state.withLock { state in
      guard let first = state.stream.first, let last = state.stream.last else { return nil }
      return first.first..<(last.first + UInt64(last.count))
    }
  }

  func stream(from: UInt64, limit: ReadLimit) throws(JournalError) -> [StreamRow] {
    disk.state.withLock { state in
      limit.take(state.stream.lazy.filter { $0.first + UInt64($0.count) > from }, \.body.count)
    }
  }

  /// Rows in the order of writing, behind `row`.
  func chapters(
    subject: UInt64, overlapping members: ClosedRange<UInt32>, after row: UInt64, limit: ReadLimit
  ) throws(JournalError) -> [ChapterRow] {
    disk.state.withLock { state in
      let found = state.chapters.lazy.filter {
        $0.subject == subject && $0.row.first <= members.upperBound
          && $0.row.last >= members.lowerBound && $0.row.row > row
      }
      return limit.take(found.map(\.row), \.body.count)
    }
  }

  func document(subject: UInt64, kind: Int) throws(JournalError) -> [UInt8]? {
    disk.state.withLock { $0.documents[kind]?[subject] }
  }

  func documents(
    kind: Int, before subject: UInt64?, limit: ReadLimit
  ) throws(JournalError) -> [DocumentRow] {
    disk.state.withLock { state in
      let rows = (state.documents[kind] ?? [:]).map { DocumentRow(subject: $0, body: $1) }
      let found = rows.filter { row in subject.map { row.subject < $0 } ?? true }
      return limit.take(found.sorted { $0.subject > $1.subject }, \.body.count)
    }
  }
}

extension MemoryReader {
  /// Memory does not rot: everything is checked at once.
  func inspect(_ inspection: inout HistoryInspection) throws(JournalError) -> Bool { true }
}

extension ReadLimit {
  /// Takes the first rows within the limit. At least one row if there is any, however large it is,
  /// so that no reader stands still.
  func take<Row>(_ source: some Sequence<Row>, _ size: (Row) -> Int) -> [Row] {
    var found: [Row] = []
    var total = 0
    for row in source {
      guard found.count < rows, total < bytes else { break }
      found.append(row)
      total += size(row)
    }
    return found
  }
}
