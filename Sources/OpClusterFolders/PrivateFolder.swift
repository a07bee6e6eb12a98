// Folders that belong only to this user, with files that are read and replaced as a whole.
// Blocking; any thread.

import Glibc
import OpClusterSystem

/// A folder that only its user can enter, in parent folders where nobody else can replace it, with
/// files that nobody else can read (G39). Violations are refused with the exact path (F59); nothing
/// is repaired silently.
public struct PrivateFolder: Sendable {
  public let path: String

  public init(_ path: String) { self.path = path }

  public func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Creates it, with missing parents; then it must be private.
  public func make() throws(FolderError) {
    _ = try TrustedPath.resolve(path, lastLink: .refused)
    try TrustedPath.makeFolders(path)
    try check()
  }

  /// Creates it if it does not exist, in existing parents; false if something exists at the path.
  public func makeNew() throws(FolderError) -> Bool {
    _ = try TrustedPath.resolve(path, lastLink: .refused)
    if unsafe mkdir(path, 0o700) != 0 {
      guard errno == EEXIST else { throw .machine("make the folder \(path)", errno) }
      return false
    }
    try check()
    return true
  }

  /// Whether something exists at the path.
  public var exists: Bool { if case .success = FileFacts.of(path) { true } else { false } }

  /// Throws unless it is an own folder that nobody else can enter or replace.
  public func check() throws(FolderError) {
    let place = try TrustedPath.resolve(path, lastLink: .refused)
    try OwnFiles.check(FileFacts.of(place).get(), path, is: .folder, forbidden: 0o077)
  }

  /// The bytes of a file; nil if it or the folder does not exist. Follows no links.
  public func read(_ name: String, limit: Int) throws(FolderError) -> [UInt8]? {
    guard exists else { return nil }
    try check()
    return try OwnFiles.contents(ofPrivate: file(name), limit: limit)
  }

  public func remove(_ name: String) { _ = unsafe unlink(file(name)) }

  /// Replaces a file, atomically and durably: after a crash the old or the new one exists.
  public func replace(_ name: String, with bytes: [UInt8]) throws(FolderError) {
    let path = file(name)
    let fresh = file(".\(name).\(getpid())")
    _ = unsafe unlink(fresh)
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let descriptor = unsafe open(fresh, flags, 0o600)
    guard descriptor >= 0 else { throw .machine("make \(fresh)", errno) }
    defer { close(descriptor) }
    do throws(FolderError) {
      // Independent of the umask.
      guard fchmod(descriptor, 0o600) == 0 else { throw .machine("protect \(fresh)", errno) }
      try Self.write(bytes, to: descriptor, fresh)
      guard fsync(descriptor) == 0 else { throw .machine("keep \(fresh)", errno) }
      guard unsafe rename(fresh, path) == 0 else { throw .machine("replace \(path)", errno) }
    } catch {
      _ = unsafe unlink(fresh)
      throw error
    }
    try sync()
  }

  private static func write(
    _ bytes: [UInt8], to descriptor: Int32, _ path: String
  ) throws(FolderError) {
    if let error = FileDescriptor(descriptor).writeAll(bytes) {
      throw .machine("write \(path)", error.code)
    }
  }

  /// Makes the folder's own entries durable.
  private func sync() throws(FolderError) {
    let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .machine("open \(path)", errno) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw .machine("keep \(path)", errno) }
  }

  /// Waits until no other process holds this lock, and holds it while the value lives.
  public func lock() throws(FolderError) -> FolderLock {
    let path = file(".lock")
    let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .machine("open \(path)", errno) }
    let lock = FolderLock(descriptor)
    while flock(descriptor, LOCK_EX) != 0 {
      guard errno == EINTR else { throw .machine("lock \(path)", errno) }
    }
    return lock
  }

  /// The file that marks the folder as in use.
  private static let useName = "in-use"

  /// Marks the folder as in use by this process, until the value is released or the process ends,
  /// even by a crash.
  public func use() throws(FolderError) -> FolderLock { try hold(Self.useName, with: []) }

  /// Whether a process uses it now.
  public var isInUse: Bool { (try? check()) != nil && isLocked(Self.useName) }

  /// Whether a process once used it, and none does now.
  public var isLeftOver: Bool {
    guard (try? check()) != nil else { return false }
    return lockState(of: Self.useName) == .unlocked
  }

  /// Creates a file that is valid until the value is released or the process ends, even by a crash.
  /// It appears together with its lock: a file without a lock is a leftover.
  func hold(_ name: String, with bytes: [UInt8]) throws(FolderError) -> FolderLock {
    let fresh = file(".\(name).\(getpid())")
    let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    _ = unsafe unlink(fresh)
    let descriptor = unsafe open(fresh, flags, 0o600)
    guard descriptor >= 0 else { throw .machine("make \(fresh)", errno) }
    let lock = FolderLock(descriptor)
    do throws(FolderError) {
      // Independent of the umask.
      guard fchmod(descriptor, 0o600) == 0 else { throw .machine("protect \(fresh)", errno) }
      try Self.write(bytes, to: descriptor, fresh)
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        throw .machine("lock \(fresh)", errno)
      }
      guard unsafe rename(fresh, file(name)) == 0 else {
        throw .machine("make \(file(name))", errno)
      }
    } catch {
      _ = unsafe unlink(fresh)
      throw error
    }
    return lock
  }

  /// Whether a living process has the lock on a file.
  func isLocked(_ name: String) -> Bool { lockState(of: name) == .locked }

  private enum LockState { case missing, unlocked, locked }

  private func lockState(of name: String) -> LockState {
    let flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
    let descriptor = unsafe open(file(name), flags)
    guard descriptor >= 0 else { return .missing }
    defer { close(descriptor) }
    // A shared lock, so that simultaneous checks do not take each other for the holder.
    return flock(descriptor, LOCK_SH | LOCK_NB) == 0 ? .unlocked : .locked
  }
}

/// A lock on a file, held while this value lives.
public final class FolderLock: Sendable {
  private let descriptor: Int32

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }
}
