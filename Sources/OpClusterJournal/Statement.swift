// Wraps SQLite's C library: a prepared statement, reused for the life of its connection. Confined
// to the thread of its connection.

import CSQLite

/// One prepared statement. Parameters count from 1, columns from 0, as in SQLite.
@safe final class Statement {
  private let handle: OpaquePointer
  private let connection: Connection

  init(_ handle: OpaquePointer, of connection: Connection) {
    unsafe self.handle = handle
    self.connection = connection
  }

  deinit {
    unsafe sqlite3_finalize(handle)
  }

  /// Binds the numbers to the parameters from `position` on.
  func bind(_ values: Int64..., from position: Int32 = 1) throws(JournalError) {
    var position = position
    for value in values {
      try connection.check(unsafe sqlite3_bind_int64(handle, position, value))
      position += 1
    }
  }

  func bind(_ text: String, at position: Int32) throws(JournalError) {
    let code = unsafe text.utf8CString.withUnsafeBufferPointer { characters in
      // The destructor -1 (SQLITE_TRANSIENT) makes SQLite copy the text.
      unsafe sqlite3_bind_text(
        handle, position, characters.baseAddress, Int32(characters.count - 1),
        unsafeBitCast(-1, to: sqlite3_destructor_type.self))
    }
    try connection.check(code)
  }

  /// Runs the statement to its end and resets it.
  func run() throws(JournalError) {
    defer { reset() }
    while try step() {}
  }

  /// Binds a body at `position`, without a copy, and runs the statement.
  func run(body: [UInt8], at position: Int32) throws(JournalError) {
    defer { reset() }
    let code = unsafe body.withUnsafeBytes { bytes in
      // A zero-length body must be an empty blob, not NULL.
      let code =
        unsafe bytes.isEmpty
        ? sqlite3_bind_zeroblob(handle, position, 0)
        : sqlite3_bind_blob64(handle, position, bytes.baseAddress, UInt64(bytes.count), nil)
      return unsafe code == SQLITE_OK ? sqlite3_step(handle) : code
    }
    if code != SQLITE_DONE { throw connection.failure(code) }
  }

  /// Goes to the next row; false after the last one.
  func step() throws(JournalError) -> Bool {
    switch unsafe sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let code: throw connection.failure(code)
    }
  }

  /// Resets the statement. `step` has already reported an error of the run.
  func reset() {
    unsafe sqlite3_reset(handle)
  }

  func integer(_ column: Int32) -> Int64 {
    unsafe sqlite3_column_int64(handle, column)
  }

  /// Returns nil for NULL.
  func optional(_ column: Int32) -> Int64? {
    unsafe sqlite3_column_type(handle, column) == SQLITE_NULL ? nil : integer(column)
  }

  /// Returns the bytes of a body.
  func length(_ column: Int32) -> Int { Int(unsafe sqlite3_column_bytes(handle, column)) }

  func text(_ column: Int32) -> String {
    guard let words = unsafe sqlite3_column_text(handle, column) else { return "" }
    return unsafe String(cString: words)
  }

  func bytes(_ column: Int32) -> [UInt8] {
    unsafe Array(blob(column))
  }

  /// Returns the checksum of the body in `column` with two numbers, without copying the body.
  func checksum(_ first: Int64, _ second: Int64, column: Int32) -> Int64 {
    unsafe Checksum.of(first, second, blob(column))
  }

  /// Returns the bytes of a column, valid until the next step.
  private func blob(_ column: Int32) -> UnsafeRawBufferPointer {
    let start = unsafe sqlite3_column_blob(handle, column)
    let count = Int(unsafe sqlite3_column_bytes(handle, column))
    return unsafe UnsafeRawBufferPointer(start: start, count: count)
  }
}
