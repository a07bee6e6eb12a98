// The only file of this target that speaks C: files and folders that belong to this user alone,
// read and replaced whole. Blocking; any thread.

import Glibc

/// A folder that nobody else can enter, with files that nobody else can read (G39). Everything that
/// is not so is refused with its exact path (F59); nothing is repaired in silence.
struct PrivateFolder: Sendable {
  let path: String

  init(_ path: String) { self.path = path }

  /// A variable of the environment; nil when it is not set or empty.
  static func variable(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    let text = unsafe String(cString: value)
    return text.isEmpty ? nil : text
  }

  /// The home that the system knows of this user; nil for an account that it does not know. Asked
  /// for once: the answer is in memory that all threads share.
  static let accountHome: String? = {
    guard let entry = unsafe getpwuid(getuid()), let home = unsafe entry.pointee.pw_dir else {
      return nil
    }
    let path = unsafe String(cString: home)
    return path.hasPrefix("/") ? path : nil
  }()

  /// The bytes of a file that anybody may read; nil when it cannot be read, or is no file.
  static func contents(of path: String, limit: Int) -> [UInt8]? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var found = stat()
    guard unsafe fstat(descriptor, &found) == 0, found.st_mode & S_IFMT == S_IFREG else {
      return nil
    }
    return try? contents(descriptor, path, limit)
  }

  func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Makes it, with those above it; then it must be private.
  func make() throws(KeyError) {
    var made = path.hasPrefix("/") ? "" : "."
    for part in path.split(separator: "/") {
      made += "/\(part)"
      if unsafe mkdir(made, 0o700) != 0, errno != EEXIST {
        throw Self.machine("make the folder \(made)", errno)
      }
    }
    try check()
  }

  /// Whether there is such a folder.
  var exists: Bool { unsafe access(path, F_OK) == 0 }

  /// Throws unless it is a folder of ours that nobody else can enter.
  func check() throws(KeyError) {
    var found = stat()
    guard unsafe stat(path, &found) == 0 else { throw Self.machine("look at \(path)", errno) }
    guard found.st_mode & S_IFMT == S_IFDIR else {
      throw KeyError(.exposed, "\(path) is not a folder", hint: "name a folder with --keys")
    }
    try Self.checkOwner(found, path, allowed: 0o700)
  }

  /// The bytes of a file; nil when there is none. No links are followed.
  func read(_ name: String, limit: Int) throws(KeyError) -> [UInt8]? {
    guard exists else { return nil }
    try check()
    let path = file(name)
    let descriptor = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      switch errno {
      case ENOENT: return nil
      case ELOOP:
        throw KeyError(
          .exposed, "\(path) is a link", hint: "put the file itself there, with mode 0600")
      default: throw Self.machine("open \(path)", errno)
      }
    }
    defer { close(descriptor) }
    var found = stat()
    guard unsafe fstat(descriptor, &found) == 0 else {
      throw Self.machine("look at \(path)", errno)
    }
    guard found.st_mode & S_IFMT == S_IFREG else {
      throw KeyError(.exposed, "\(path) is not a file", hint: "remove it")
    }
    try Self.checkOwner(found, path, allowed: 0o600)
    guard found.st_size <= limit else {
      throw KeyError(.malformed, "\(path) has more than \(limit) bytes", hint: "restore a copy")
    }
    return try Self.contents(descriptor, path, limit)
  }

  private static func checkOwner(
    _ found: stat, _ path: String, allowed: mode_t
  ) throws(KeyError) {
    guard found.st_uid == geteuid() else {
      throw KeyError(
        .exposed, "\(path) belongs to user \(found.st_uid), not to \(geteuid()), who runs this",
        hint: "run this as the owner, or: chown \(geteuid()) \(path)")
    }
    let mode = found.st_mode & 0o7777
    guard mode & ~allowed == 0 else {
      throw KeyError(
        .exposed, "\(path) has mode \(octal(mode)): others may get at it",
        hint: "chmod \(octal(allowed)) \(path)")
    }
  }

  private static func octal(_ mode: mode_t) -> String { "0" + String(mode, radix: 8) }

  private static func contents(
    _ descriptor: Int32, _ path: String, _ limit: Int
  ) throws(KeyError) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while bytes.count <= limit {
      let count = unsafe Glibc.read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw machine("read \(path)", errno) }
      if count == 0 { break }
      bytes += buffer.prefix(count)
    }
    return bytes
  }

  /// Puts a file in place of the present one, as a whole and durably: after a crash there is the
  /// one or the other.
  func replace(_ name: String, with bytes: [UInt8]) throws(KeyError) {
    let path = file(name)
    let fresh = file(".\(name).\(getpid())")
    _ = unsafe unlink(fresh)
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let descriptor = unsafe open(fresh, flags, 0o600)
    guard descriptor >= 0 else { throw Self.machine("make \(fresh)", errno) }
    defer { close(descriptor) }
    do throws(KeyError) {
      // Whatever the mask of modes says.
      guard fchmod(descriptor, 0o600) == 0 else { throw Self.machine("protect \(fresh)", errno) }
      try Self.write(bytes, to: descriptor, fresh)
      guard fsync(descriptor) == 0 else { throw Self.machine("keep \(fresh)", errno) }
      guard unsafe rename(fresh, path) == 0 else { throw Self.machine("replace \(path)", errno) }
    } catch {
      _ = unsafe unlink(fresh)
      throw error
    }
    try sync()
  }

  private static func write(
    _ bytes: [UInt8], to descriptor: Int32, _ path: String
  ) throws(KeyError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { bytes in
        unsafe Glibc.write(descriptor, bytes.baseAddress, bytes.count)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw machine("write \(path)", errno) }
      rest = rest.dropFirst(count)
    }
  }

  /// Makes the folder's own entries durable.
  private func sync() throws(KeyError) {
    let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Self.machine("open \(path)", errno) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw Self.machine("keep \(path)", errno) }
  }

  /// Runs `body` while no other process changes the folder through this function.
  func exclusively<Value>(_ body: () throws(KeyError) -> Value) throws(KeyError) -> Value {
    let lock = file(".lock")
    let descriptor = unsafe open(lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Self.machine("open \(lock)", errno) }
    defer { close(descriptor) }
    while flock(descriptor, LOCK_EX) != 0 {
      guard errno == EINTR else { throw Self.machine("lock \(lock)", errno) }
    }
    return try body()
  }

  private static func machine(_ action: String, _ code: Int32) -> KeyError {
    let cause = unsafe String(cString: strerror(code))
    return KeyError(.machine, "cannot \(action): \(cause)")
  }
}

/// Whether something in a folder may have changed since the last look, without looking at it often.
///
/// The kernel tells at once; where it cannot (network folders, no watches left), the owner looks
/// itself now and then.
public final class FolderWatch: Sendable {
  /// Readable when something has changed; -1 where the kernel does not tell.
  public let descriptor: Int32

  /// Watches for files that are put in place, written or removed.
  init(_ folder: PrivateFolder) {
    let watch = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
    let changes = IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE | IN_ATTRIB
    if watch >= 0, unsafe inotify_add_watch(watch, folder.path, UInt32(changes)) < 0 {
      // None are left, as a rule: a descriptor that never tells would be believed.
      close(watch)
      descriptor = -1
    } else {
      descriptor = watch
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Takes what the kernel has to tell: whether there was anything.
  public func takeChanges() -> Bool {
    guard descriptor >= 0 else { return false }
    var buffer = [UInt8](repeating: 0, count: 4_096)
    var hasChanged = false
    while unsafe read(descriptor, &buffer, buffer.count) > 0 { hasChanged = true }
    return hasChanged
  }
}
