// Reads small files that must be ours: opened without following a link and without waiting for the
// other end of a pipe, and looked at before the first byte. Blocking; any thread.

import Glibc

public enum OwnFiles {
  /// The bytes of a file that root or this user wrote and nobody else can change, such as a
  /// configuration; nil when there is none. Links of ours and of root's are followed.
  ///
  /// - Parameter isSecret: Nobody may be able to read it, a group apart that root or we chose.
  public static func contents(
    ofTrusted path: String, limit: Int, isSecret: Bool = false
  ) throws(FolderError) -> [UInt8]? {
    // What cannot be reached is not there for us, whoever could change it.
    guard case .success = FileFacts.of(path) else { return nil }
    let place = try TrustedPath.resolve(path)
    return try contents(at: place, limit: limit) { facts throws(FolderError) in
      guard facts.isOwnerTrusted else { throw foreign(facts, place) }
      guard facts.mode & 0o022 == 0 else { throw open(facts, place, hint: "chmod go-w \(place)") }
      guard !isSecret || facts.mode & 0o004 == 0 else {
        throw open(facts, place, hint: "chmod 0600 \(place)")
      }
    }
  }

  /// The bytes of a file that only this user can read, in a folder that was looked at; nil when
  /// there is none.
  static func contents(ofPrivate path: String, limit: Int) throws(FolderError) -> [UInt8]? {
    try contents(at: path, limit: limit) { facts throws(FolderError) in
      try check(facts, path, is: .file, forbidden: ~0o600)
    }
  }

  private static func contents(
    at path: String, limit: Int, _ check: (FileFacts) throws(FolderError) -> Void
  ) throws(FolderError) -> [UInt8]? {
    let descriptor = unsafe Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      switch errno {
      case ENOENT: return nil
      case ELOOP:
        throw FolderError(
          .exposed, "\(path) is a link", hint: "put the file itself there, with mode 0600")
      // A socket.
      case ENXIO: throw noFile(path)
      default: throw .machine("open \(path)", errno)
      }
    }
    defer { close(descriptor) }
    guard let facts = FileFacts.of(descriptor: descriptor) else {
      throw .machine("look at \(path)", errno)
    }
    guard facts.kind == .file else { throw noFile(path) }
    try check(facts)
    guard facts.size <= limit else { throw tooLong(path, limit) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
      let count = unsafe read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw .machine("read \(path)", errno) }
      if count == 0 { return bytes }
      bytes += buffer.prefix(count)
      guard bytes.count <= limit else { throw tooLong(path, limit) }
    }
  }

  /// Whether it is ours, of this kind, and nobody else has the forbidden rights.
  static func check(
    _ facts: FileFacts, _ path: String, is kind: FileFacts.Kind, forbidden: mode_t
  ) throws(FolderError) {
    guard facts.kind == kind else {
      if facts.kind == .link {
        throw FolderError(
          .exposed, "\(path) is a link", hint: "put there what it points to, or name that")
      }
      throw kind == .folder
        ? FolderError(.exposed, "\(path) is not a folder", hint: "name a folder") : noFile(path)
    }
    guard facts.owner == geteuid() else { throw foreign(facts, path) }
    guard facts.mode & forbidden == 0 else {
      throw open(facts, path, hint: "chmod \(kind == .folder ? "0700" : "0600") \(path)")
    }
  }

  private static func foreign(_ facts: FileFacts, _ path: String) -> FolderError {
    FolderError(
      .exposed, "\(path) belongs to user \(facts.owner), not to \(geteuid()), who runs this",
      hint: "run this as the owner, or: chown \(geteuid()) \(path)")
  }

  private static func open(_ facts: FileFacts, _ path: String, hint: String) -> FolderError {
    FolderError(
      .exposed, "\(path) has mode \(facts.shownMode): others may get at it", hint: hint)
  }

  private static func noFile(_ path: String) -> FolderError {
    FolderError(.exposed, "\(path) is not a file", hint: "remove it")
  }

  private static func tooLong(_ path: String, _ limit: Int) -> FolderError {
    FolderError(.tooLong, "\(path) has more than \(limit) bytes", hint: "restore a copy")
  }
}
