// The journal's thread: commits the waiting turns as one transaction, reports them, then does one
// slice of a chore or a checkpoint, and repeats. Owns the only connection that writes.

/// Writes everything to the database. Made by the opener, then used by one thread only.
final class Committer {
  private let connection: Connection
  private let inbox: Inbox
  private let observer: JournalObserver
  private let settings: JournalSettings
  private let begin: Statement
  private let end: Statement
  private let insertTurn: Statement
  private let tables: HistoryTables
  private let reserve: DiskReserve
  private let mark: LifeMarkFile
  let files: WrittenFiles
  /// The pages of the write-ahead log when readers prevented its restart; 0 if they did not.
  private var retainedPages: Int32 = 0
  private var sweeper: Sweeper
  private var chores: [Chore]

  init(
    folder: StateFolder, position: Position, inbox: Inbox, observer: JournalObserver,
    settings: JournalSettings, reserve: DiskReserve, life: Int64
  ) throws(JournalError) {
    self.reserve = reserve
    self.inbox = inbox
    self.observer = observer
    self.settings = settings
    connection = try Connection(path: folder.database, access: .readWrite)
    try Committer.configure(connection, settings)
    mark = try Committer.beginLife(
      connection, folder,
      LifeMark(life: life, boot: Boot.current, turn: Int64(clamping: position.lastSequence)))
    files = try WrittenFiles(folder)
    begin = try connection.prepare("BEGIN IMMEDIATE")
    end = try connection.prepare("COMMIT")
    insertTurn = try connection.prepare(
      "INSERT INTO turns (sequence, epoch, checksum, body) VALUES (?, ?, ?, ?)")
    tables = try HistoryTables(connection)
    sweeper = try Sweeper(connection, tables: tables, settings: settings)
    // Remove what a crash left: parts of an unfinished snapshot, and turns that a snapshot
    // includes.
    chores = [.dropSnapshots(except: position.snapshotSequence)]
    if let sequence = position.snapshotSequence { chores.append(.dropTurns(through: sequence)) }
  }

  private static func configure(
    _ connection: Connection, _ settings: JournalSettings
  ) throws(JournalError) {
    // Checkpoints are explicit, so that their failures are noticed (G7). The connection's hook
    // replaces SQLite's own, and 'wal_autocheckpoint' would remove the hook. Deleted turns need not
    // be overwritten at once.
    try connection.execute(
      """
      PRAGMA synchronous = FULL;
      PRAGMA journal_size_limit = \(Int64(settings.checkpointPages) * 4_120);
      PRAGMA cache_size = -16384;
      PRAGMA secure_delete = FAST;
      PRAGMA temp_store = MEMORY;
      """)
    if let bytes = settings.maximumDatabaseBytes {
      try connection.execute("PRAGMA max_page_count = \(max(1, bytes / 4_096))")
    }
  }

  /// Ends the previous life, if it had not ended, and begins one: with an empty log, which Recovery
  /// relies on, and with a database that says that there is a log. The first transaction of the log
  /// says so.
  private static func beginLife(
    _ connection: Connection, _ folder: StateFolder, _ mark: LifeMark
  ) throws(JournalError) -> LifeMarkFile {
    try connection.execute(Life.end)
    try connection.checkpoint(.emptied)
    let file = try LifeMarkFile(folder, mark)
    let begin = try connection.prepare(Life.begin)
    try begin.bind(mark.life)
    try begin.run()
    try connection.checkpoint(.kept)
    return file
  }

  /// The body of the thread; ends when the inbox is closed or the journal has failed.
  func run() {
    do {
      try work()
    } catch {
      // Nothing is retried, rolled back or written again (G7).
      _ = inbox.close()
      connection.abandon()
      observer.onFailure(error)
    }
  }

  private func work() throws(JournalError) {
    while true {
      var work = inbox.take(waiting: chores.isEmpty)
      chores += work.chores
      var next = 0
      repeat {
        next = try commit(&work.turns, from: next)
        // Each transaction is followed by a slice of a chore, however long the queue is.
        if !work.isClosing, let chore = chores.first { try advance(chore) }
        try checkpointIfLong()
      } while next < work.turns.count
      if work.isClosing { return try finish() }
    }
  }

  /// Commits turns from `start` on as one transaction, as many as its limits allow. Returns the
  /// index of the first remaining turn. Frees the room of durable turns at once.
  private func commit(_ turns: inout [JournalTurn], from start: Int) throws(JournalError) -> Int {
    guard start < turns.count else { return start }
    var next = start
    var bytes = 0
    try transaction { () throws(JournalError) in
      (next, bytes) = (start, 0)
      while next < turns.count, next - start < settings.batchTurns, bytes < settings.batchBytes {
        try insert(turns[next])
        bytes += turns[next].cost
        next += 1
      }
    }
    for at in start..<next {
      turns[at].body = []
      turns[at].attachments = []
    }
    inbox.release(turns: next - start, bytes: bytes)
    // A commit to files that nobody can find is not durable.
    try files.check()
    mark.note(turns[next - 1].sequence)
    observer.onDurable(turns[next - 1].sequence)
    return next
  }

  /// Runs one transaction. If the disk is full, rolls it back and repeats it with the room of the
  /// reserve (G8). That is safe: no sync has failed, and nothing of it was reported.
  private func transaction(
    _ body: () throws(JournalError) -> Void
  ) throws(JournalError) {
    let totals = tables.mark
    do throws(JournalError) {
      return try attempt(body)
    } catch {
      guard case .diskFull = error.kind, reserve.giveUp() else { throw error }
      observer.onReserve()
    }
    connection.rollBack()
    tables.mark = totals
    try attempt(body)
  }

  private func attempt(_ body: () throws(JournalError) -> Void) throws(JournalError) {
    try begin.run()
    try body()
    try tables.saveTotals()
    try end.run()
  }

  private func insert(_ turn: JournalTurn) throws(JournalError) {
    let sequence = Int64(turn.sequence)
    let epoch = Int64(turn.epoch)
    try insertTurn.bind(sequence, epoch, Checksum.of(sequence, epoch, turn.body))
    try insertTurn.run(body: turn.body, at: 4)
    for attachment in turn.attachments {
      try tables.insert(attachment, sequence: sequence)
    }
  }

  /// Runs one slice of the first chore, in a transaction of its own.
  private func advance(_ chore: Chore) throws(JournalError) {
    let isDone = try slice(of: chore)
    guard isDone else { return }
    chores.removeFirst()
    switch chore {
    case .writeSnapshot(let sequence, _):
      observer.onSnapshot(sequence)
      chores.insert(
        contentsOf: [.dropSnapshots(except: sequence), .dropTurns(through: sequence)], at: 0)
      inbox.releaseChore()
    case .trim, .forget, .settle:
      inbox.releaseChore()
    case .dropSnapshots, .dropTurns:
      break
    }
  }

  /// Copies a long log into the database, after the acknowledgement. If a reader prevents the
  /// restart of the log, the next attempt comes when it has grown by the same amount again.
  private func checkpointIfLong() throws(JournalError) {
    let pages = connection.writeAheadPages
    if pages < retainedPages { retainedPages = 0 }
    guard pages - retainedPages >= settings.checkpointPages else { return }
    let isWhole: Bool
    do throws(JournalError) {
      isWhole = try connection.checkpoint(.restarted)
    } catch {
      // Pages that could not be copied stay in the log, which is equally durable.
      guard case .diskFull = error.kind, reserve.giveUp() else { throw error }
      observer.onReserve()
      isWhole = try connection.checkpoint(.restarted)
    }
    retainedPages = isWhole ? 0 : pages
  }

  /// Ends in good order: completes the requested work. The cleanup after a snapshot waits for the
  /// next life, which finds it by itself.
  private func finish() throws(JournalError) {
    for chore in chores {
      switch chore {
      case .dropSnapshots, .dropTurns:
        continue
      case .writeSnapshot(let sequence, _):
        if sweeper.isBetweenSnapshots { try dropUnfinishedSnapshot(sequence) }
        try complete(chore)
        observer.onSnapshot(sequence)
      case .trim, .forget, .settle:
        try complete(chore)
      }
    }
    try files.check()
    try connection.execute(Life.end)
    try connection.checkpoint(.emptied)
  }

  private func complete(_ chore: Chore) throws(JournalError) {
    while try !slice(of: chore) { try checkpointIfLong() }
    try checkpointIfLong()
  }

  /// Runs one slice of a chore in a transaction of its own; true if the chore is done.
  private func slice(of chore: Chore) throws(JournalError) -> Bool {
    let before = sweeper
    var isDone = false
    try transaction { () throws(JournalError) in
      sweeper = before
      isDone = try sweeper.slice(of: chore)
    }
    sweeper.measured()
    return isDone
  }

  /// Removes the parts of a crashed snapshot with the same number that were not cleaned up yet.
  private func dropUnfinishedSnapshot(_ sequence: UInt64) throws(JournalError) {
    let statement = try connection.prepare("DELETE FROM snapshots WHERE sequence = ?")
    try statement.bind(Int64(sequence))
    try statement.run()
  }
}
