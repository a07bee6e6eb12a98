// Cuts a journal: finds the turns that can be its last one, and makes the cut (G6). Used by a
// command on its thread, on a journal that nobody else uses.

extension JournalTools {
  /// The result of a cut.
  public struct CutReport: Sendable, Hashable {
    /// The last remaining turn.
    public let lastSequence: UInt64
    /// The number of removed turns.
    public let droppedTurns: UInt64
    /// Whether more was removed than can be counted: the end of a damaged write-ahead log, or all
    /// of a lost one.
    public let droppedLog: Bool
    /// Whether anything was changed.
    public var isChanged: Bool { droppedTurns > 0 || droppedLog }
  }

  /// Removes the turns behind `sequence`, with the stream and the chapters that came with them. A
  /// person decides that for a damaged journal, after a copy of the folder (G6). Documents stay,
  /// except damaged ones that came with the removed turns.
  ///
  /// Verifies the remaining content first, also with `check`, and once more before the cut counts;
  /// on an error nothing is changed. If nothing lies behind `sequence`, nothing is changed either.
  /// - Throws: `.impossibleCut`, `.damaged`, `.inUse` and the like, or the error of `check`.
  @discardableResult
  public static func cut(
    folder path: String, after sequence: UInt64, check: (Recovered) throws -> Void = { _ in }
  ) throws -> CutReport {
    let folder = try existing(path)
    let lock = try LockFile(path: folder.lock)
    defer { withExtendedLifetime(lock) {} }
    let plan = try CutPlan(folder, at: sequence)
    let isLogDamaged = try hasDamagedLog(folder) || plan.isLogLost
    try check(Recovery.content(folder, plan.position))
    let report = CutReport(
      lastSequence: plan.position.lastSequence,
      droppedTurns: plan.lastSequence - plan.position.lastSequence, droppedLog: isLogDamaged)
    if report.isChanged {
      try carryOut(plan, in: folder)
    } else {
      try verifyStructure(try Connection(path: folder.database, access: .readOnly))
    }
    return report
  }

  private static func hasDamagedLog(_ folder: StateFolder) throws(JournalError) -> Bool {
    do throws(JournalError) {
      _ = try WriteAheadLog.check(folder.writeAheadLog)
      return false
    } catch {
      guard case .damaged = error.kind else { throw error }
      return true
    }
  }

  private static func carryOut(
    _ plan: CutPlan, in folder: StateFolder
  ) throws(JournalError) {
    let connection = try Connection(path: folder.database, access: .readWrite)
    do throws(JournalError) {
      try connection.execute("BEGIN IMMEDIATE")
      try drop(connection, plan)
      try verifyStructure(connection)
      let found = try Recovery.verify(connection)
      guard found == plan.position else {
        throw .damaged("turn \(found.lastSequence)", because: "the cut did not end there")
      }
      _ = try HistoryCheck.verify(connection, base: found.snapshotSequence ?? 0)
      try connection.execute("COMMIT")
    } catch {
      connection.rollBack()
      // Closing would merge the log, and lose the end of a damaged one.
      connection.abandon()
      throw error
    }
    try connection.checkpoint(.emptied)
  }

  private static func drop(_ connection: Connection, _ plan: CutPlan) throws(JournalError) {
    let last = Int64(clamping: plan.position.lastSequence)
    // Snapshots between the kept one and the cut are incomplete; otherwise they would be kept.
    let base = Int64(clamping: plan.position.snapshotSequence ?? 0)
    for (table, kept) in [
      ("turns", last), ("snapshots", base), ("stream", last), ("chapters", last),
    ] {
      let statement = try connection.prepare("DELETE FROM \(table) WHERE sequence > ?")
      try statement.bind(kept)
      try statement.run()
    }
    try dropDamagedDocuments(connection, after: last)
    try connection.execute("DELETE FROM meta WHERE key IN ('home', 'life')")
    for table in History.allCases {
      try connection.execute(
        """
        REPLACE INTO meta SELECT '\(table)Rows', count(*) FROM \(table);
        REPLACE INTO meta SELECT '\(table)Bytes', ifnull(sum(length(body)), 0) FROM \(table);
        """)
    }
  }

  private static func dropDamagedDocuments(
    _ connection: Connection, after sequence: Int64
  ) throws(JournalError) {
    let rows = try connection.prepare(
      "SELECT subject, kind, checksum, body FROM documents WHERE sequence > ?")
    try rows.bind(sequence)
    var damaged: [(subject: Int64, kind: Int64)] = []
    while try rows.step() {
      let (subject, kind) = (rows.integer(0), rows.integer(1))
      if rows.checksum(subject, kind, column: 3) != rows.integer(2) {
        damaged.append((subject, kind))
      }
    }
    rows.reset()
    let drop = try connection.prepare("DELETE FROM documents WHERE subject = ? AND kind = ?")
    for (subject, kind) in damaged {
      try drop.bind(subject, kind)
      try drop.run()
    }
  }
}

/// A cut that leaves a readable journal: every turn up to the cut is there, from a whole snapshot
/// or from turn 1. Making a plan only reads.
private struct CutPlan {
  /// The position of the journal after the cut.
  var position = Position()
  /// The last turn with any data, whole or not.
  let lastSequence: UInt64
  /// Whether turns behind that one were committed and are completely lost.
  let isLogLost: Bool

  init(_ folder: StateFolder, at wanted: UInt64) throws(JournalError) {
    let mark = LifeMark(FileSystem.begin(of: folder.mark, bytes: LifeMark.size))
    let connection = try Connection(path: folder.database, access: .readOnly)
    try Schema.check(connection)
    let snapshots = try Recovery.wholeSnapshots(connection)
    let last = max(
      try connection.number("SELECT max(sequence) FROM turns") ?? 0, snapshots.last?.sequence ?? 0,
      try Recovery.turnOfNewestEvents(connection) ?? 0)
    lastSequence = UInt64(last)
    let loss = try Recovery.damage {
      try Life.check(connection, folder, mark, last: UInt64(last))
    }
    isLogLost = loss != nil
    let target = min(Int64(clamping: wanted), last)
    let base = snapshots.last { $0.sequence <= target }
    let reach = try Recovery.reach(connection, from: base?.sequence ?? 0, through: target)
    guard target > 0, reach.last == target else {
      let begin = try Recovery.reach(connection, from: 0, through: 1)
      let earliest = begin.last == 1 ? 1 : snapshots.first?.sequence
      throw CutPlan.impossible(wanted, earliest: earliest, reach: reach.last, last: last)
    }
    position.snapshotSequence = base.map { UInt64($0.sequence) }
    position.snapshotParts = base?.parts ?? 0
    position.lastSequence = UInt64(target)
    position.lastEpoch = reach.epoch
    position.nextEvent = try Recovery.nextEvent(connection, through: target)
    _ = try HistoryCheck.verify(
      connection, through: target, base: position.snapshotSequence ?? 0)
  }

  private static func impossible(
    _ wanted: UInt64, earliest: Int64?, reach: Int64, last: Int64
  ) -> JournalError {
    let kind = JournalError.Kind.impossibleCut(earliest: earliest.map { UInt64($0) })
    guard let earliest else {
      return JournalError(
        kind: kind, code: 0,
        message: "journal cannot be cut: neither a whole snapshot nor turn 1 is left",
        advice: "nothing was changed; restore a backup")
    }
    let message = "journal cannot be cut behind turn \(wanted): "
    if reach < earliest {
      return JournalError(
        kind: kind, code: 0,
        message: message
          + (wanted == 0
            ? "nothing would be left" : "the turns before \(earliest) are no longer there"),
        advice: "nothing was changed; the earliest possible cut is --at \(earliest), "
          + "the last turn is \(last)")
    }
    return JournalError(
      kind: kind, code: 0,
      message: message + "turn \(reach + 1) is damaged or missing",
      advice: "nothing was changed; the earliest possible cut is --at \(earliest), the latest "
        + "before the damage --at \(reach), the last turn is \(last)")
  }
}
