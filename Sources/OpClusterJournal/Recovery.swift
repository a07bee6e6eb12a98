// Reads a journal and verifies every record before anything is opened for writing (G4, G6). Used by
// open and by the tools, on the calling thread, read-only.

import Synchronization

/// The position of a verified journal.
struct Position: Sendable, Equatable {
  var snapshotSequence: UInt64?
  var snapshotParts = 0
  var lastSequence: UInt64 = 0
  var lastEpoch: UInt64 = 0
  var nextEvent: UInt64 = 0
  var droppedFrames = 0
  var isAtHome = false
  /// The turns were not verified, and `lastSequence` is unknown.
  var isUntilDamage = false
}

enum Recovery {
  /// A read transaction on a journal, also while another process replaces turns by a snapshot.
  /// While it exists, the write-ahead log of that process grows.
  final class ReadTransaction: Sendable {
    let mark: LifeMark?
    private let connection: Mutex<Connection>

    init(_ folder: StateFolder) throws(JournalError) {
      // Read the requirement for the log before the log.
      mark = LifeMark(FileSystem.begin(of: folder.mark, bytes: LifeMark.size))
      let connection = try Connection(path: folder.database, access: .readOnly)
      try connection.execute("BEGIN")
      self.connection = Mutex(connection)
    }

    /// Runs one reader at a time.
    func read<Result, Failure: Error>(
      _ body: (Connection) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
      try connection.withLock { connection throws(Failure) in try body(connection) }
    }
  }

  /// Verifies the newest snapshot and every turn behind it.
  static func verify(_ folder: StateFolder) throws(JournalError) -> Position {
    let dropped = try WriteAheadLog.check(folder.writeAheadLog)
    return try verify(try ReadTransaction(folder), folder, dropped: dropped)
  }

  /// Returns the verified content of one transaction, for a caller that does not hold the journal.
  static func read(_ folder: StateFolder) throws(JournalError) -> Recovered {
    let dropped = try WriteAheadLog.check(folder.writeAheadLog)
    let transaction = try ReadTransaction(folder)
    return content(folder, try verify(transaction, folder, dropped: dropped), transaction)
  }

  private static func verify(
    _ transaction: ReadTransaction, _ folder: StateFolder, dropped: Int
  ) throws(JournalError) -> Position {
    try transaction.read { connection throws(JournalError) in
      var position = try verify(connection)
      try Life.check(connection, folder, transaction.mark, last: position.lastSequence)
      position.droppedFrames = dropped
      let home = try connection.number("SELECT value FROM meta WHERE key = 'home'")
      position.isAtHome = home != nil && home == FileSystem.place(folder.database)
      return position
    }
  }

  /// Verifies the content that a connection sees; ignores the file and its log.
  static func verify(_ connection: Connection) throws(JournalError) -> Position {
    try Schema.check(connection)
    var position = Position()
    try findSnapshot(connection, &position)
    try verifyTurns(connection, &position)
    position.nextEvent = try nextEvent(connection, through: Int64.max)
    return position
  }

  /// Returns the first event behind the rows of the stream that came with turns up to `last`.
  static func nextEvent(
    _ connection: Connection, through last: Int64
  ) throws(JournalError) -> UInt64 {
    let found = try connection.number(
      "SELECT first + count FROM stream WHERE sequence <= \(last) ORDER BY first DESC LIMIT 1")
    return UInt64(max(0, found ?? 0))
  }

  /// Returns nil if there are no events.
  static func turnOfNewestEvents(_ connection: Connection) throws(JournalError) -> Int64? {
    try connection.number("SELECT sequence FROM stream ORDER BY first DESC LIMIT 1")
  }

  /// Returns the verified newest snapshot and the turns behind it, which their reader verifies one
  /// by one: the part of a damaged journal before the damage stays readable (G6). Reads in one
  /// transaction.
  static func readUntilDamage(_ folder: StateFolder) throws(JournalError) -> Recovered {
    let transaction = try ReadTransaction(folder)
    let position = try transaction.read { connection throws(JournalError) in
      try Schema.check(connection)
      var position = Position()
      try findSnapshot(connection, &position)
      position.lastSequence = UInt64(Int64.max)
      position.isUntilDamage = true
      return position
    }
    return content(folder, position, transaction)
  }

  /// Returns the verified content as streams.
  /// - Parameter transaction: nil for the holder of the journal, while nobody writes: each stream
  ///   then has a connection of its own, and none stays open.
  static func content(
    _ folder: StateFolder, _ position: Position, _ transaction: ReadTransaction? = nil
  ) -> Recovered {
    Recovered(
      snapshotSequence: position.snapshotSequence, snapshotParts: position.snapshotParts,
      lastSequence: position.lastSequence, lastEpoch: position.lastEpoch,
      nextEvent: position.nextEvent, droppedFrames: position.droppedFrames,
      isAtHome: position.isAtHome,
      visitParts: { visit in
        guard let sequence = position.snapshotSequence else { return }
        try (transaction ?? ReadTransaction(folder)).read { connection in
          try forEachPart(connection, Int64(sequence), position.snapshotParts) {
            try visit($0.bytes(2))
          }
        }
      },
      visitTurns: { visit in
        let transaction = try transaction ?? ReadTransaction(folder)
        try transaction.read { connection in
          var last = position.snapshotSequence ?? 0
          try forEachTurn(connection, Int64(last) + 1, through: Int64(position.lastSequence)) {
            let (sequence, epoch) = (UInt64($0.integer(0)), UInt64($0.integer(1)))
            try visit(JournalTurn(sequence: sequence, epoch: epoch, body: $0.bytes(3)))
            last = sequence
          }
          if position.isUntilDamage {
            try Life.check(connection, folder, transaction.mark, last: last)
          }
        }
      })
  }

  /// Finds the newest complete snapshot. Unfinished ones do not count.
  private static func findSnapshot(
    _ connection: Connection, _ position: inout Position
  ) throws(JournalError) {
    let found = try connection.prepare(
      """
      SELECT sequence, max(parts) FROM snapshots GROUP BY sequence
      HAVING count(*) = max(parts) ORDER BY sequence DESC LIMIT 1
      """)
    defer { found.reset() }
    guard try found.step() else { return }
    let (sequence, parts) = (found.integer(0), Int(found.integer(1)))
    guard (0..<Int64.max).contains(sequence) else {
      throw .damaged("snapshot \(sequence)", because: "no turn has this number")
    }
    do {
      try forEachPart(connection, sequence, parts) { _ in }
    } catch let error as JournalError {
      throw error
    } catch {
      preconditionFailure("a visitor that throws nothing threw \(error)")
    }
    position.snapshotSequence = UInt64(sequence)
    position.snapshotParts = parts
    position.lastSequence = UInt64(sequence)
  }

  private static func verifyTurns(
    _ connection: Connection, _ position: inout Position
  ) throws(JournalError) {
    var last = position.lastSequence
    var epoch: UInt64 = 0
    do {
      try forEachTurn(connection, Int64(last) + 1, through: Int64.max) {
        last = UInt64($0.integer(0))
        epoch = UInt64($0.integer(1))
      }
    } catch let error as JournalError {
      throw error
    } catch {
      preconditionFailure("a visitor that throws nothing threw \(error)")
    }
    position.lastSequence = last
    position.lastEpoch = epoch
  }

  /// Returns the complete and valid snapshots, the oldest first.
  static func wholeSnapshots(
    _ connection: Connection
  ) throws(JournalError) -> [(sequence: Int64, parts: Int)] {
    let found = try connection.prepare(
      """
      SELECT sequence, max(parts) FROM snapshots GROUP BY sequence
      HAVING count(*) = max(parts) ORDER BY sequence
      """)
    defer { found.reset() }
    var whole: [(sequence: Int64, parts: Int)] = []
    while try found.step() {
      let (sequence, parts) = (found.integer(0), Int(found.integer(1)))
      let damage = try damage { try forEachPart(connection, sequence, parts) { _ in } }
      if damage == nil { whole.append((sequence, parts)) }
    }
    return whole
  }

  /// Returns the last valid turn behind `base`, up to `last`, with its epoch.
  static func reach(
    _ connection: Connection, from base: Int64, through last: Int64
  ) throws(JournalError) -> (last: Int64, epoch: UInt64) {
    var reached = (last: base, epoch: UInt64(0))
    _ = try damage {
      try forEachTurn(connection, base + 1, through: last) {
        reached = ($0.integer(0), UInt64($0.integer(1)))
      }
    }
    return reached
  }

  /// Runs a reading; returns the damage that it found.
  static func damage(_ body: () throws -> Void) throws(JournalError) -> JournalError? {
    do {
      try body()
      return nil
    } catch let error as JournalError {
      guard case .damaged = error.kind else { throw error }
      return error
    } catch {
      preconditionFailure("a visitor that throws nothing threw \(error)")
    }
  }

  static func forEachPart(
    _ connection: Connection, _ sequence: Int64, _ parts: Int, _ visit: (Statement) throws -> Void
  ) throws {
    let rows = try connection.prepare(
      "SELECT part, checksum, body FROM snapshots WHERE sequence = ? ORDER BY part")
    defer { rows.reset() }
    try rows.bind(sequence)
    var expected: Int64 = 0
    while try rows.step() {
      let part = rows.integer(0)
      let name = "snapshot \(sequence) part \(part)"
      guard part == expected, expected < Int64(parts) else {
        throw JournalError.damaged(
          name, because: "part \(expected) was expected", remedy: .beforeSnapshot(sequence))
      }
      guard rows.checksum(sequence, part, column: 2) == rows.integer(1) else {
        throw JournalError.damaged(
          name, because: "its checksum does not hold", remedy: .beforeSnapshot(sequence))
      }
      try visit(rows)
      expected += 1
    }
    guard expected == Int64(parts) else {
      throw JournalError.damaged(
        "snapshot \(sequence)", because: "it has lost parts", remedy: .beforeSnapshot(sequence))
    }
  }

  /// Visits verified rows of (sequence, epoch, checksum, body) from `first` on. If all rows are
  /// requested, checks that the turn of the newest events is not behind the last row: events come
  /// in one transaction with their turn.
  static func forEachTurn(
    _ connection: Connection, _ first: Int64, through last: Int64,
    _ visit: (Statement) throws -> Void
  ) throws {
    // Read this first: events that are written meanwhile have their turn, too.
    let newest = last == .max ? try turnOfNewestEvents(connection) : nil
    let rows = try connection.prepare(
      """
      SELECT sequence, epoch, checksum, body FROM turns
      WHERE sequence >= ? AND sequence <= ? ORDER BY sequence
      """)
    defer { rows.reset() }
    try rows.bind(first, last)
    var expected = first
    while try rows.step() {
      let (sequence, epoch) = (rows.integer(0), rows.integer(1))
      guard sequence == expected else {
        throw JournalError.damaged(
          "turn \(expected)", because: "turn \(sequence) follows where it should be",
          remedy: .cut(before: expected))
      }
      guard rows.checksum(sequence, epoch, column: 3) == rows.integer(2) else {
        throw JournalError.damaged(
          "turn \(sequence)", because: "its checksum does not hold",
          remedy: .cut(before: sequence))
      }
      try visit(rows)
      expected = sequence + 1
    }
    if last < .max, expected <= last {
      throw JournalError.damaged(
        "turn \(expected)", because: "it is missing, and so is all behind it up to turn \(last)",
        remedy: .cut(before: expected))
    }
    if let newest, newest >= expected {
      throw JournalError.damaged(
        "turn \(expected)", because: "it is missing, and events of turn \(newest) are there",
        remedy: .cut(before: expected))
    }
  }
}
