// A disk whose syncs can fail, below SQLite and above the real files: for the files of one folder
// it remembers what each had when it was last synced, and on command one sync answers an error. As
// on Linux, what that sync was to write is lost, and every later one reports success. Registered
// once for the process; files of other folders are not touched. Any thread.

import CSQLite
import Synchronization

final class FailingSync: Sendable {
  /// Which files: the log at each commit, the database at each checkpoint.
  enum Target: Sendable { case log, database }

  fileprivate struct State {
    var armed: (target: Target, countdown: Int)?
    var failures = 0
    var callsAfterFailure = 0
    /// By path: what a loss of power would leave.
    var synced: [String: [UInt8]] = [:]
  }

  fileprivate let folder: String
  private let state = Mutex(State())

  /// Stands before the files of this folder from now on.
  init(folder: String) {
    self.folder = folder
    _ = Self.isRegistered
    disks.withLock { $0.append(self) }
  }

  /// It stays known until the process ends; a folder of a test is not used twice.
  private static let isRegistered = register()

  /// The n-th sync of such a file from now on fails.
  func arm(_ target: Target, at number: Int) {
    state.withLock { $0.armed = (target, number) }
  }

  var failures: Int { state.withLock { $0.failures } }
  /// Writes and syncs that came after the failure.
  var callsAfterFailure: Int { state.withLock { $0.callsAfterFailure } }

  /// What was synced of each file, by name.
  var synced: [String: [UInt8]] {
    state.withLock { state in
      Dictionary(
        uniqueKeysWithValues: state.synced.map { path, bytes in
          (path.split(separator: "/").last.map(String.init) ?? path, bytes)
        })
    }
  }

  fileprivate func noteWrite() {
    state.withLock { if $0.failures > 0 { $0.callsAfterFailure += 1 } }
  }

  /// Whether the sync of a file is the one that fails.
  fileprivate func mustFail(_ path: String) -> Bool {
    let target = path.hasSuffix("-wal") ? Target.log : .database
    return state.withLock { state in
      if state.failures > 0 { state.callsAfterFailure += 1 }
      guard let armed = state.armed, armed.target == target else { return false }
      state.armed?.countdown -= 1
      guard armed.countdown <= 1 else { return false }
      state.armed = nil
      state.failures += 1
      return true
    }
  }

  fileprivate func noteSync(_ path: String) {
    let content = bytes(path)
    // What was lost stays lost, whatever later syncs report.
    state.withLock { if $0.failures == 0 { $0.synced[path] = content } }
  }
}

// MARK: - Below SQLite

/// Those that stand before a folder.
private let disks = Mutex<[FailingSync]>([])

/// An open file: whose it is, and the methods that it had, as an address.
private struct OpenFile {
  var disk: FailingSync
  var path: String
  var methods: UInt
}

/// By the address of SQLite's file.
private let openFiles = Mutex<[UInt: OpenFile]>([:])

private typealias File = UnsafeMutablePointer<sqlite3_file>

private func known(_ file: File?) -> OpenFile? {
  openFiles.withLock { $0[UInt(bitPattern: file)] }
}

private func original(_ file: File?) -> sqlite3_io_methods? {
  guard let methods = unsafe known(file)?.methods else { return nil }
  return unsafe UnsafePointer<sqlite3_io_methods>(bitPattern: methods)?.pointee
}

private func sync(_ file: File?, _ flags: Int32) -> Int32 {
  guard let open = unsafe known(file), let methods = unsafe original(file) else {
    return SQLITE_MISUSE
  }
  if open.disk.mustFail(open.path) { return SQLITE_IOERR | 4 << 8 }
  let code = unsafe methods.xSync(file, flags)
  if code == SQLITE_OK { open.disk.noteSync(open.path) }
  return code
}

private func write(
  _ file: File?, _ bytes: UnsafeRawPointer?, _ count: Int32, _ offset: sqlite3_int64
) -> Int32 {
  guard let methods = unsafe original(file) else { return SQLITE_MISUSE }
  unsafe known(file)?.disk.noteWrite()
  return unsafe methods.xWrite(file, bytes, count, offset)
}

private func closeFile(_ file: File?) -> Int32 {
  guard let methods = unsafe original(file) else { return SQLITE_MISUSE }
  let code = unsafe methods.xClose(file)
  _ = openFiles.withLock { $0.removeValue(forKey: UInt(bitPattern: file)) }
  return code
}

/// The methods with ours in front, for each table of methods that was seen; never freed.
private let tables = Mutex<[UInt: UInt]>([:])

private func table(over methods: UnsafePointer<sqlite3_io_methods>) -> UInt {
  let key = UInt(bitPattern: methods)
  return tables.withLock { tables in
    if let known = tables[key] { return known }
    let copy = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
    unsafe copy.initialize(to: methods.pointee)
    unsafe copy.pointee.xSync = { unsafe sync($0, $1) }
    unsafe copy.pointee.xWrite = { unsafe write($0, $1, $2, $3) }
    unsafe copy.pointee.xClose = { unsafe closeFile($0) }
    tables[key] = UInt(bitPattern: copy)
    return UInt(bitPattern: copy)
  }
}

/// Puts ours in front of a file that was just opened.
private func adopt(_ file: File?, _ path: String) {
  guard let disk = disks.withLock({ $0.first { path.hasPrefix($0.folder + "/") } }),
    let methods = unsafe file?.pointee.pMethods
  else { return }
  let open = OpenFile(disk: disk, path: path, methods: UInt(bitPattern: methods))
  openFiles.withLock { $0[UInt(bitPattern: file)] = open }
  unsafe file?.pointee.pMethods = unsafe UnsafePointer(bitPattern: table(over: methods))
}

/// A copy of the usual one, which looks at what it opened.
private func register() -> Bool {
  guard let usual = unsafe sqlite3_vfs_find(nil) else { return false }
  let copy = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
  unsafe copy.initialize(to: usual.pointee)
  // Never freed, like the copy.
  let words = Array("failing-sync".utf8CString)
  let name = UnsafeMutablePointer<CChar>.allocate(capacity: words.count)
  for (at, word) in words.enumerated() { unsafe (name + at).initialize(to: word) }
  unsafe copy.pointee.pNext = nil
  unsafe copy.pointee.zName = UnsafePointer(name)
  unsafe copy.pointee.xOpen = { _, name, file, flags, given in
    guard let usual = unsafe sqlite3_vfs_find("unix") else { return SQLITE_MISUSE }
    let code = unsafe usual.pointee.xOpen(usual, name, file, flags, given)
    if code == SQLITE_OK, let name = unsafe name { unsafe adopt(file, String(cString: name)) }
    return code
  }
  return unsafe sqlite3_vfs_register(copy, 1) == SQLITE_OK
}
