// Folders that belong to this user alone, with files that are read and replaced whole. Blocking;
// any thread.

import Glibc

/// A folder that nobody else can enter, below folders in which nobody else can put another in its
/// place, with files that nobody else can read (G39). Everything that is not so is refused with its
/// exact path (F59); nothing is repaired in silence.
public struct PrivateFolder: Sendable {
  public let path: String

  public init(_ path: String) { self.path = path }

  public func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Makes it, with those above it; then it must be private.
  public func make() throws(FolderError) {
    _ = try TrustedPath.resolve(path, lastLink: .refused)
    try TrustedPath.makeFolders(path)
    try check()
  }

  /// Makes one that was not there, below folders that are there; false if something is.
  public func makeNew() throws(FolderError) -> Bool {
    _ = try TrustedPath.resolve(path, lastLink: .refused)
    if unsafe mkdir(path, 0o700) != 0 {
      guard errno == EEXIST else { throw .machine("make the folder \(path)", errno) }
      return false
    }
    try check()
    return true
  }

  /// Whether something is there.
  public var exists: Bool { if case .success = FileFacts.of(path) { true } else { false } }

  /// Throws unless it is a folder of ours that nobody else can enter, or exchange for another.
  public func check() throws(FolderError) {
    let place = try TrustedPath.resolve(path, lastLink: .refused)
    try OwnFiles.check(FileFacts.of(place).get(), path, is: .folder, forbidden: 0o077)
  }

  /// The bytes of a file; nil when there is none, or no folder. No links are followed.
  public func read(_ name: String, limit: Int) throws(FolderError) -> [UInt8]? {
    guard exists else { return nil }
    try check()
    return try OwnFiles.contents(ofPrivate: file(name), limit: limit)
  }

  public func remove(_ name: String) { _ = unsafe unlink(file(name)) }

  /// Puts a file in place of the present one, as a whole and durably: after a crash there is the
  /// one or the other.
  public func replace(_ name: String, with bytes: [UInt8]) throws(FolderError) {
    let path = file(name)
    let fresh = file(".\(name).\(getpid())")
    _ = unsafe unlink(fresh)
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let descriptor = unsafe open(fresh, flags, 0o600)
    guard descriptor >= 0 else { throw .machine("make \(fresh)", errno) }
    defer { close(descriptor) }
    do throws(FolderError) {
      // Whatever the mask of modes says.
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
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { bytes in
        unsafe Glibc.write(descriptor, bytes.baseAddress, bytes.count)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw .machine("write \(path)", errno) }
      rest = rest.dropFirst(count)
    }
  }

  /// Makes the folder's own entries durable.
  private func sync() throws(FolderError) {
    let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .machine("open \(path)", errno) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw .machine("keep \(path)", errno) }
  }

  /// Waits until no other process holds this lock, and holds it for as long as the value lives.
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

  /// The file that says that somebody uses the folder.
  private static let useName = "in-use"

  /// Says that this process uses the folder, until the value goes or the process ends, however it
  /// does.
  public func use() throws(FolderError) -> FolderLock { try hold(Self.useName, with: []) }

  /// Whether a process used it once, and none does now.
  public var isLeftOver: Bool {
    guard (try? check()) != nil else { return false }
    return heldness(of: Self.useName) == .left
  }

  /// Puts a file there that counts until the value goes or the process ends, however it does. It
  /// appears with its lock: who finds it without has found what is left of a process.
  func hold(_ name: String, with bytes: [UInt8]) throws(FolderError) -> FolderLock {
    let fresh = file(".\(name).\(getpid())")
    let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    _ = unsafe unlink(fresh)
    let descriptor = unsafe open(fresh, flags, 0o600)
    guard descriptor >= 0 else { throw .machine("make \(fresh)", errno) }
    let lock = FolderLock(descriptor)
    do throws(FolderError) {
      // Whatever the mask of modes says.
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

  /// Whether the process still runs that holds a file.
  func isHeld(_ name: String) -> Bool { heldness(of: name) == .held }

  private enum Heldness { case missing, left, held }

  private func heldness(of name: String) -> Heldness {
    let flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
    let descriptor = unsafe open(file(name), flags)
    guard descriptor >= 0 else { return .missing }
    defer { close(descriptor) }
    // Shared, so that those who look at the same moment do not take each other for the holder.
    return flock(descriptor, LOCK_SH | LOCK_NB) == 0 ? .left : .held
  }
}

/// A lock on a file, for as long as this value lives.
public final class FolderLock: Sendable {
  private let descriptor: Int32

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }
}
