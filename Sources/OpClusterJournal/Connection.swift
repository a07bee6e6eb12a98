// Wraps SQLite's C library: a connection and its errors. Confined to the thread that uses it;
// Statement.swift is the other half.

import CSQLite

/// One connection to a database. Not Sendable: it moves to its thread once and stays there.
@safe final class Connection {
  enum Access { case readOnly, readWrite }

  /// How long to wait for a lock, in milliseconds.
  private static let patience: Int32 = 5_000

  /// The extent of a checkpoint.
  enum Checkpoint {
    /// Copies all of the log and empties the file; waits for readers.
    case emptied
    /// Copies all of the log and restarts the file from its beginning; waits for readers only a
    /// moment, since commits wait meanwhile.
    case restarted
    /// Copies all of the log and leaves it in place for a start after a crash.
    case kept

    fileprivate var mode: Int32 {
      switch self {
      case .emptied: SQLITE_CHECKPOINT_TRUNCATE
      case .restarted: SQLITE_CHECKPOINT_RESTART
      case .kept: SQLITE_CHECKPOINT_FULL
      }
    }

    fileprivate var patience: Int32 { self == .restarted ? 20 : Connection.patience }
  }

  private var handle: OpaquePointer?
  private let path: String
  /// The pages in the write-ahead log after the last commit, set by SQLite's hook.
  private let logPages: UnsafeMutablePointer<Int32>

  init(path: String, access: Access) throws(JournalError) {
    self.path = path
    unsafe logPages = .allocate(capacity: 1)
    unsafe logPages.initialize(to: 0)
    unsafe handle = nil
    let mode = access == .readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
    let flags = mode | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOFOLLOW
    try check(unsafe sqlite3_open_v2(path, &handle, flags, nil))
    try check(unsafe sqlite3_busy_timeout(handle, Self.patience))
    unsafe sqlite3_wal_hook(
      handle,
      { context, _, _, pages in
        unsafe context?.assumingMemoryBound(to: Int32.self).pointee = pages
        return SQLITE_OK
      }, logPages)
  }

  deinit {
    // close_v2 waits for statements that are still referenced.
    unsafe sqlite3_close_v2(handle)
    unsafe logPages.deallocate()
  }

  /// The pages in the write-ahead log after the last commit of this connection.
  var writeAheadPages: Int32 { unsafe logPages.pointee }

  /// Runs statements whose results do not matter.
  func execute(_ text: String) throws(JournalError) {
    try check(unsafe sqlite3_exec(handle, text, nil, nil, nil))
  }

  func prepare(_ text: String) throws(JournalError) -> Statement {
    var statement: OpaquePointer?
    let keep = UInt32(SQLITE_PREPARE_PERSISTENT)
    try check(unsafe sqlite3_prepare_v3(handle, text, -1, keep, &statement, nil))
    guard let statement = unsafe statement else {
      preconditionFailure("empty statement: \(text)")
    }
    return unsafe Statement(statement, of: self)
  }

  /// Returns the single number that `text` selects; nil if there is no row.
  func number(_ text: String) throws(JournalError) -> Int64? {
    let statement = try prepare(text)
    defer { statement.reset() }
    return try statement.step() ? statement.integer(0) : nil
  }

  /// Copies the write-ahead log into the database, as far as readers allow, and lets the next
  /// commit restart it. A failure must stop the journal: the log could otherwise be dropped after a
  /// failed sync (G7).
  /// - Returns: Whether all of it was copied and no reader needs it any more.
  @discardableResult
  func checkpoint(_ extent: Checkpoint) throws(JournalError) -> Bool {
    try check(unsafe sqlite3_busy_timeout(handle, extent.patience))
    let code = unsafe sqlite3_wal_checkpoint_v2(handle, nil, extent.mode, nil, nil)
    try check(unsafe sqlite3_busy_timeout(handle, Self.patience))
    if code & 0xff == SQLITE_BUSY { return false }
    try check(code)
    unsafe logPages.pointee = 0
    return true
  }

  /// Rolls a failed transaction back; SQLite may have done so already.
  func rollBack() {
    _ = unsafe sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
  }

  /// Abandons the connection without another write: closing it after a failure would checkpoint.
  /// Its memory and descriptors stay until the process ends, which should be soon (G7).
  func abandon() {
    _ = unsafe Unmanaged.passRetained(self)
  }

  func check(_ code: Int32) throws(JournalError) {
    if code != SQLITE_OK { throw failure(code) }
  }

  /// Converts a result code to an error, with SQLite's own words.
  func failure(_ code: Int32) -> JournalError {
    let words = unsafe handle == nil ? sqlite3_errstr(code) : sqlite3_errmsg(handle)
    let text = unsafe words.map { unsafe String(cString: $0) } ?? "unknown"
    switch code & 0xff {
    case SQLITE_CORRUPT, SQLITE_NOTADB:
      return .damaged("database \(path)", because: text, code: code)
    case SQLITE_FULL:
      return JournalError(
        kind: .diskFull, code: code, message: "no space to write \(path): \(text)",
        advice: "make room and start again; everything acknowledged is safe")
    default:
      return JournalError(
        kind: .storage, code: code, message: "SQLite failed for \(path): \(text)",
        advice: "check the disk and the permissions, then start again")
    }
  }
}
